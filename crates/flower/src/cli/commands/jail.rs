//! `flower jail`

use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a command in a jail; flower starts these for its agents and tasks
#[derive(clap::Args)]
pub(crate) struct JailArgs {
    /// What the jail shows and allows, as JSON
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,
    /// A pipe; when its other end closes, everything inside ends
    #[arg(long, value_name = "FD")]
    lifeline: Option<i32>,
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Its arguments alone: the whole command line takes longer to put together than many a command takes to run.
#[derive(clap::Parser)]
struct Alone {
    #[command(flatten)]
    args: JailArgs,
}

/// If this is `flower jail` and nothing else. Whatever does not fit is left to the whole command line, which explains it.
pub(crate) fn alone(words: impl Iterator<Item = OsString>) -> Option<JailArgs> {
    let words: Vec<OsString> = words.skip(1).collect();
    let is_jail = words.first().is_some_and(|word| word == "jail");
    is_jail.then(|| Alone::try_parse_from(words).ok())?.map(|alone| alone.args)
}

/// The exit code is that of the command.
pub(crate) fn run(args: &JailArgs) -> ExitCode {
    flower_jail::run(&args.spec, args.lifeline, &args.command).into()
}
