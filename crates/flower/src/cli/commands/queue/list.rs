//! `flower queue` without a verb

use crate::cli::Context;
use crate::cli::landing::{briefs, state};
use crate::cli::output::{Cell, Style, Table, cut, plain, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::LandingView;

#[derive(clap::Args)]
pub(super) struct ListArgs {
    /// Show this landing, as `flower queue show` does
    #[arg(value_name = "L", value_parser = crate::cli::input::number, conflicts_with_all = ["all", "limit"])]
    pub(super) number: Option<u64>,
    /// Include ended landings, newest first
    #[arg(long)]
    all: bool,
    /// The maximum number of landings
    #[arg(long, value_name = "N", value_parser = crate::cli::input::at_least_one)]
    limit: Option<u64>,
}

/// Landings with `--all` and without `--limit`.
const SHOWN: u64 = 50;
/// No limit.
const ALL: u64 = i64::MAX as u64;
/// Width of a title on a terminal.
const TITLE_WIDTH: usize = 40;

pub(super) async fn run(context: &Context, args: &ListArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let default_limit = if args.all && !context.json { SHOWN } else { ALL };
    let limit = args.limit.unwrap_or(default_limit);
    let path = format!("/api/landings?{}&all={}&limit={limit}", context.project_query(), args.all);
    let landings: Vec<LandingView> = client.get(&path).await?;
    context.answer(&landings, |landings| {
        let mut text = render(landings, args.all, context.style);
        if args.limit.is_none() && landings.len() as u64 == default_limit {
            text.push_str(&context.style.dim("the newest 50; `--limit N` shows more\n"));
        }
        text
    })
}

fn render(landings: &[LandingView], all: bool, style: Style) -> String {
    if landings.is_empty() {
        let seen = if all { "" } else { "; `flower queue --all` includes ended landings" };
        return format!("the queue is empty; land a worktree: `flower land WORKTREE`{seen}\n");
    }
    let width = terminal_width();
    let several = landings.iter().any(|l| l.project != landings[0].project);
    let mut headings = vec!["L", "STATE", "TITLE", "WORKTREE", "BRIEFS", "WHY"];
    if several {
        headings.push("PROJECT");
    }
    let mut table = Table::new(&headings, 5);
    for l in landings {
        let title = plain(&l.title);
        let why = plain(l.reason.as_deref().unwrap_or_default()).replace('\n', " ");
        let mut row: Vec<Cell> = vec![
            l.id.to_string().into(),
            Cell::painted(l.state.in_words(), state(l.state, style)),
            if width.is_some() { cut(&title, TITLE_WIDTH) } else { title }.into(),
            l.worktree.clone().unwrap_or_else(|| format!("({})", l.source)).into(),
            briefs(&l.briefs).into(),
            why.into(),
        ];
        if several {
            row.push(l.project.clone().into());
        }
        table.row(row);
    }
    table.render(style, width)
}
