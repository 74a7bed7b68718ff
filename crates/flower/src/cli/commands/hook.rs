//! `flower hook`: what a worktree's own git hooks call, with what git says on standard input.

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
    /// Nothing that is staged is reserved by another, and nobody else commits meanwhile
    PreCommit,
    /// Who made the commit
    PostCommit,
}

/// Staged paths that are looked at, in bytes of their names.
const MOST: u64 = 4 * 1024 * 1024;

pub(crate) async fn run(context: &Context, args: &HookArgs) -> Result<(), Problem> {
    let Ok(name) = std::env::var("FLOWER_WORKTREE") else { return Ok(()) };
    let mut said = Vec::new();
    // What could not be read was not said.
    let _ = std::io::stdin().lock().take(MOST).read_to_end(&mut said);
    let text = String::from_utf8_lossy(&said);
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
            // What cannot be asked is no reason not to commit: collection finds out.
            eprintln!("flower was not asked: {}", problem.message);
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
