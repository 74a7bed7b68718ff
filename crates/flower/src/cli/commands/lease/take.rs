//! `flower lease take`

use crate::cli::Context;
use crate::cli::input::duration;
use crate::cli::output::time_left;
use flower_contract::error::Problem;
use flower_contract::request::TakeLease;
use flower_contract::view::LeaseView;
use std::time::Duration;

/// Reserve paths for a time; refused if they overlap with another lease
#[derive(clap::Args)]
pub(super) struct TakeArgs {
    /// Paths or patterns, such as `src/`, `docs/*.md` or `**/Cargo.toml`
    #[arg(value_name = "PATTERN", required = true)]
    patterns: Vec<String>,
    /// How long the lease lasts, such as `30m`; an hour by default
    #[arg(long, value_name = "D", value_parser = duration)]
    ttl: Option<Duration>,
    /// The worktree; by default that of the agent
    #[arg(long, value_name = "NAME")]
    worktree: Option<String>,
    /// The name of the holder; you by default
    #[arg(long = "as", value_name = "NAME")]
    holder: Option<String>,
}

pub(super) async fn run(context: &Context, args: TakeArgs) -> Result<(), Problem> {
    let query = format!("{}{}", context.project_query(), super::worktree(context, args.worktree.as_deref()));
    let seconds = args.ttl.map(|ttl| ttl.as_secs());
    let body = TakeLease { patterns: args.patterns, seconds, holder: args.holder };
    let lease: LeaseView = context.client().await?.post(&format!("/api/leases?{query}"), &body).await?;
    context.answer(&lease, |lease| {
        format!(
            "{} holds {} in {} for {}\n",
            lease.holder,
            lease.patterns.join(" "),
            lease.worktree,
            time_left(&lease.expires_at, jiff::Timestamp::now())
        )
    })
}
