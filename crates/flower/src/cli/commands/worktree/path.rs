//! `flower worktree path`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::WorktreeView;

/// Print the directory of a worktree, for `cd "$(flower worktree path NAME)"`
#[derive(clap::Args)]
pub(crate) struct PathArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: &PathArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    let worktree: WorktreeView = context.client().await?.get(&super::address(context, &name, "")).await?;
    context.answer(&serde_json::json!({ "path": worktree.path }), |_| format!("{}\n", worktree.path))
}
