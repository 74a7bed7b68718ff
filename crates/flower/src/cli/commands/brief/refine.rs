//! `flower brief refine`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::Refine;
use flower_contract::view::BriefView;

/// Replace the spec by a new version; all versions are kept
#[derive(clap::Args)]
pub(super) struct RefineArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// The whole new spec: a file, or `-` for standard input
    #[arg(long, value_name = "FILE")]
    spec: String,
    /// The version that you edited; nothing is stored if a newer one exists
    #[arg(long, value_name = "VERSION")]
    base: Option<u64>,
    /// The reason, in a sentence
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: RefineArgs) -> Result<(), Problem> {
    let body = Refine { markdown: input::text(&args.spec)?, base: args.base, why: args.why };
    let client = context.client().await?;
    let before: BriefView = client.get(&format!("/api/briefs/{}", args.number)).await?;
    let brief: BriefView = client.post(&format!("/api/briefs/{}/refine", args.number), &body).await?;
    context.answer(&brief, |brief| {
        let version = match brief.spec.version {
            same if same == before.spec.version => format!("the text is the same: the spec stays at version {same}"),
            new => format!("the spec is at version {new}"),
        };
        format!("{}{}\n", super::line(context, brief), context.style.dim(&version))
    })
}
