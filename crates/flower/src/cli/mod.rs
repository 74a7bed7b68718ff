//! The command line: turns arguments into requests to the daemon, and responses into tables and pages. It decides nothing.

mod agent;
mod commands;
mod context;
mod dispatch;
mod editor;
mod event;
mod follow;
mod input;
mod landing;
mod output;
mod pager;
#[cfg(test)]
mod reference;
mod spec;
mod wait;

pub use context::{Context, own_token};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use flower_contract::error::{Problem, ProblemEnvelope};
use std::io::Write;
use std::process::ExitCode;

/// Keeps MAIN stable while many coding agents change the code at once.
#[derive(Parser)]
#[command(
    name = "flower",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Start here:\n  flower up                          make this repository a project, and start the daemon\n  \
                  flower brief new \"Dark mode\"       describe a piece of work\n  \
                  flower brief                       list all briefs\n  \
                  flower worktree new dark           create a worktree to work in, beside MAIN\n  \
                  flower dispatch 1                  or give it to an agent: prints a packet to paste\n  \
                  flower land dark --wait            check the commits of the worktree, and land them on MAIN\n\n\
                  `flower NOUN` lists, `flower NOUN VERB` acts. Every command takes --json."
)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: commands::Command,
}

/// The help heading of the options that every command takes.
const GLOBAL_HEADING: &str = "Global options";

#[derive(Default, clap::Args)]
struct Global {
    /// Print the result as one JSON document
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    json: bool,
    /// The project; by default the one of the working directory
    #[arg(long, global = true, value_name = "NAME", help_heading = GLOBAL_HEADING)]
    project: Option<String>,
    /// Answer all questions with yes
    #[arg(long, short = 'y', global = true, help_heading = GLOBAL_HEADING)]
    yes: bool,
    /// Print without colours, as with NO_COLOR
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    no_color: bool,
    /// Print long output without a pager
    #[arg(long, global = true, help_heading = GLOBAL_HEADING)]
    no_pager: bool,
}

/// Runs the command line, and returns its exit code.
pub fn main() -> ExitCode {
    let wants_json = std::env::args_os().any(|arg| arg == "--json");
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error, wants_json),
    };
    match commands::run(cli.global, cli.command) {
        Ok(code) => code,
        Err(problem) => {
            report(&problem, wants_json);
            ExitCode::from(problem.exit_code())
        }
    }
}

fn parse() -> Result<Cli, clap::Error> {
    // Every command of an agent starts with `flower jail`, and building the parser of all commands takes longer than many
    // of them run. Arguments that do not match are left to the whole parser, which explains them.
    let quick = match commands::jail::parse(std::env::args_os()) {
        Some(args) => Some(commands::Command::Jail(args)),
        None => {
            let is_helper = std::env::args_os().skip(1).eq(["network-namespace"]);
            is_helper.then_some(commands::Command::NetworkNamespace)
        }
    };
    quick.map_or_else(Cli::try_parse, |command| Ok(Cli { global: Global::default(), command }))
}

/// The whole command line, for completions and the reference.
pub fn command() -> clap::Command {
    Cli::command()
}

fn usage(error: &clap::Error, json: bool) -> ExitCode {
    let is_help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    if json && !is_help {
        report(&usage_problem(error), true);
        return ExitCode::from(2);
    }
    // A closed pipe is not an error.
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// The parser's message as a problem: its first paragraph, with its tips as hints.
fn usage_problem(error: &clap::Error) -> Problem {
    let help = "add `--help` to see all options";
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Problem::usage("a command is missing", help);
    }
    let text = error.render().to_string();
    let message: Vec<&str> = text.lines().map(str::trim).take_while(|line| !line.is_empty()).collect();
    let mut problem = Problem::usage(message.join(" ").trim_start_matches("error: "), help);
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
    // Standard error may be a file on a full disk; the exit code still reports the failure.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
