//! `flower worktree restore`

use super::show::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Restore;
use flower_contract::view::WorktreeView;

/// Bring back a worktree that was removed, or whose directory is gone
#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
    /// Which of several that had this name, as `flower worktree archive` numbers them; otherwise the last
    #[arg(long, value_name = "N")]
    number: Option<u64>,
}

pub(super) async fn run(context: &Context, args: &RestoreArgs) -> Result<(), Problem> {
    let client = context.client().await?.patient();
    let body = Restore { number: args.number };
    let worktree: WorktreeView = client.post(&super::address(context, &args.name, "/restore"), &body).await?;
    context.answer(&worktree, |w| page(w, context.style))
}
