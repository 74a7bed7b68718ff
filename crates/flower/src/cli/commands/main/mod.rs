//! `flower main`

mod adopt;
mod log;
mod pull;
mod push;
mod rescue;
mod restore;
mod settle;
mod show;
mod verify;

pub(super) use show::{page, state};

use crate::cli::Context;
use crate::client::Client;
use clap::Subcommand;
use flower_contract::error::Problem;
use flower_contract::view::MainView;

/// Show MAIN, and settle alarms about changes by hand
#[derive(clap::Args)]
#[command(
    after_help = "MAIN is the checkout of a project that only landings change. If a person or another program edits or commits \
                  there, flower raises an alarm and landings wait. `rescue`, `adopt` and `restore` settle it; none of them \
                  loses work."
)]
pub(crate) struct MainArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Log(log::LogArgs),
    Verify(verify::VerifyArgs),
    Rescue(rescue::RescueArgs),
    Adopt(adopt::AdoptArgs),
    Restore(restore::RestoreArgs),
    Pull(pull::PullArgs),
    Settle(settle::SettleArgs),
    Push(push::PushArgs),
}

pub(crate) async fn run(context: &Context, args: MainArgs) -> Result<(), Problem> {
    match args.verb {
        None => show::run(context).await,
        Some(Verb::Log(args)) => log::run(context, &args).await,
        Some(Verb::Verify(args)) => verify::run(context, &args).await,
        Some(Verb::Rescue(args)) => rescue::run(context, args).await,
        Some(Verb::Adopt(args)) => adopt::run(context, &args).await,
        Some(Verb::Restore(args)) => restore::run(context, &args).await,
        Some(Verb::Pull(args)) => pull::run(context, &args).await,
        Some(Verb::Settle(args)) => settle::run(context, args).await,
        Some(Verb::Push(args)) => push::run(context, &args).await,
    }
}

/// The address of MAIN, or of something below it.
fn address(context: &Context, below: &str) -> String {
    format!("/api/main{below}?{}", context.project_query())
}

async fn look(context: &Context, client: &Client) -> Result<MainView, Problem> {
    client.get(&address(context, "")).await
}
