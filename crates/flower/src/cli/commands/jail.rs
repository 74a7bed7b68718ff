//! `flower jail`

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

/// The exit code is that of the command.
pub(crate) fn run(args: &JailArgs) -> ExitCode {
    crate::jail::run(&args.spec, args.lifeline, &args.command).into()
}
