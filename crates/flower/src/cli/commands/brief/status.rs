//! `flower brief status`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::SetStatus;
use flower_contract::view::BriefView;
use flower_core::Status;

/// Set the status of a brief by hand: park, resume or cancel it, or track work that no agent does
#[derive(clap::Args)]
pub(super) struct StatusArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// draft, planned, in_progress, in_review, done, parked or cancelled
    #[arg(value_parser = input::word::<Status>)]
    status: Status,
    /// The reason, in a sentence
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: StatusArgs) -> Result<(), Problem> {
    let body = SetStatus { status: args.status.to_string(), why: args.why };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/status", args.number), &body).await?;
    context.answer(&brief, |brief| super::line(context, brief))
}
