//! `flower worktree sync`

use super::show::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::SyncView;

/// Bring its commits out and MAIN's newest in
///
/// Where nobody is at work and everything is committed, MAIN's newest commit is merged; otherwise it is there to be merged,
/// as `origin/main`.
#[derive(clap::Args)]
pub(crate) struct SyncArgs {
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

pub(super) async fn run(context: &Context, args: &SyncArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let synced: SyncView = client.post(&super::address(context, &args.name, "/sync"), &()).await?;
    context.answer(&synced, |synced| {
        let said = match &synced.reason {
            None => "up to date with MAIN".to_owned(),
            Some(reason) => format!("not merged: {}", crate::cli::output::plain(reason)),
        };
        format!("{}{said}\n", page(&synced.worktree, context.style))
    })
}
