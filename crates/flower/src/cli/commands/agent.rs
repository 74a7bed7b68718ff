//! `flower agent`

use crate::cli::Context;
use crate::cli::input::text_or_stdin;
use crate::error::Problem;
use crate::request::SendMessage;
use crate::view::MessageView;
use clap::Subcommand;

/// Speak with agents
#[derive(clap::Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Send a message to an agent, to everybody in a worktree, or to the operator
    ///
    /// Agents find it in `check_inbox`, and every other answer says that it is there.
    Tell {
        /// An agent, a worktree, or `operator`
        #[arg(value_name = "NAME")]
        to: String,
        /// `-` reads it from standard input
        text: String,
    },
}

pub(crate) async fn run(context: &Context, args: AgentArgs) -> Result<(), Problem> {
    let Verb::Tell { to, text } = args.verb;
    let body = SendMessage { to, text: text_or_stdin(&text)? };
    let sent: MessageView = context.client().await?.post("/api/messages", &body).await?;
    context.answer(&sent, |sent| format!("told {}\n", sent.to))
}
