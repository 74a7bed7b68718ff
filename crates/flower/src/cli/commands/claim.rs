//! `flower claim`

use crate::cli::Context;
use crate::cli::dispatch::page;
use crate::cli::input::duration;
use flower_contract::error::Problem;
use flower_contract::request::Claim;
use flower_contract::view::DispatchView;
use std::time::Duration;

/// Take on a dispatch: nobody else can, as long as you are heard of
///
/// Every call with the claim's token renews it; by hand, `flower beat` does. Answers once the worktree is ready.
#[derive(clap::Args)]
pub(crate) struct ClaimArgs {
    /// The dispatch
    #[arg(value_name = "D", required_unless_present = "next")]
    number: Option<u64>,
    /// The oldest one that waits
    #[arg(long, conflicts_with = "number")]
    next: bool,
    /// Who holds it; you unless said
    #[arg(long = "as", value_name = "NAME")]
    holder: Option<String>,
    /// How long it holds after the last sign of life, such as `15m`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    lease: Option<Duration>,
}

pub(crate) async fn run(context: &Context, args: ClaimArgs) -> Result<(), Problem> {
    let client = context.client().await?.patient();
    let seconds = args.lease.map(|lease| lease.as_secs());
    let body = Claim { holder: args.holder, packet: None, seconds, wait: true };
    let path = match args.number {
        Some(number) => format!("/api/dispatches/{number}/claim"),
        None => format!("/api/claims?{}", context.project_query()),
    };
    let dispatch: DispatchView = client.post(&path, &body).await?;
    context.answer(&dispatch, |d| {
        let fence = d.claim.as_ref().map_or(0, |claim| claim.fence);
        let read = format!("read it: `flower brief show {} --as-agent`\n", d.brief);
        let back = format!("hand it back: `flower handback {} --fence {fence} --summary TEXT`\n", d.id);
        format!("{}{}", page(d, context.style), context.style.dim(&format!("{read}{back}")))
    })
}
