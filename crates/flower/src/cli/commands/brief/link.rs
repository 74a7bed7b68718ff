//! `flower brief link`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::NewLink;
use flower_contract::view::BriefView;
use flower_core::LinkKind;

/// Link something to a brief
#[derive(clap::Args)]
pub(super) struct LinkArgs {
    number: u64,
    /// execution, commit, branch, worktree, landing, scratchpad, brief, file or address
    #[arg(value_parser = kind)]
    kind: LinkKind,
    /// What to link: a commit id, a number, a path, an address …
    target: String,
    /// What to show instead of the target
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
}

fn kind(word: &str) -> Result<LinkKind, String> {
    word.parse().map_err(|refusal| crate::cli::commands::suggest(word, &refusal))
}

pub(super) async fn run(context: &Context, args: LinkArgs) -> Result<(), Problem> {
    let body = NewLink { kind: args.kind.to_string(), target: args.target, label: args.label };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/links", args.number), &body).await?;
    context.answer(&brief, |brief| super::line(context, brief))
}
