//! `flower brief answer`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::Text;
use flower_contract::view::EventView;

/// Answer a question; the answer is recorded as a decision
#[derive(clap::Args)]
pub(super) struct AnswerArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// The number of the question in the brief
    #[arg(value_parser = crate::cli::input::number)]
    question: u64,
    /// Markdown, or `-` for standard input
    #[arg(allow_hyphen_values = true, value_parser = input::not_an_option)]
    text: String,
}

pub(super) async fn run(context: &Context, args: &AnswerArgs) -> Result<(), Problem> {
    let body = Text { text: input::text_or_stdin(&args.text)? };
    let path = format!("/api/briefs/{}/questions/{}/answer", args.number, args.question);
    let event: EventView = context.client().await?.post(&path, &body).await?;
    context.answer(&event, |event| super::recorded(context, event))
}
