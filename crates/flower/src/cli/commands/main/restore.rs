//! `flower main restore`

use super::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::MainView;

/// Put MAIN back to where the log has it; what was there is kept, and named
#[derive(clap::Args)]
pub(super) struct RestoreArgs {}

pub(super) async fn run(context: &Context, _: &RestoreArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let main: MainView = client.post(&super::address(context, "/restore"), &()).await?;
    context.answer(&main, |m| page(m, context.style))
}
