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
    /// Refuse MCP servers over standard input and output, and take them over HTTP
    #[arg(long)]
    no_stdio_mcp: bool,
    /// Take MCP servers, and never connect to them
    #[arg(long)]
    ignore_tools: bool,
    /// Call tools with numbers as text and with an argument that they do not know
    #[arg(long)]
    extra_arguments: bool,
    /// The models that sessions offer, separated by commas; the first is the default
    #[arg(long, value_name = "MODELS", value_delimiter = ',')]
    models: Vec<String>,
    /// Offer them beside `session/set_model` instead of as a config option
    #[arg(long)]
    set_model: bool,
    /// Take the choice of a model, and keep the default
    #[arg(long)]
    keep_model: bool,
    /// Listen on this port of 127.0.0.1, and end if that is not possible
    #[arg(long, value_name = "PORT")]
    bind: Option<u16>,
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
        no_stdio_mcp: args.no_stdio_mcp,
        ignore_tools: args.ignore_tools,
        extra_arguments: args.extra_arguments,
        models: args.models.clone(),
        set_model: args.set_model,
        keep_model: args.keep_model,
        bind: args.bind,
        bare_permissions: args.bare_permissions,
        late_replay: args.late_replay,
    })
}
