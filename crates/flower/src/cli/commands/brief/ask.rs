//! `flower brief ask`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::NewQuestion;
use flower_contract::view::EventView;

/// Ask the operator a question, which waits in the inbox
#[derive(clap::Args)]
pub(super) struct AskArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// Markdown, or `-` for standard input
    #[arg(allow_hyphen_values = true, value_parser = input::not_an_option)]
    text: String,
    /// The work cannot go on without the answer
    #[arg(long)]
    stuck: bool,
}

pub(super) async fn run(context: &Context, args: &AskArgs) -> Result<(), Problem> {
    let body = NewQuestion { text: input::text_or_stdin(&args.text)?, help: args.stuck };
    let path = format!("/api/briefs/{}/questions", args.number);
    let event: EventView = context.client().await?.post(&path, &body).await?;
    context.answer(&event, |event| super::recorded(context, event))
}
