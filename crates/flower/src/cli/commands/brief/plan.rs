//! `flower brief plan`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::Plan;
use flower_contract::view::BriefView;

/// Propose a plan, which then waits for acceptance
#[derive(clap::Args)]
pub(super) struct PlanArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// The plan in Markdown: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    spec: String,
}

pub(super) async fn run(context: &Context, args: &PlanArgs) -> Result<(), Problem> {
    let body = Plan { markdown: input::text(&args.spec)? };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/plan", args.number), &body).await?;
    context.answer(&brief, |brief| {
        let next = format!("version {} is proposed; next: `flower brief accept {}`", brief.spec.version, brief.number);
        format!("{}{}\n", super::line(context, brief), context.style.dim(&next))
    })
}
