//! `flower main log`

use crate::cli::Context;
use crate::cli::landing::{briefs, short};
use crate::cli::output::{Cell, Style, Table, plain, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::HistoryEntry;
use flower_core::landing::State;

/// Show the history of MAIN by landing and brief, newest first
#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// The maximum number of commits
    #[arg(long, value_name = "N", value_parser = crate::cli::input::at_least_one)]
    limit: Option<u64>,
}

/// Commits without `--limit`.
const SHOWN: u64 = 30;
/// Commits with `--json`: the most that the daemon returns.
const ALL: u64 = 10_000;

pub(super) async fn run(context: &Context, args: &LogArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let limit = args.limit.unwrap_or(if context.json { ALL } else { SHOWN });
    let address = format!("{}&limit={limit}", super::address(context, "/log"));
    let entries: Vec<HistoryEntry> = client.get(&address).await?;
    context.answer(&entries, |entries| render(entries, context.style))
}

fn render(entries: &[HistoryEntry], style: Style) -> String {
    let mut table = Table::new(&["DATE", "COMMIT", "LANDING", "TITLE", "BRIEFS"], 3);
    for entry in entries {
        let date = entry.at.get(..10).unwrap_or(&entry.at);
        let (word, painted) = match (entry.landing, entry.state) {
            (None, _) => ("–".to_owned(), style.mark("–")),
            (Some(number), Some(State::RolledBack)) => {
                let word = format!("{number} rolled back");
                (word.clone(), style.dim(&word))
            }
            (Some(number), _) => (number.to_string(), style.good(&number.to_string())),
        };
        table.row(vec![
            Cell::painted(date, style.dim(date)),
            short(&entry.commit).to_owned().into(),
            Cell::painted(word, painted),
            plain(&entry.title).into(),
            briefs(&entry.briefs).into(),
        ]);
    }
    let mut text = table.render(style, terminal_width());
    if entries.iter().any(|entry| entry.landing.is_none()) {
        text.push_str(&style.dim("– not from a landing: made before flower protected MAIN, or by hand\n"));
    }
    text
}
