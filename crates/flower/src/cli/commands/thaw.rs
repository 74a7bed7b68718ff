//! `flower thaw`

use super::main::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::MainView;

/// Resume landings after `flower freeze` or `flower halt`
#[derive(clap::Args)]
pub(crate) struct ThawArgs {}

pub(crate) async fn run(context: &Context, _: &ThawArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let main: MainView = client.post(&format!("/api/main/thaw?{}", context.project_query()), &()).await?;
    context.answer(&main, |m| page(m, context.style))
}
