//! `flower diff`

use crate::cli::Context;
use crate::cli::output::plain;
use crate::client::escape;
use flower_contract::error::Problem;
use std::io::IsTerminal;

/// Show the changes of a worktree: by default those that are committed, against the commit where it branched off MAIN
#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// The worktree; by default the one of the working directory
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: Option<String>,
    /// Show only the changed files, and the number of changed lines in each
    #[arg(long)]
    stat: bool,
    /// Show the changes that are not committed yet, untracked files included
    #[arg(long)]
    uncommitted: bool,
}

pub(crate) async fn run(context: &Context, args: &DiffArgs) -> Result<(), Problem> {
    let worktree = context.worktree(args.worktree.as_deref())?;
    let client = context.client().await?;
    let query = context.project_query();
    let address = format!(
        "/api/worktrees/{}/diff?{query}&stat={}&uncommitted={}",
        escape(&worktree),
        args.stat,
        args.uncommitted
    );
    let diff = client.bytes(&address).await?;
    if context.json {
        let document = serde_json::json!({ "worktree": worktree, "diff": String::from_utf8_lossy(&diff) });
        return context.answer(&document, |_| String::new());
    }
    if diff.is_empty() {
        match args.uncommitted {
            true => eprintln!("worktree `{worktree}` has no uncommitted changes"),
            false => eprintln!("worktree `{worktree}` has no commits that are not in MAIN"),
        }
    }
    print(context, &diff, args.stat)
}

/// Prints git's diff: unchanged to a file or pipe, without control characters to a terminal.
pub(in crate::cli) fn print(context: &Context, diff: &[u8], stat: bool) -> Result<(), Problem> {
    if !std::io::stdout().is_terminal() {
        return context.print_bytes(diff);
    }
    let text = plain(&String::from_utf8_lossy(diff));
    let painted = |line: &str| if stat { line.to_owned() } else { context.style.diff_line(line) };
    context.print(&text.lines().map(|line| painted(line) + "\n").collect::<String>())
}
