//! `flower land`

use crate::cli::landing::{conclude, follow_hint, page};
use crate::cli::output::plain;
use crate::cli::wait::WaitArgs;
use crate::cli::{Context, input};
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::request::Land;
use flower_contract::view::LandingView;
use flower_core::landing::Priority;

/// Land the commits of a worktree on MAIN, through the queue and the checks
///
/// Lands what is committed now; later commits are not included. The commits are merged and checked beside MAIN, and MAIN
/// moves only if every check passes. With --wait the exit code is 0 if the landing has landed, 4 if it has conflicts, and 1
/// if it was rejected or cancelled, or waits for your approval. If these commits are in the queue already, --wait waits for that
/// landing.
#[derive(clap::Args)]
pub(crate) struct LandArgs {
    /// The worktree; by default the one of the working directory
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: Option<String>,
    #[command(flatten)]
    wait: WaitArgs,
    /// A further brief of the landing, beside the worktree's own; can be repeated
    #[arg(long, value_name = "N", value_parser = crate::cli::input::number)]
    brief: Vec<u64>,
    /// The title of the landing; by default that of its brief, or of its newest commit
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// high, normal or low; normal by default
    #[arg(long, value_name = "P", value_parser = input::word::<Priority>)]
    priority: Option<Priority>,
}

/// Uncommitted files that a message names.
const MAX_NAMED: usize = 5;

fn left_behind(worktree: &str, paths: &[String]) -> String {
    let named: Vec<String> = paths.iter().take(MAX_NAMED).map(|path| plain(path)).collect();
    let more = paths.len().saturating_sub(MAX_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("not committed, so not part of the landing, and left in `{worktree}`: {}{more}", named.join(", "))
}

pub(crate) async fn run(context: &Context, args: LandArgs) -> Result<(), Problem> {
    let worktree = context.worktree(args.worktree.as_deref())?;
    let client = context.client().await?;
    let body = Land { briefs: args.brief, title: args.title, priority: args.priority, join: args.wait.is_wanted() };
    let address = format!("/api/worktrees/{}/land?{}", escape(&worktree), context.project_query());
    let landing: LandingView = client.post(&address, &body).await?;
    if !context.json && !landing.uncommitted.is_empty() {
        eprintln!("{}", left_behind(&worktree, &landing.uncommitted));
    }
    if args.wait.is_wanted() {
        return conclude(context, &args.wait.until_settled(context, &client, landing.id).await?);
    }
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
