//! `flower queue`

mod approve;
mod cancel;
mod diff;
mod list;
mod log;
mod show;

use crate::cli::Context;
use clap::Subcommand;
use flower_contract::error::Problem;

/// The merge queue of MAIN, in the order in which landings are processed; with L, one landing
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct QueueArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::ListArgs,
}

#[derive(Subcommand)]
enum Verb {
    Show(show::ShowArgs),
    Log(log::LogArgs),
    Diff(diff::DiffArgs),
    Approve(approve::ApproveArgs),
    Cancel(cancel::CancelArgs),
}

pub(crate) async fn run(context: &Context, args: QueueArgs) -> Result<(), Problem> {
    match args.verb {
        None => match args.list.number {
            Some(number) => show::run(context, &show::ShowArgs { number }).await,
            None => list::run(context, &args.list).await,
        },
        Some(Verb::Show(args)) => show::run(context, &args).await,
        Some(Verb::Log(args)) => log::run(context, args).await,
        Some(Verb::Diff(args)) => diff::run(context, &args).await,
        Some(Verb::Approve(args)) => approve::run(context, &args).await,
        Some(Verb::Cancel(args)) => cancel::run(context, args).await,
    }
}
