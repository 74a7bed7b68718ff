//! `flower agent`

mod attach;
mod decide;
mod list;
mod log;
mod note;
mod profiles;
mod refresh;
mod show;
mod spawn;
mod spend;
mod stats;
mod stop;
mod tell;

use crate::cli::Context;
use clap::Subcommand;
use flower_contract::error::Problem;

/// Agents: list, start, stop, read and message them
#[derive(clap::Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    list: list::ListArgs,
}

#[derive(Subcommand)]
enum Verb {
    Profiles(profiles::ProfilesArgs),
    Spawn(spawn::SpawnArgs),
    Show(show::ShowArgs),
    Log(log::LogArgs),
    Attach(attach::AttachArgs),
    Tell(tell::TellArgs),
    Note(note::NoteArgs),
    Refresh(refresh::RefreshArgs),
    Stop(stop::StopArgs),
    Allow(decide::AllowArgs),
    Deny(decide::DenyArgs),
    Spend(spend::SpendArgs),
    Stats(stats::StatsArgs),
}

pub(crate) async fn run(context: &Context, args: AgentArgs) -> Result<(), Problem> {
    match args.verb {
        None => list::run(context, &args.list).await,
        Some(Verb::Profiles(args)) => profiles::run(context, &args).await,
        Some(Verb::Spawn(args)) => spawn::run(context, args).await,
        Some(Verb::Show(args)) => show::run(context, &args).await,
        Some(Verb::Log(args)) => log::run(context, &args).await,
        Some(Verb::Attach(args)) => attach::run(context, &args).await,
        Some(Verb::Tell(args)) => tell::run(context, args).await,
        Some(Verb::Note(args)) => note::run(context, &args).await,
        Some(Verb::Refresh(args)) => refresh::run(context, &args).await,
        Some(Verb::Stop(args)) => stop::run(context, args).await,
        Some(Verb::Allow(args)) => decide::allow(context, args).await,
        Some(Verb::Deny(args)) => decide::deny(context, args).await,
        Some(Verb::Spend(args)) => spend::run(context, &args).await,
        Some(Verb::Stats(args)) => stats::run(context, &args).await,
    }
}

/// The address of an agent, or of something below it.
fn address(name: &str, rest: &str) -> String {
    format!("/api/agents/{}{rest}", crate::client::escape(name))
}
