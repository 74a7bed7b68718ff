//! `flower worktree remove`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::WorktreeView;

/// Remove a worktree; nothing in it is lost
///
/// Files that are not committed, and commits that are not in MAIN, are kept for 30 days: `flower worktree archive` lists
/// them, `flower worktree restore NAME` brings them back. Refused while anything runs in it.
#[derive(clap::Args)]
pub(crate) struct RemoveArgs {
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

pub(super) async fn run(context: &Context, args: &RemoveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let removed: WorktreeView = client.delete(&super::address(context, &args.name, "")).await?;
    context.answer(&removed, |w| {
        format!("{} is removed; to bring it back: `flower worktree restore {}`\n", context.style.bold(&w.name), w.name)
    })
}
