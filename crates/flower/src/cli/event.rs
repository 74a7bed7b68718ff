//! An event as a line that a person reads.

use super::output::{Style, ago, first_line, plain};
use flower_contract::view::EventView;

/// Of what happened.
const WIDTH: usize = 72;

/// `12  note added  by mike, 3h ago: text`.
pub fn line(event: &EventView, style: Style, now: jiff::Timestamp, with_brief: bool) -> String {
    let brief = match event.brief {
        Some(number) if with_brief => format!("#{number} "),
        _ => String::new(),
    };
    let who = format!("{} · {}", event.actor.sort, event.actor.name);
    let said = first_line(&event.description().summary, WIDTH);
    let said = if said.is_empty() { said } else { format!("  {said}") };
    format!(
        "{}  {}{}{}  {}\n",
        style.dim(&format!("{:>5}", event.seq)),
        style.bold(&brief),
        style.bold(&plain(&event.kind.replace('_', " "))),
        said,
        style.dim(&format!("{} · {}", plain(&who), ago(&event.at, now)))
    )
}
