//! One file per command: its help is its documentation, its arguments, and what it does with them.

mod agent;
mod beat;
mod brief;
mod claim;
mod comment;
mod completions;
mod diff;
mod dispatch;
mod doctor;
mod down;
mod freeze;
mod halt;
mod handback;
mod hook;
mod inbox;
mod init;
pub(super) mod jail;
mod land;
mod lease;
mod log;
mod main;
pub(super) mod mcp;
mod project;
mod queue;
mod revert;
mod scratchpad;
mod scripted_agent;
mod search;
mod status;
mod thaw;
mod token;
mod trace;
mod up;
mod worktree;

use super::Context;
use clap::Subcommand;
use flower_contract::error::Problem;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum Command {
    Up(up::UpArgs),
    Down(down::DownArgs),
    Status(status::StatusArgs),
    Doctor(doctor::DoctorArgs),
    Init(init::InitArgs),
    Project(project::ProjectArgs),
    Brief(brief::BriefArgs),
    Inbox(inbox::InboxArgs),
    Trace(trace::TraceArgs),
    Search(search::SearchArgs),
    Scratchpad(scratchpad::ScratchpadArgs),
    Dispatch(dispatch::DispatchArgs),
    Claim(claim::ClaimArgs),
    Beat(beat::BeatArgs),
    Handback(handback::HandBackArgs),
    Lease(lease::LeaseArgs),
    Agent(agent::AgentArgs),
    Worktree(worktree::WorktreeArgs),
    Diff(diff::DiffArgs),
    Comment(comment::CommentArgs),
    Land(land::LandArgs),
    Queue(queue::QueueArgs),
    Revert(revert::RevertArgs),
    Freeze(freeze::FreezeArgs),
    Thaw(thaw::ThawArgs),
    Halt(halt::HaltArgs),
    Main(main::MainArgs),
    Token(token::TokenArgs),
    Mcp(mcp::McpArgs),
    Log(log::LogArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
    #[command(hide = true)]
    Jail(jail::JailArgs),
    #[command(hide = true)]
    ScriptedAgent(scripted_agent::ScriptedAgentArgs),
}

/// The jail needs neither home nor project, forks before there are threads, and ends with another program's exit code.
/// The scripted agent needs nothing of flower at all.
pub(super) fn run_alone(command: &Command) -> Option<ExitCode> {
    match command {
        Command::Jail(args) => Some(jail::run(args)),
        Command::ScriptedAgent(args) => Some(scripted_agent::run(args)),
        _ => None,
    }
}

pub(super) fn run(context: Context, command: Command) -> Result<(), Problem> {
    // The daemon has a runtime of its own, with threads.
    if let Command::Up(args) = &command
        && args.foreground
    {
        return up::foreground(context, args);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::unreachable(format!("flower cannot start: {error}"), "see `ulimit -a`"))?;
    runtime.block_on(async {
        match command {
            Command::Up(args) => up::run(&context, &args).await,
            Command::Down(args) => down::run(&context, &args).await,
            Command::Status(args) => status::run(&context, &args).await,
            Command::Doctor(args) => doctor::run(&context, &args).await,
            Command::Init(args) => init::run(&context, args).await,
            Command::Project(args) => project::run(&context, args).await,
            Command::Brief(args) => brief::run(&context, args).await,
            Command::Inbox(args) => inbox::run(&context, &args).await,
            Command::Trace(args) => trace::run(&context, &args).await,
            Command::Search(args) => search::run(&context, &args).await,
            Command::Scratchpad(args) => scratchpad::run(&context, args).await,
            Command::Dispatch(args) => dispatch::run(&context, args).await,
            Command::Claim(args) => claim::run(&context, args).await,
            Command::Beat(args) => beat::run(&context, &args).await,
            Command::Handback(args) => handback::run(&context, args).await,
            Command::Lease(args) => lease::run(&context, args).await,
            Command::Agent(args) => agent::run(&context, args).await,
            Command::Hook(args) => hook::run(&context, &args).await,
            Command::Worktree(args) => worktree::run(&context, args).await,
            Command::Diff(args) => diff::run(&context, &args).await,
            Command::Comment(args) => comment::run(&context, args).await,
            Command::Land(args) => land::run(&context, args).await,
            Command::Queue(args) => queue::run(&context, args).await,
            Command::Revert(args) => revert::run(&context, args).await,
            Command::Freeze(args) => freeze::run(&context, args).await,
            Command::Thaw(args) => thaw::run(&context, &args).await,
            Command::Halt(args) => halt::run(&context, args).await,
            Command::Main(args) => main::run(&context, args).await,
            Command::Token(args) => token::run(&context, args).await,
            Command::Log(args) => log::run(&context, args).await,
            Command::Completions(args) => completions::run(&context, &args),
            Command::Mcp(_) | Command::Jail(_) | Command::ScriptedAgent(_) => unreachable!("it has run alone"),
        }
    })
}

/// What a wrong word is told: the choices, and the one that is nearest.
fn suggest(word: &str, refusal: &flower_core::Refusal) -> String {
    let flower_core::Refusal::UnknownWord { choices, .. } = refusal else { return refusal.to_string() };
    let distance = |choice: &str| strsim::osa_distance(choice, &word.to_lowercase());
    let close = choices.iter().min_by_key(|choice| distance(choice)).filter(|choice| distance(choice) <= 3);
    let hint = close.map_or_else(String::new, |choice| format!("did you mean `{choice}`? "));
    format!("{hint}choose one of: {}", choices.join(", "))
}
