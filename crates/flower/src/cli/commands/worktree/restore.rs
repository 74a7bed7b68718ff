//! `flower worktree restore`

use super::show::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Restore;
use flower_contract::view::WorktreeView;

/// Restore a worktree that was removed, or whose directory is missing
#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// The name of the worktree
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
    /// The archive, if several have this name; by default the newest
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    number: Option<u64>,
}

pub(super) async fn run(context: &Context, args: &RestoreArgs) -> Result<(), Problem> {
    let client = context.client().await?.with_long_timeout();
    let body = Restore { number: args.number };
    let worktree: WorktreeView = client.post(&super::address(context, &args.name, "/restore"), &body).await?;
    context.answer(&worktree, |w| page(w, context.style))
}
