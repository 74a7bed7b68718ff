//! Output on a terminal: colours, tables that fit its width, relative times.

use anstyle::{AnsiColor, Style as Ansi};
use flower_core::Status;
use unicode_width::UnicodeWidthStr;

/// Paints text, or leaves it plain.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    colour: bool,
}

impl Style {
    pub fn new(colour: bool) -> Style {
        Style { colour }
    }

    pub fn bold(self, text: &str) -> String {
        self.paint(Ansi::new().bold(), text)
    }

    pub fn dim(self, text: &str) -> String {
        self.paint(Ansi::new().dimmed(), text)
    }

    pub fn mark(self, text: &str) -> String {
        self.paint(AnsiColor::Yellow.on_default().bold(), text)
    }

    pub fn good(self, text: &str) -> String {
        self.paint(AnsiColor::Green.on_default(), text)
    }

    pub fn bad(self, text: &str) -> String {
        self.paint(AnsiColor::Red.on_default(), text)
    }

    pub fn status(self, status: Status) -> String {
        let ansi = match status {
            Status::Draft => Ansi::new().dimmed(),
            Status::Planned => AnsiColor::Blue.on_default(),
            Status::InProgress => AnsiColor::Yellow.on_default(),
            Status::InReview => AnsiColor::Magenta.on_default(),
            Status::Landed | Status::Done => AnsiColor::Green.on_default(),
            Status::Parked | Status::Cancelled => Ansi::new().dimmed().strikethrough(),
        };
        self.paint(ansi, status.as_str())
    }

    /// A line of a unified diff.
    pub fn diff_line(self, line: &str) -> String {
        match line.as_bytes().first() {
            Some(b'+') => self.good(line),
            Some(b'-') => self.bad(line),
            Some(b'@') => self.paint(AnsiColor::Cyan.on_default(), line),
            _ => line.to_owned(),
        }
    }

    fn paint(self, ansi: Ansi, text: &str) -> String {
        if self.colour { format!("{ansi}{text}{ansi:#}") } else { text.to_owned() }
    }
}

/// Rows below headings. On a narrow terminal the column `elastic` is cut; without a terminal nothing is.
pub struct Table {
    headings: Vec<&'static str>,
    elastic: usize,
    rows: Vec<Vec<Cell>>,
}

/// A text, and the same text with colours, which do not count as width.
pub struct Cell {
    text: String,
    painted: Option<String>,
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell { text, painted: None }
    }
}

impl Cell {
    pub fn painted(text: impl Into<String>, painted: String) -> Cell {
        Cell { text: text.into(), painted: Some(painted) }
    }
}

const GAP: usize = 2;

impl Table {
    pub fn new(headings: &[&'static str], elastic: usize) -> Table {
        Table { headings: headings.to_vec(), elastic, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub fn render(&self, style: Style, width: Option<usize>) -> String {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| heading.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        if let Some(width) = width {
            let others: usize =
                widths.iter().enumerate().filter(|(i, _)| *i != self.elastic).map(|(_, w)| w + GAP).sum();
            let room = width.saturating_sub(others).max(12);
            widths[self.elastic] = widths[self.elastic].min(room);
        }
        let headings =
            self.headings.iter().map(|heading| Cell::painted(*heading, style.dim(heading))).collect::<Vec<_>>();
        let mut text = line(&headings, &widths);
        for row in &self.rows {
            text.push_str(&line(row, &widths));
        }
        text
    }
}

fn line(cells: &[Cell], widths: &[usize]) -> String {
    let mut text = String::new();
    for (i, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let cut = cut(&cell.text, width);
        let shown = match &cell.painted {
            Some(painted) if cut == cell.text => painted,
            _ => &cut,
        };
        text.push_str(shown);
        if i + 1 < cells.len() {
            text.push_str(&" ".repeat(width.saturating_sub(cut.width()) + GAP));
        }
    }
    let trimmed = text.trim_end().len();
    text.truncate(trimmed);
    text.push('\n');
    text
}

/// The text, shortened to `width` columns.
pub fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        if cut.width() + unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) + 1 > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// The width of the terminal, if standard output is one.
pub fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&width| width > 0)
}

/// Whether the terminal understands no colours and no cursor movements.
pub fn is_dumb_terminal() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// `2026-11-15T…` as `3h ago`.
pub fn ago(at: &str, now: jiff::Timestamp) -> String {
    let Ok(then) = at.parse::<jiff::Timestamp>() else { return at.to_owned() };
    let seconds = (now.as_second() - then.as_second()).max(0);
    match seconds {
        0..=4 => "just now".to_owned(),
        5..=59 => format!("{seconds}s ago"),
        60..=3_599 => format!("{}m ago", seconds / 60),
        3_600..=86_399 => format!("{}h ago", seconds / 3_600),
        86_400..=2_591_999 => format!("{}d ago", seconds / 86_400),
        _ => then.strftime("%Y-%m-%d").to_string(),
    }
}

/// A time that is still to come, as `15 minutes`, rounded up.
pub fn time_left(at: &str, now: jiff::Timestamp) -> String {
    let Ok(then) = at.parse::<jiff::Timestamp>() else { return at.to_owned() };
    let seconds = (then.as_second() - now.as_second()).max(0);
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..5_400 => ((seconds + 59) / 60, "minute"),
        5_400..129_600 => ((seconds + 3_599) / 3_600, "hour"),
        _ => ((seconds + 86_399) / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes with a unit.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let step = (0..UNITS.len() - 1).find(|&step| bytes < 1000_u64.pow(step as u32 + 1)).unwrap_or(UNITS.len() - 1);
    let shown = bytes as f64 / 1000_f64.powi(step as i32);
    if step > 0 && shown < 10.0 { format!("{shown:.1} {}", UNITS[step]) } else { format!("{shown:.0} {}", UNITS[step]) }
}

/// Text of agents, without control characters that a terminal would act on.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}

/// The first line of a text that is not empty.
pub fn first_line(text: &str, width: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    cut(&plain(line), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_fits_its_terminal_and_counts_wide_characters() {
        let mut table = Table::new(&["#", "TITLE", "UPDATED"], 1);
        table.row(vec!["1".to_owned().into(), "世界世界世界世界".to_owned().into(), "3h ago".to_owned().into()]);
        table.row(vec!["12".to_owned().into(), "short".to_owned().into(), "just now".to_owned().into()]);
        let text = table.render(Style::new(false), Some(25));
        assert_eq!(text, "#   TITLE         UPDATED\n1   世界世界世…   3h ago\n12  short         just now\n");
    }

    #[test]
    fn a_time_to_come_is_a_duration() {
        let now: jiff::Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (at, text) in [
            ("2026-11-15T12:14:59.33Z", "15 minutes"),
            ("2026-11-15T12:01:00Z", "1 minute"),
            ("2026-11-15T12:00:30Z", "30 seconds"),
            ("2026-11-15T14:00:00Z", "2 hours"),
            ("2026-11-18T12:00:00Z", "3 days"),
            ("2026-11-15T11:00:00Z", "0 seconds"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(time_left(at, now), text);
        }
    }

    #[test]
    fn times_are_relative_to_now() {
        let now: jiff::Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (at, text) in [
            ("2026-11-15T12:00:00.000000Z", "just now"),
            ("2026-11-15T11:59:30Z", "30s ago"),
            ("2026-11-15T09:00:00Z", "3h ago"),
            ("2026-11-11T09:00:00Z", "4d ago"),
            ("2026-01-11T09:00:00Z", "2026-01-11"),
            ("2027-01-11T09:00:00Z", "just now"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(ago(at, now), text);
        }
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(plain("a\u{1b}]52;c;x\u{7}b\nc"), "a\u{fffd}]52;c;x\u{fffd}b\nc");
    }
}
