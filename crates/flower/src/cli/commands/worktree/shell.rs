//! `flower worktree shell`

mod lent;

use crate::cli::Context;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::EnterView;
use flower_jail::Lifeline;
use hyper::Method;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// Run a shell, or a command, inside a worktree
///
/// With `--as`, the profile lends what it lends to a dispatched agent: keys, the login, the places of its program, its network. Its
/// agent gets flower's tools, and runs if no command is given. Only the operator can lend keys; a packet's FLOWER_TOKEN is the
/// identity of what runs inside.
///
/// The exit code is that of the command.
#[derive(clap::Args)]
pub(crate) struct ShellArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Lend what a dispatch to this profile would: `claude`, `codex`, `gemini`, `opencode` or one of your own
    #[arg(long = "as", value_name = "PROFILE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    profile: Option<String>,
    /// The command; by default your shell, or with `--as` the agent
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// What to start, and where.
struct Inside {
    launcher: Vec<String>,
    command: Vec<OsString>,
    path: String,
    environment: BTreeMap<String, String>,
}

pub(super) async fn run(context: &Context, args: &ShellArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    if context.remote()?.is_some() {
        let hint = match &args.profile {
            Some(_) => "keys are lent in a terminal of the operator on that machine, where FLOWER_URL is not set",
            None => "run this command there",
        };
        return Err(Problem::new(
            ProblemKind::Refused,
            "a shell runs on the machine of the daemon, and FLOWER_URL names another machine, or this is inside a worktree",
            hint,
        ));
    }
    let code = match &args.profile {
        Some(profile) => lent::run(context, &name, profile, &args.command).await?,
        None => run_plain(context, &name, &args.command).await?,
    };
    // Imports new commits at once. If that fails, they are imported later.
    if let Ok(client) = context.local_client() {
        let _ = client.call(Method::POST, &super::address(context, &name, "/mirror")).await;
    }
    std::process::exit(code)
}

async fn run_plain(context: &Context, name: &str, command: &[OsString]) -> Result<i32, Problem> {
    let inside: EnterView = context.client().await?.post(&super::address(context, name, "/enter"), &()).await?;
    if !inside.sealed {
        eprintln!("{}: linked, so programs that run here can write to MAIN", inside.name);
    }
    print_notes(&inside.name, &inside.notes);
    let command = match command {
        [] => vec![std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into())],
        command => command.to_vec(),
    };
    start(Inside { launcher: inside.launcher, command, path: inside.path, environment: BTreeMap::new() }).await
}

fn print_notes(name: &str, notes: &[String]) {
    for note in notes {
        eprintln!("{name}: {}", crate::cli::output::plain(note));
    }
}

/// Runs a program inside, and waits for its end. Returns its exit code.
async fn start(inside: Inside) -> Result<i32, Problem> {
    // The programs inside are killed when this process ends, even if it is killed.
    let lifeline = Lifeline::new()
        .map_err(|error| Problem::unreachable(format!("a pipe cannot be created: {error}"), "close some programs"))?;
    let launcher: Vec<OsString> = inside.launcher.iter().map(OsString::from).collect();
    let mut words = lifeline.add_to(&launcher);
    words.extend(inside.command);
    // Ctrl-C is meant for the program inside; this process waits for its end.
    let _interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    let _quit = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::quit());
    let program = words[0].display().to_string();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).current_dir(&inside.path).envs(&inside.environment);
    let running = tokio::task::spawn_blocking(move || command.status());
    let status: ExitStatus = running
        .await
        .map_err(|error| Problem::bug(error.to_string()))?
        .map_err(|error| Problem::new(ProblemKind::NotFound, format!("{program}: {error}"), "is it installed?"))?;
    drop(lifeline.started());
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(1)))
}
