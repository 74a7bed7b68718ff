//! `flower agent tell`

use crate::cli::Context;
use crate::cli::input::text_or_stdin;
use flower_contract::error::Problem;
use flower_contract::request::SendMessage;
use flower_contract::view::MessageView;

/// Send a message to an agent, to everybody in a worktree, or to the operator
///
/// Agents find it in `check_inbox`, and every other answer says that it is there.
#[derive(clap::Args)]
pub(crate) struct TellArgs {
    /// An agent, a worktree, or `operator`
    #[arg(value_name = "NAME")]
    to: String,
    /// `-` reads it from standard input
    text: String,
}

pub(super) async fn run(context: &Context, args: TellArgs) -> Result<(), Problem> {
    let body = SendMessage { to: args.to, text: text_or_stdin(&args.text)? };
    let sent: MessageView = context.client().await?.post("/api/messages", &body).await?;
    context.answer(&sent, |sent| format!("told {}\n", sent.to))
}
