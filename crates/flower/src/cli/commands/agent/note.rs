//! `flower agent note`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::view::MessageView;

/// Ask an agent for a hand-over note on its brief; it goes on afterwards
///
/// The note is in the trace of the brief, and in what every later agent reads of it.
#[derive(clap::Args)]
pub(super) struct NoteArgs {
    /// The name of the agent
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
}

pub(super) async fn run(context: &Context, args: &NoteArgs) -> Result<(), Problem> {
    let sent: MessageView = context.client().await?.post(&super::address(&args.name, "/note"), &()).await?;
    context.answer(&sent, |sent| {
        format!("{} is asked for a hand-over note; it will stand in the trace of its brief\n", plain(&sent.to))
    })
}
