//! `flower main restore`

use super::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::MainView;

/// Reset MAIN to the commit that the log records; what was changed by hand is kept under a ref
#[derive(clap::Args)]
pub(super) struct RestoreArgs {}

pub(super) async fn run(context: &Context, _: &RestoreArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let main: MainView = client.post(&super::address(context, "/restore"), &()).await?;
    context.answer(&main, |m| page(m, context.style))
}
