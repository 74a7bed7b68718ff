//! `flower main push`

use super::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::MainView;

/// Push MAIN to its remote now
///
/// With `push = true` in `[land]` of flower.toml, flower pushes after every landing.
#[derive(clap::Args)]
pub(super) struct PushArgs {}

pub(super) async fn run(context: &Context, _: &PushArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let main: MainView = client.post(&super::address(context, "/push"), &()).await?;
    context.answer(&main, |m| page(m, context.style))
}
