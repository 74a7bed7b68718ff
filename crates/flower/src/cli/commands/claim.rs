//! `flower claim`

use crate::cli::Context;
use crate::cli::dispatch::page;
use crate::cli::input::duration;
use flower_contract::error::Problem;
use flower_contract::request::Claim;
use flower_contract::view::DispatchView;
use std::time::Duration;

/// Claim a dispatch; the claim lasts as long as you send heartbeats
///
/// Every call with the claim's token counts as a heartbeat; `flower beat` sends one by hand. The command returns once the
/// worktree is ready.
#[derive(clap::Args)]
pub(crate) struct ClaimArgs {
    /// The number of the dispatch
    #[arg(value_name = "D", required_unless_present = "next", value_parser = crate::cli::input::number)]
    number: Option<u64>,
    /// Claim the oldest dispatch that waits
    #[arg(long, conflicts_with = "number")]
    next: bool,
    /// The name of the holder; you by default
    #[arg(long = "as", value_name = "NAME")]
    holder: Option<String>,
    /// How long the claim lasts after the last heartbeat, such as `15m`
    #[arg(long, value_name = "TIME", value_parser = duration)]
    lease: Option<Duration>,
}

pub(crate) async fn run(context: &Context, args: ClaimArgs) -> Result<(), Problem> {
    let client = context.client().await?.with_long_timeout();
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
