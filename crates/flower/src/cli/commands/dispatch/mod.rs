//! `flower dispatch`

mod cancel;
mod list;
mod packet;
mod request;
mod show;

use crate::cli::Context;
use clap::Subcommand;
use flower_contract::error::Problem;

/// Give a brief to an agent; without BRIEF, list dispatches
///
/// If no configured agent takes the dispatch, its packet is printed: one block of Markdown to paste into any agent.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DispatchArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    request: request::RequestArgs,
}

#[derive(Subcommand)]
enum Verb {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Packet(packet::PacketArgs),
    Cancel(cancel::CancelArgs),
}

pub(crate) async fn run(context: &Context, args: DispatchArgs) -> Result<(), Problem> {
    match args.verb {
        None => match args.request.brief {
            Some(brief) => request::run(context, brief, args.request).await,
            None => list::run(context, &list::ListArgs::default()).await,
        },
        Some(Verb::List(args)) => list::run(context, &args).await,
        Some(Verb::Show(args)) => show::run(context, &args).await,
        Some(Verb::Packet(args)) => packet::run(context, &args).await,
        Some(Verb::Cancel(args)) => cancel::run(context, args).await,
    }
}
