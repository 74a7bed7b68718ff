//! `flower brief accept`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Accept;
use flower_contract::view::BriefView;

/// Accept a proposed plan, or a result in review
#[derive(clap::Args)]
pub(super) struct AcceptArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// Accept only if this is the newest version of the spec
    #[arg(long, value_name = "VERSION")]
    version: Option<u64>,
}

pub(super) async fn run(context: &Context, args: &AcceptArgs) -> Result<(), Problem> {
    let body = Accept { version: args.version };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/accept", args.number), &body).await?;
    context.answer(&brief, |brief| super::line(context, brief))
}
