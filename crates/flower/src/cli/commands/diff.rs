//! `flower diff`

use crate::cli::Context;
use crate::cli::output::plain;
use crate::client::escape;
use flower_contract::error::Problem;
use std::io::IsTerminal;

/// What a worktree would change in MAIN: its commits, against where it left MAIN
#[derive(clap::Args)]
pub(crate) struct DiffArgs {
    /// The worktree
    #[arg(value_name = "W", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    worktree: String,
    /// Only the files, and how much changed in each
    #[arg(long)]
    stat: bool,
}

pub(crate) async fn run(context: &Context, args: &DiffArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let query = context.project_query();
    let address = format!("/api/worktrees/{}/diff?{query}&stat={}", escape(&args.worktree), args.stat);
    let diff = client.bytes(&address).await?;
    if context.json {
        let document = serde_json::json!({ "worktree": args.worktree, "diff": String::from_utf8_lossy(&diff) });
        return context.answer(&document, |_| String::new());
    }
    if diff.is_empty() {
        eprintln!("nothing is committed in `{}` that MAIN has not", args.worktree);
    }
    print(context, &diff, args.stat)
}

/// As git wrote it for whatever reads it; safe to look at in a terminal.
pub(in crate::cli) fn print(context: &Context, diff: &[u8], stat: bool) -> Result<(), Problem> {
    if !std::io::stdout().is_terminal() {
        return context.print_bytes(diff);
    }
    let text = plain(&String::from_utf8_lossy(diff));
    let painted = |line: &str| if stat { line.to_owned() } else { context.style.diff_line(line) };
    context.print(&text.lines().map(|line| painted(line) + "\n").collect::<String>())
}
