//! `flower brief status`

use super::list::status;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::SetStatus;
use flower_contract::view::BriefView;
use flower_core::Status;

/// Move a brief by hand: park it, take it up again, cancel it, or step through work that no agent does
#[derive(clap::Args)]
pub(super) struct StatusArgs {
    number: u64,
    /// draft, planned, in_progress, in_review, done, parked or cancelled
    #[arg(value_parser = status)]
    status: Status,
    /// Why, in a sentence
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: StatusArgs) -> Result<(), Problem> {
    let body = SetStatus { status: args.status.to_string(), why: args.why };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/status", args.number), &body).await?;
    context.answer(&brief, |brief| super::line(context, brief))
}
