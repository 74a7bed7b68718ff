//! `flower scripted-agent`

use crate::scripted::{Options, run as serve};
use std::process::ExitCode;
use std::time::Duration;

/// An agent for tests and the demo: speaks the Agent Client Protocol, and plays the `play` blocks of its prompt
#[derive(clap::Args)]
pub(crate) struct ScriptedAgentArgs {
    /// Sessions can be resumed by another process with the same HOME
    #[arg(long)]
    resume: bool,
    /// Play from the start, however far another process has come
    #[arg(long)]
    forget: bool,
    /// Say nothing about tokens and cost
    #[arg(long)]
    no_usage: bool,
    /// Between two steps
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay: u64,
    /// Answer `initialize` with an error
    #[arg(long)]
    refuse_initialize: bool,
    /// Read, and answer nothing
    #[arg(long)]
    never_answer: bool,
    /// End before anything is read
    #[arg(long, value_name = "CODE")]
    exit_at_once: Option<u8>,
    /// Answer `session/new` with the error that asks for authentication
    #[arg(long)]
    auth_required: bool,
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
    })
}
