//! `flower worktree sync`

use super::show::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::SyncView;

/// Import the commits of a worktree, and merge MAIN into it
///
/// MAIN is merged if no program runs in the worktree and everything is committed. Otherwise MAIN is available inside as
/// `origin/main`, to be merged there.
#[derive(clap::Args)]
pub(crate) struct SyncArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: &SyncArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    let client = context.client().await?;
    let synced: SyncView = client.post(&super::address(context, &name, "/sync"), &()).await?;
    context.answer(&synced, |synced| {
        let result = match &synced.reason {
            None => "up to date with MAIN".to_owned(),
            Some(reason) => format!("not merged: {}", crate::cli::output::plain(reason)),
        };
        format!("{}{result}\n", page(&synced.worktree, context.style))
    })
}
