//! `flower brief link`

use crate::cli::{Context, input};
use flower_contract::error::Problem;
use flower_contract::request::NewLink;
use flower_contract::view::BriefView;
use flower_core::LinkKind;

/// Link a commit, worktree, file or address to a brief
#[derive(clap::Args)]
pub(super) struct LinkArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// execution, commit, branch, worktree, landing, scratchpad, brief, file or address
    #[arg(value_parser = input::word::<LinkKind>)]
    kind: LinkKind,
    /// The target: a commit id, a number, a path, an address …
    target: String,
    /// The text to show instead of the target
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
}

pub(super) async fn run(context: &Context, args: LinkArgs) -> Result<(), Problem> {
    let body = NewLink { kind: args.kind.to_string(), target: args.target, label: args.label };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/links", args.number), &body).await?;
    context.answer(&brief, |brief| super::line(context, brief))
}
