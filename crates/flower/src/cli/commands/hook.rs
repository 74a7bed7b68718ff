//! `flower hook`: called by the git hooks of a worktree, with git's input on standard input.

use crate::cli::Context;
use crate::client::escape;
use clap::Subcommand;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::Commit;
use std::io::Read;

/// Called by the hooks of a worktree
#[derive(clap::Args)]
pub(crate) struct HookArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Refuse staged files that another agent has reserved, and commits of two agents at once
    PreCommit,
    /// Record which agent made the commit
    PostCommit,
}

/// Bytes of the list of staged paths.
const MAX_INPUT: u64 = 4 * 1024 * 1024;

pub(crate) async fn run(context: &Context, args: &HookArgs) -> Result<(), Problem> {
    let Ok(name) = std::env::var("FLOWER_WORKTREE") else { return Ok(()) };
    let mut input = Vec::new();
    // Paths that cannot be read are not checked here, but when the commits are imported.
    let _ = std::io::stdin().lock().take(MAX_INPUT).read_to_end(&mut input);
    let text = String::from_utf8_lossy(&input);
    let mut words = text.split(['\0', '\n']).filter(|word| !word.is_empty()).map(str::to_owned);
    let body = match args.verb {
        Verb::PreCommit => Commit { paths: words.collect(), made: None },
        Verb::PostCommit => Commit { paths: Vec::new(), made: words.next() },
    };
    let path = format!("/api/worktrees/{}/commit?{}", escape(&name), context.project_query());
    let asked = match context.client().await {
        Ok(client) => client.tell(&path, &body).await,
        Err(problem) => Err(problem),
    };
    match asked {
        Err(problem) if problem.kind == ProblemKind::Conflict => Err(problem),
        Err(problem) => {
            // The commit is not refused: leases are checked again when the commits are imported.
            eprintln!("leases were not checked: {}", problem.message);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
