//! `flower agent log`

use crate::cli::Context;
use crate::cli::context::{RECONNECT_INTERVAL, RECONNECT_TIMEOUT};
use crate::cli::output::{Style, plain};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{Entry, EntryKind, ToolStatus, TranscriptView};
use std::time::Instant;

/// Show the transcript of an agent: its output, its tool calls, and its prompts
#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// The name of the agent
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: String,
    /// Print new entries as they are written
    #[arg(long, short)]
    follow: bool,
    /// From the oldest entry that is kept
    #[arg(long)]
    all: bool,
}

/// Lines of an entry; `--json` has all of them.
const MAX_LINES: usize = 12;

pub(super) async fn run(context: &Context, args: &LogArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let mut after: Option<u64> = args.all.then_some(0);
    let mut entries = Vec::new();
    let mut lost_at: Option<Instant> = None;
    loop {
        let wait = if args.follow { "wait=true" } else { "wait=false" };
        let from = after.map_or_else(String::new, |after| format!("&after={after}"));
        let path = super::address(&args.name, &format!("/log?{wait}{from}"));
        let page: TranscriptView = match client.get(&path).await {
            Ok(page) => page,
            Err(problem)
                if args.follow
                    && problem.kind == ProblemKind::Unreachable
                    && lost_at.get_or_insert_with(Instant::now).elapsed() < RECONNECT_TIMEOUT =>
            {
                tokio::time::sleep(RECONNECT_INTERVAL).await;
                continue;
            }
            Err(problem) => return Err(problem),
        };
        lost_at = None;
        after = Some(page.next);
        if args.follow || !context.json {
            for entry in &page.entries {
                show(context, entry)?;
            }
        } else {
            entries.extend(page.entries);
        }
        if !page.more && (!args.follow || page.over) {
            break;
        }
    }
    if context.json && !args.follow {
        return context.answer(&entries, |_| String::new());
    }
    Ok(())
}

fn show(context: &Context, entry: &Entry) -> Result<(), Problem> {
    if context.json {
        let line = serde_json::to_string(entry).expect("plain data");
        return context.print(&format!("{line}\n"));
    }
    context.print(&lines(entry, context.style))
}

/// The kind of an entry and its first line, with further lines below.
fn lines(entry: &Entry, style: Style) -> String {
    let time = entry.at.get(11..19).unwrap_or_default();
    let word = match entry.kind {
        EntryKind::Flower => style.mark("flower"),
        EntryKind::Prompt => style.mark("told  "),
        EntryKind::Said => style.bold("said  "),
        EntryKind::Thought => style.dim("thinks"),
        EntryKind::Tool => match entry.status {
            Some(ToolStatus::Completed) => style.good("done  "),
            Some(ToolStatus::Failed) => style.bad("failed"),
            Some(ToolStatus::Pending | ToolStatus::InProgress) | None => "tool  ".to_owned(),
        },
        EntryKind::Plan => style.bold("plan  "),
        EntryKind::Permission => style.mark("asks  "),
        EntryKind::Noise => style.dim("noise "),
        EntryKind::Output => "prints".to_owned(),
    };
    let all: Vec<String> = entry.text.trim_end().lines().map(plain).collect();
    // The output of a program in a terminal is all that there is of it.
    let max = if entry.kind == EntryKind::Output { usize::MAX } else { MAX_LINES };
    let mut shown: Vec<String> = all.iter().take(max).cloned().collect();
    if all.len() > max {
        let more = all.len() - max;
        let lines = if more == 1 { "line" } else { "lines" };
        shown.push(style.dim(&format!("… {more} more {lines}; `--json` shows all")));
    }
    for diff in &entry.diffs {
        let (old, new) = (diff.old.as_deref().unwrap_or_default().lines().count(), diff.new.lines().count());
        shown.push(style.dim(&format!("{}: {old} lines before, {new} now", plain(&diff.path))));
    }
    format!("{} {word} {}\n", style.dim(time), shown.join("\n                "))
}
