//! One file per command: its arguments, whose doc comments are the help, and what the command does.

mod agent;
mod beat;
mod brief;
mod check;
mod claim;
mod comment;
mod complete;
mod completions;
mod demo;
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
mod lfs_filter;
mod log;
mod main;
mod mcp;
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

use super::{Context, Global};
use clap::Subcommand;
use flower_contract::error::Problem;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum Command {
    #[command(flatten)]
    Client(ClientCommand),
    Mcp(mcp::McpArgs),
    Demo(demo::DemoArgs),
    #[command(hide = true)]
    Jail(jail::JailArgs),
    #[command(hide = true)]
    LfsFilter(lfs_filter::LfsFilterArgs),
    #[command(hide = true)]
    NetworkNamespace,
    #[command(hide = true)]
    ScriptedAgent(scripted_agent::ScriptedAgentArgs),
}

// Commands of the operator or an agent, with a project and the daemon. Not a doc comment, which would become help.
#[derive(Subcommand)]
pub(super) enum ClientCommand {
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
    Check(check::CheckArgs),
    Land(land::LandArgs),
    Queue(queue::QueueArgs),
    Revert(revert::RevertArgs),
    Freeze(freeze::FreezeArgs),
    Thaw(thaw::ThawArgs),
    Halt(halt::HaltArgs),
    Main(main::MainArgs),
    Token(token::TokenArgs),
    Log(log::LogArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Complete(complete::CompleteArgs),
    #[command(hide = true)]
    Hook(hook::HookArgs),
}

/// Runs a command, and returns its exit code.
pub(super) fn run(global: Global, command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Client(ClientCommand::Up(args)) if args.foreground => up::foreground(Context::new(global)?, &args)?,
        Command::Client(command) => run_client(&Context::new(global)?, command)?,
        // An agent in a jail has neither flower's home nor a project.
        Command::Mcp(args) => mcp::run(&args)?,
        Command::Demo(args) => demo::run(&args)?,
        // Needs no home either, must fork before threads start, and ends with the exit code of another program.
        Command::Jail(args) => return Ok(jail::run(&args)),
        Command::LfsFilter(args) => lfs_filter::run(args)?,
        Command::NetworkNamespace => return Ok(flower_jail::run_network_helper().into()),
        Command::ScriptedAgent(args) => return Ok(scripted_agent::run(&args)),
    }
    Ok(ExitCode::SUCCESS)
}

fn run_client(context: &Context, command: ClientCommand) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::unreachable(format!("flower cannot start: {error}"), "see `ulimit -a`"))?;
    runtime.block_on(async {
        match command {
            ClientCommand::Up(args) => up::run(context, &args).await,
            ClientCommand::Down(args) => down::run(context, &args).await,
            ClientCommand::Status(args) => status::run(context, &args).await,
            ClientCommand::Doctor(args) => doctor::run(context, &args).await,
            ClientCommand::Init(args) => init::run(context, args).await,
            ClientCommand::Project(args) => project::run(context, args).await,
            ClientCommand::Brief(args) => brief::run(context, args).await,
            ClientCommand::Inbox(args) => inbox::run(context, &args).await,
            ClientCommand::Trace(args) => trace::run(context, &args).await,
            ClientCommand::Search(args) => search::run(context, &args).await,
            ClientCommand::Scratchpad(args) => scratchpad::run(context, args).await,
            ClientCommand::Dispatch(args) => dispatch::run(context, args).await,
            ClientCommand::Claim(args) => claim::run(context, args).await,
            ClientCommand::Beat(args) => beat::run(context, &args).await,
            ClientCommand::Handback(args) => handback::run(context, args).await,
            ClientCommand::Lease(args) => lease::run(context, args).await,
            ClientCommand::Agent(args) => agent::run(context, args).await,
            ClientCommand::Hook(args) => hook::run(context, &args).await,
            ClientCommand::Worktree(args) => worktree::run(context, args).await,
            ClientCommand::Diff(args) => diff::run(context, &args).await,
            ClientCommand::Comment(args) => comment::run(context, args).await,
            ClientCommand::Check(args) => check::run(context, args).await,
            ClientCommand::Land(args) => land::run(context, args).await,
            ClientCommand::Queue(args) => queue::run(context, args).await,
            ClientCommand::Revert(args) => revert::run(context, args).await,
            ClientCommand::Freeze(args) => freeze::run(context, args).await,
            ClientCommand::Thaw(args) => thaw::run(context, &args).await,
            ClientCommand::Halt(args) => halt::run(context, args).await,
            ClientCommand::Main(args) => main::run(context, args).await,
            ClientCommand::Token(args) => token::run(context, args).await,
            ClientCommand::Log(args) => log::run(context, args).await,
            ClientCommand::Complete(args) => complete::run(context, &args).await,
            ClientCommand::Completions(args) => completions::run(context, &args),
        }
    })
}
