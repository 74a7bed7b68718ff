//! Prints an event as a line.

use super::output::{Style, ago, first_line, plain};
use flower_contract::view::EventView;

/// Width of the summary.
const WIDTH: usize = 72;

/// `12  note added  by mike, 3h ago: text`.
pub fn line(event: &EventView, style: Style, now: jiff::Timestamp, with_brief: bool) -> String {
    let brief = match event.brief {
        Some(number) if with_brief => format!("#{number} "),
        _ => String::new(),
    };
    let who = format!("{} · {}", event.actor.sort, event.actor.name);
    let summary = first_line(&event.description().summary, WIDTH);
    let summary = if summary.is_empty() { summary } else { format!("  {summary}") };
    format!(
        "{}  {}{}{}  {}\n",
        style.dim(&format!("{:>5}", event.seq)),
        style.bold(&brief),
        style.bold(&plain(&event.kind.replace('_', " "))),
        summary,
        style.dim(&format!("{} · {}", plain(&who), ago(&event.at, now)))
    )
}
