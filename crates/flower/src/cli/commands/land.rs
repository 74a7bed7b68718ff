//! `flower land`

use crate::cli::landing::{conclude, follow_hint, page};
use crate::cli::{Context, wait};
use crate::client::escape;
use flower_contract::error::Problem;
use flower_contract::request::Land;
use flower_contract::view::LandingView;
use flower_core::landing::Priority;

/// Bring what is committed in a worktree to MAIN, through the queue and the checks
///
/// What lands is what is committed now, whatever becomes of the branch. It is merged beside MAIN, checked there, and MAIN moves
/// only if every check passes. With --wait it ends with 0 once it has landed, with 4 if it does not merge, and with 1 if it was
/// rejected or cancelled, or waits for your approval.
#[derive(clap::Args)]
pub(crate) struct LandArgs {
    /// The worktree
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: String,
    /// Stay until it has landed, or will not
    #[arg(long)]
    wait: bool,
    /// A brief that it is for, beside the worktree's own; may be given several times
    #[arg(long, value_name = "N")]
    brief: Vec<u64>,
    /// What it is called; otherwise as its brief, or as its only commit
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// high, normal or low; normal unless said
    #[arg(long, value_name = "P", value_parser = priority)]
    priority: Option<Priority>,
}

fn priority(word: &str) -> Result<Priority, String> {
    word.parse().map_err(|refusal| super::suggest(word, &refusal))
}

pub(crate) async fn run(context: &Context, args: LandArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let body = Land { briefs: args.brief, title: args.title, priority: args.priority };
    let address = format!("/api/worktrees/{}/land?{}", escape(&args.worktree), context.project_query());
    let landing: LandingView = client.post(&address, &body).await?;
    if args.wait {
        return conclude(context, &wait::until_settled(context, &client, landing.id).await?);
    }
    context.answer(&landing, |l| page(l, context.style) + &context.style.dim(&follow_hint(l)))
}
