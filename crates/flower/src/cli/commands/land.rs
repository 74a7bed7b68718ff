//! `flower land`

use crate::cli::landing::{conclude, follow_hint, page, warn_without_checks};
use crate::cli::{Context, input, wait};
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::request::Land;
use flower_contract::view::LandingView;
use flower_core::landing::Priority;

/// Land the commits of a worktree on MAIN, through the queue and the checks
///
/// Lands what is committed now; later commits are not included. The commits are merged and checked beside MAIN, and MAIN
/// moves only if every check passes. With --wait the exit code is 0 if the landing has landed, 4 if it has conflicts, and 1
/// if it was rejected or cancelled, or waits for your approval.
#[derive(clap::Args)]
pub(crate) struct LandArgs {
    /// The worktree
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: String,
    /// Wait until the landing has ended or needs approval
    #[arg(long)]
    wait: bool,
    /// A further brief of the landing, beside the worktree's own; can be repeated
    #[arg(long, value_name = "N")]
    brief: Vec<u64>,
    /// The title of the landing; by default that of its brief, or of its only commit
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// high, normal or low; normal by default
    #[arg(long, value_name = "P", value_parser = input::word::<Priority>)]
    priority: Option<Priority>,
}

pub(crate) async fn run(context: &Context, args: LandArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let body = Land { briefs: args.brief, title: args.title, priority: args.priority };
    let address = format!("/api/worktrees/{}/land?{}", escape(&args.worktree), context.project_query());
    let landing: LandingView = client.post(&address, &body).await?;
    warn_without_checks(context, &client, Some(&landing.project)).await;
    if args.wait {
        return conclude(context, &wait::until_settled(context, &client, landing.id).await?);
    }
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
