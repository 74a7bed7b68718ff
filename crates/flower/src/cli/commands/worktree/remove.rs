//! `flower worktree remove`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::WorktreeView;

/// Remove a worktree; no work is lost
///
/// Uncommitted files, and commits that are not in MAIN, are archived for 30 days: `flower worktree archive` lists archives,
/// `flower worktree restore NAME` restores one. Refused while a program runs in the worktree.
#[derive(clap::Args)]
pub(crate) struct RemoveArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: &RemoveArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    let client = context.client().await?;
    let removed: WorktreeView = client.delete(&super::address(context, &name, "")).await?;
    context.answer(&removed, |w| {
        format!("{} is removed; to restore it: `flower worktree restore {}`\n", context.style.bold(&w.name), w.name)
    })
}
