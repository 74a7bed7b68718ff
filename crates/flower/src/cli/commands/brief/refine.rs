//! `flower brief refine`

use crate::cli::spec::SpecArgs;
use crate::cli::{Context, spec};
use flower_contract::error::Problem;
use flower_contract::request::Refine;
use flower_contract::view::BriefView;

/// Replace the spec by a new version; all versions are kept
#[derive(clap::Args)]
pub(super) struct RefineArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    #[command(flatten)]
    text: SpecArgs,
    /// The version that you edited; nothing is stored if a newer one exists
    #[arg(long, value_name = "VERSION")]
    base: Option<u64>,
    /// The reason, in a sentence
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
}

pub(super) async fn run(context: &Context, args: RefineArgs) -> Result<(), Problem> {
    let given = args.text.given()?;
    let client = context.client().await?;
    let before: BriefView = client.get(&format!("/api/briefs/{}", args.number)).await?;
    let (markdown, base) = match given {
        Some(text) => (text, args.base),
        // What was edited is the version that was read: a newer one is not overwritten.
        None => (spec::edit(context, &before.spec.markdown)?, args.base.or(Some(before.spec.version))),
    };
    let body = Refine { markdown, base, why: args.why };
    let brief: BriefView = client.post(&format!("/api/briefs/{}/refine", args.number), &body).await?;
    context.answer(&brief, |brief| {
        let version = match brief.spec.version {
            same if same == before.spec.version => format!("the text is the same: the spec stays at version {same}"),
            new if brief.spec.accepted_version == Some(new) => format!("the spec is at version {new}"),
            new => format!("the spec is at version {new}; next: `flower brief accept {}`", brief.number),
        };
        format!("{}{}\n", super::line(context, brief), context.style.dim(&version))
    })
}
