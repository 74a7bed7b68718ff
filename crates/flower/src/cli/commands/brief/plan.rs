//! `flower brief plan`

use crate::cli::spec::SpecArgs;
use crate::cli::{Context, spec};
use flower_contract::error::Problem;
use flower_contract::request::Plan;
use flower_contract::view::BriefView;

/// Propose a plan, which then waits for acceptance
#[derive(clap::Args)]
pub(super) struct PlanArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    #[command(flatten)]
    text: SpecArgs,
}

pub(super) async fn run(context: &Context, args: &PlanArgs) -> Result<(), Problem> {
    let given = args.text.given()?;
    let client = context.client().await?;
    let markdown = match given {
        Some(text) => text,
        None => {
            let now: BriefView = client.get(&format!("/api/briefs/{}", args.number)).await?;
            let first = format!("# {}\n\n", now.title);
            spec::edit(context, if now.spec.version > 0 { &now.spec.markdown } else { &first })?
        }
    };
    let brief: BriefView = client.post(&format!("/api/briefs/{}/plan", args.number), &Plan { markdown }).await?;
    context.answer(&brief, |brief| {
        let next = format!("version {} is proposed; next: `flower brief accept {}`", brief.spec.version, brief.number);
        format!("{}{}\n", super::line(context, brief), context.style.dim(&next))
    })
}
