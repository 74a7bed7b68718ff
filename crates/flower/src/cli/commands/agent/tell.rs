//! `flower agent tell`

use crate::cli::Context;
use crate::cli::input::text_or_stdin;
use flower_contract::error::Problem;
use flower_contract::request::SendMessage;
use flower_contract::view::MessageView;

/// Send a message to an agent, to all agents in a worktree, or to the operator
///
/// An agent reads it with the tool `check_inbox`; every other tool tells the agent that a message waits.
#[derive(clap::Args)]
pub(crate) struct TellArgs {
    /// An agent, a worktree, or `operator`
    #[arg(value_name = "NAME")]
    to: String,
    /// The message, or `-` for standard input
    text: String,
}

pub(super) async fn run(context: &Context, args: TellArgs) -> Result<(), Problem> {
    let body = SendMessage { to: args.to, text: text_or_stdin(&args.text)? };
    let sent: MessageView = context.client().await?.post("/api/messages", &body).await?;
    context.answer(&sent, |sent| format!("told {}\n", sent.to))
}
