//! `flower freeze`

use super::main::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Why;
use flower_contract::view::MainView;

/// Let nothing land on MAIN until `flower thaw`
///
/// What waits keeps its place. A landing whose checks are running goes back to the queue instead of moving MAIN.
#[derive(clap::Args)]
pub(crate) struct FreezeArgs {
    /// Shown to whoever waits
    why: Option<String>,
}

pub(crate) async fn run(context: &Context, args: FreezeArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/main/freeze?{}", context.project_query());
    let main: MainView = client.post(&address, &Why { why: args.why }).await?;
    context.answer(&main, |m| page(m, context.style))
}
