//! `flower worktree shell`

use crate::cli::Context;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::EnterView;
use flower_jail::Lifeline;
use hyper::Method;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

/// Run a shell, or a command, inside a worktree
///
/// The exit code is that of the command.
#[derive(clap::Args)]
pub(crate) struct ShellArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// The command; by default your shell
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(super) async fn run(context: &Context, args: &ShellArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    if context.remote()?.is_some() {
        return Err(Problem::new(
            ProblemKind::Refused,
            "a shell runs on the machine of the daemon, and FLOWER_URL names another machine",
            "run this command there",
        ));
    }
    let client = context.client().await?;
    let inside: EnterView = client.post(&super::address(context, &name, "/enter"), &()).await?;
    if !inside.sealed {
        eprintln!("{}: linked, so programs that run here can write to MAIN", inside.name);
    }
    for note in &inside.notes {
        eprintln!("{}: {}", inside.name, crate::cli::output::plain(note));
    }
    let words: Vec<OsString> = inside.launcher.iter().map(OsString::from).collect();
    // The programs inside are killed when this process ends, even if it is killed.
    let lifeline = Lifeline::new()
        .map_err(|error| Problem::unreachable(format!("a pipe cannot be created: {error}"), "close some programs"))?;
    let mut words = lifeline.add_to(&words);
    if args.command.is_empty() {
        words.push(std::env::var_os("SHELL").unwrap_or_else(|| "/bin/sh".into()));
    } else {
        words.extend(args.command.iter().cloned());
    }
    // Ctrl-C is meant for the program inside; this process waits for its end.
    let _interrupt = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt());
    let _quit = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::quit());
    let status = Command::new(&words[0]).args(&words[1..]).current_dir(&inside.path).status().map_err(|error| {
        Problem::new(ProblemKind::NotFound, format!("{}: {error}", words[0].display()), "is it installed?")
    })?;
    drop(lifeline.started());
    // Imports new commits at once. If that fails, they are imported later.
    let _ = client.call(Method::POST, &super::address(context, &name, "/mirror")).await;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(1));
    std::process::exit(code)
}
