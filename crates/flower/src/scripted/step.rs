//! The steps of a script, one per line.

use super::script::Header;
use agent_client_protocol_schema::v1::ToolKind;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;

/// Repetitions of a step; a script with more is invalid.
const MAX_COUNT: u64 = 1_000_000;
const MAX_LINE_BYTES: u64 = 1 << 30;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Say(String),
    Think(String),
    Plan(Vec<String>),
    Write {
        path: PathBuf,
        text: String,
        append: bool,
    },
    Run {
        command: String,
        must: bool,
    },
    Commit(String),
    Tool {
        name: String,
        arguments: Value,
    },
    Permission {
        kind: ToolKind,
        title: String,
        path: Option<PathBuf>,
        forever: bool,
    },
    /// A permission request whose tool call is this JSON.
    PermissionOf(Value),
    /// Refuses the prompt with this JSON-RPC error.
    Refuse(Value),
    Usage {
        used: u64,
        size: u64,
        cost: Option<f64>,
        tokens: Option<u64>,
    },
    Wait,
    End,
    Sleep(Duration),
    Hang,
    HangHard,
    Exit(i32),
    Crash,
    Flood(u64),
    FloodTools(u64),
    Garbage(u64),
    LongLine(usize),
    Stderr(u64),
    UnknownUpdate,
    BadResponse,
    EarlyResponse,
    Fork,
    /// Says the names of the tools that the MCP server has told.
    ListTools,
    Attack(PathBuf),
    /// Does nothing itself; a prompt for a hand-over note is never answered.
    MuteHandover,
}

/// A step with its prefixes `repeat` and `once`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) step: Step,
    pub(super) times: u64,
    pub(super) once: bool,
}

impl Line {
    /// None if the line is not a step.
    pub(super) fn parse(line: &str, header: &Header) -> Option<Line> {
        let (mut rest, mut times, mut once) = (line.trim(), 1_u64, false);
        loop {
            let (word, after) = split(rest);
            match word {
                "once" => once = true,
                "repeat" => {
                    let (count, after) = split(after);
                    times = times.checked_mul(number(count, MAX_COUNT)?).filter(|times| *times <= MAX_COUNT)?;
                    rest = after;
                    continue;
                }
                _ => return Some(Line { step: Step::parse(word, after, header)?, times, once }),
            }
            rest = after;
        }
    }
}

impl Step {
    fn parse(word: &str, rest: &str, header: &Header) -> Option<Step> {
        let text = || (!rest.is_empty()).then(|| rest.to_owned());
        let count = || number(rest, MAX_COUNT);
        let tool = |name: &str, arguments: Value| Some(Step::Tool { name: name.to_owned(), arguments });
        Some(match word {
            "say" => Step::Say(text()?),
            "think" => Step::Think(text()?),
            "plan" => Step::Plan(rest.split(';').map(|entry| entry.trim().to_owned()).collect()),
            "write" | "append" => {
                let (path, text) = split(rest);
                let path = (!path.is_empty()).then(|| PathBuf::from(path))?;
                Step::Write { path, text: unescape(text), append: word == "append" }
            }
            "run" | "must" => Step::Run { command: text()?, must: word == "must" },
            "commit" => Step::Commit(text()?),
            "tool" => {
                let (name, arguments) = split(rest);
                let arguments = if arguments.is_empty() { "{}" } else { arguments };
                return tool(name, serde_json::from_str(&fill_in(arguments, header)).ok()?);
            }
            "note" => return tool("add_note", json!({ "brief": header.brief, "text": text()? })),
            "question" => {
                return tool("add_note", json!({ "brief": header.brief, "text": text()?, "kind": "question" }));
            }
            "reserve" => {
                let patterns: Vec<&str> = rest.split_whitespace().collect();
                return tool("reserve_paths", json!({ "patterns": patterns }));
            }
            "inbox" => return tool("check_inbox", json!({})),
            "tell" => {
                let (to, text) = split(rest);
                return tool("send_message", json!({ "to": to, "text": text }));
            }
            "hand-back" | "fail" => {
                let mut back = json!({ "dispatch": header.dispatch, "fence": header.fence, "summary": text()? });
                if word == "fail" {
                    back["failed"] = true.into();
                }
                return tool("hand_back", back);
            }
            "permission" | "permission-forever" => {
                let (kind, title) = split(rest);
                let (title, path) = match title.rsplit_once(char::is_whitespace) {
                    Some((title, path)) if path.contains('/') => (title.trim_end(), Some(PathBuf::from(path))),
                    _ => (title, None),
                };
                let title = (!title.is_empty()).then_some(title)?;
                let kind = serde_json::from_value(kind.into()).ok()?;
                Step::Permission { kind, title: title.to_owned(), path, forever: word == "permission-forever" }
            }
            "permission-of" => Step::PermissionOf(serde_json::from_str(rest).ok().filter(Value::is_object)?),
            "refuse" => Step::Refuse(serde_json::from_str(rest).ok().filter(Value::is_object)?),
            "usage" => {
                let mut words = rest.split_whitespace();
                let (used, size) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
                let cost = words.next().map(str::parse).transpose().ok()?;
                let tokens = words.next().map(str::parse).transpose().ok()?;
                Step::Usage { used, size, cost, tokens }
            }
            "wait" => Step::Wait,
            "end" => Step::End,
            "sleep" => Step::Sleep(Duration::try_from_secs_f64(rest.parse().ok()?).ok()?),
            "hang" => Step::Hang,
            "hang-hard" => Step::HangHard,
            "silent-exit" => Step::Exit(0),
            "die" if rest.is_empty() => Step::Exit(1),
            "die" => Step::Exit(rest.parse().ok()?),
            "crash" => Step::Crash,
            "flood" => Step::Flood(count()?),
            "flood-tools" => Step::FloodTools(count()?),
            "garbage" => Step::Garbage(count()?),
            "long-line" => Step::LongLine(usize::try_from(number(rest, MAX_LINE_BYTES)?).ok()?),
            "stderr" => Step::Stderr(count()?),
            "unknown-update" => Step::UnknownUpdate,
            "bad-response" => Step::BadResponse,
            "early-response" => Step::EarlyResponse,
            "fork" => Step::Fork,
            "list-tools" => Step::ListTools,
            "attack" => Step::Attack(PathBuf::from(text()?)),
            "mute-handover" => Step::MuteHandover,
            _ => return None,
        })
    }
}

fn split(text: &str) -> (&str, &str) {
    text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim_start()))
}

fn number(text: &str, max: u64) -> Option<u64> {
    text.parse().ok().filter(|number| *number <= max)
}

/// Replaces the escapes `\n`, `\t` and `\\`, and ends the text with a line break.
fn unescape(text: &str) -> String {
    let mut content = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.clone().next() } else { None }) {
            ('\\', Some('n')) => content.push('\n'),
            ('\\', Some('t')) => content.push('\t'),
            ('\\', Some('\\')) => content.push('\\'),
            (c, _) => {
                content.push(c);
                continue;
            }
        }
        chars.next();
    }
    if !content.ends_with('\n') {
        content.push('\n');
    }
    content
}

fn fill_in(arguments: &str, header: &Header) -> String {
    let shown = |number: Option<u64>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
    arguments
        .replace("$brief", &shown(header.brief))
        .replace("$dispatch", &shown(header.dispatch))
        .replace("$fence", &shown(header.fence))
        .replace("$agent", header.agent.as_deref().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Option<Line> {
        let header = Header { brief: Some(4), dispatch: Some(7), fence: Some(2), ..Header::default() };
        Line::parse(line, &header)
    }

    #[test]
    fn an_invalid_line_is_not_a_step() {
        for line in [
            "",
            "dance",
            "say",
            "die x",
            "usage 1",
            "usage 1 x",
            "sleep",
            "sleep -1",
            "repeat x say a",
            "repeat 3",
            "repeat 1001 repeat 1000 say a",
            "flood 1000001",
            "tool x {",
            "once",
        ] {
            assert_eq!(parsed(line), None, "{line}");
        }
    }

    #[test]
    fn steps_are_repeated_played_once_and_filled_in() {
        let line = parsed("once repeat 2 repeat 3 say a  b").expect("a step");
        assert_eq!(line, Line { step: Step::Say("a  b".to_owned()), times: 6, once: true });
        let tool = parsed("tool x {\"a\": $brief, \"b\": [$dispatch, $fence]}").expect("a step").step;
        assert_eq!(tool, Step::Tool { name: "x".to_owned(), arguments: json!({ "a": 4, "b": [7, 2] }) });
        let Step::Write { text, .. } = parsed("write f a\\nb\\\\n").expect("a step").step else { panic!("a write") };
        assert_eq!(text, "a\nb\\n\n");
    }

    #[test]
    fn the_last_word_of_a_permission_is_a_path_if_it_looks_like_one() {
        let path = |line: &str| match parsed(line).expect("a step").step {
            Step::Permission { title, path, .. } => (title, path),
            step => panic!("{step:?}"),
        };
        assert_eq!(path("permission execute cargo build"), ("cargo build".to_owned(), None));
        assert_eq!(path("permission edit Change it /etc/x"), ("Change it".to_owned(), Some("/etc/x".into())));
    }
}
