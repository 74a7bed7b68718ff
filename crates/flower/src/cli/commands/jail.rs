//! `flower jail`

use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run a command in a jail; flower uses it for agents and tasks
#[derive(clap::Args)]
pub(crate) struct JailArgs {
    /// What is visible and allowed inside, as JSON
    #[arg(long, value_name = "FILE")]
    spec: PathBuf,
    /// A pipe; when its other end is closed, all processes inside are killed
    #[arg(long, value_name = "FD")]
    lifeline: Option<i32>,
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A parser of this command only.
#[derive(clap::Parser)]
struct JailOnly {
    #[command(flatten)]
    args: JailArgs,
}

/// The arguments of `flower jail`; none if this is another command or the arguments do not match.
pub(crate) fn parse(args: impl Iterator<Item = OsString>) -> Option<JailArgs> {
    let args: Vec<OsString> = args.skip(1).collect();
    let is_jail = args.first().is_some_and(|arg| arg == "jail");
    is_jail.then(|| JailOnly::try_parse_from(args).ok())?.map(|jail| jail.args)
}

/// Returns the exit code of the command.
pub(crate) fn run(args: &JailArgs) -> ExitCode {
    flower_jail::run(&args.spec, args.lifeline, &args.command).into()
}
