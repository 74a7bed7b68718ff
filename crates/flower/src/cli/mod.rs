//! The command line. It translates: arguments to requests, answers to tables and pages. No rule lives here.

mod agent;
mod commands;
mod context;
mod dispatch;
mod event;
mod follow;
mod input;
mod landing;
mod output;
#[cfg(test)]
mod reference;
mod wait;

pub use context::Context;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use flower_contract::error::{Problem, ProblemEnvelope};
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

/// Keeps MAIN stable while many coding agents change the code at once.
#[derive(Parser)]
#[command(
    name = "flower",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Start here:\n  flower up                          make this repository a project and start the daemon\n  \
                  flower brief new \"Dark mode\"       write down what should be done\n  \
                  flower brief                       see all briefs\n  \
                  flower worktree new dark           a place to work on it, beside MAIN\n  \
                  flower dispatch 1                  or give it to an agent: prints what to paste\n  \
                  flower land dark --wait            bring what is committed there to MAIN\n\n\
                  `flower NOUN` lists, `flower NOUN VERB` acts. Every command takes --json."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: commands::Command,
}

/// The heading of the options that every command takes.
const GLOBAL: &str = "Global options";

#[derive(clap::Args)]
struct Global {
    /// Answer with one JSON document on standard output
    #[arg(long, global = true, help_heading = GLOBAL)]
    json: bool,
    /// The project; otherwise the one around the working directory
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL)]
    project: Option<String>,
    /// Ask no questions
    #[arg(long, short = 'y', global = true, help_heading = GLOBAL)]
    yes: bool,
    /// No colours; NO_COLOR does the same
    #[arg(long, global = true, help_heading = GLOBAL)]
    no_color: bool,
}

/// Runs the command line and gives its exit code.
pub fn main() -> ExitCode {
    if let Some(args) = commands::jail::alone(std::env::args_os()) {
        return commands::jail::run(&args);
    }
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error, wants_json),
    };
    if let Some(code) = commands::run_alone(&cli.command) {
        return code;
    }
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            report(&problem, wants_json);
            ExitCode::from(problem.exit_code())
        }
    }
}

fn run(cli: Cli) -> Result<(), Problem> {
    // An agent in a jail has neither flower's home nor a project.
    if let commands::Command::Mcp(args) = &cli.command {
        return commands::mcp::run(args);
    }
    let colour = !cli.global.no_color
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::io::stdout().is_terminal();
    let context = Context::new(cli.global.json, cli.global.project, cli.global.yes, colour)?;
    commands::run(context, cli.command)
}

/// The whole command line, for completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}

fn usage(error: &clap::Error, json: bool) -> ExitCode {
    let helps = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if json && !helps {
        report(&usage_problem(error), true);
        return ExitCode::from(2);
    }
    // A closed pipe is no reason to fail.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// What the parser says: its first paragraph, and its tips as hints.
fn usage_problem(error: &clap::Error) -> Problem {
    let help = "add `--help` to see what is possible";
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Problem::usage("a command is missing", help);
    }
    let text = error.render().to_string();
    let said: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let mut problem = Problem::usage(said.join(" ").trim_start_matches("error: "), help);
    let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
    problem.hints.splice(0..0, tips.map(str::to_owned));
    problem
}

fn report(problem: &Problem, json: bool) {
    let mut text = if json {
        let envelope = ProblemEnvelope { error: problem.clone() };
        serde_json::to_string(&envelope).expect("plain data")
    } else {
        let hints = problem.hints.iter().map(|hint| format!("\n  hint: {}", output::plain(hint)));
        format!("error: {}{}", output::plain(&problem.message), hints.collect::<String>())
    };
    text.push('\n');
    // Standard error may be a file on a full disk; the exit code still says that it went wrong.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
