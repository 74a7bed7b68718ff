//! `flower scripted-agent`

use crate::scripted::{Options, run as serve};
use std::process::ExitCode;
use std::time::Duration;

/// Run an agent for tests and the demo, which executes the `play` blocks of its prompt over the Agent Client Protocol
#[derive(clap::Args)]
pub(crate) struct ScriptedAgentArgs {
    /// Allow another process with the same HOME to resume sessions
    #[arg(long)]
    resume: bool,
    /// Play from the start, and ignore the progress of earlier processes
    #[arg(long)]
    forget: bool,
    /// Do not report tokens and cost
    #[arg(long)]
    no_usage: bool,
    /// Pause between two steps
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay: u64,
    /// Answer `initialize` with an error
    #[arg(long)]
    refuse_initialize: bool,
    /// Never answer
    #[arg(long)]
    never_answer: bool,
    /// Exit before reading anything
    #[arg(long, value_name = "CODE")]
    exit_at_once: Option<u8>,
    /// Answer `session/new` with an error that requires authentication
    #[arg(long)]
    auth_required: bool,
    /// Request permissions with nothing but the id of the call
    #[arg(long)]
    bare_permissions: bool,
    /// With `--resume`: sessions can only be loaded, and send their history after the answer
    #[arg(long)]
    late_replay: bool,
}

pub(crate) fn run(args: &ScriptedAgentArgs) -> ExitCode {
    if let Some(code) = args.exit_at_once {
        return ExitCode::from(code);
    }
    serve(Options {
        resume: args.resume,
        forget: args.forget,
        no_usage: args.no_usage,
        delay: Duration::from_millis(args.delay),
        refuse_initialize: args.refuse_initialize,
        never_answer: args.never_answer,
        auth_required: args.auth_required,
        bare_permissions: args.bare_permissions,
        late_replay: args.late_replay,
    })
}
