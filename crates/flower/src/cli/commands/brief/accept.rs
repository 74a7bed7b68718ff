//! `flower brief accept`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Accept;
use flower_contract::view::BriefView;
use flower_core::Status;

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
    let client = context.client().await?;
    let before: BriefView = client.get(&format!("/api/briefs/{}", args.number)).await?;
    let brief: BriefView = client.post(&format!("/api/briefs/{}/accept", args.number), &body).await?;
    context.answer(&brief, |brief| {
        let version = brief.spec.version;
        let accepted = match before.status {
            Status::InReview => "the result is accepted".to_owned(),
            Status::Draft => {
                format!("version {version} of the plan is accepted; next: `flower dispatch {}`", brief.number)
            }
            _ => format!("version {version} of the spec is accepted"),
        };
        format!("{}{}\n", super::line(context, brief), context.style.dim(&accepted))
    })
}
