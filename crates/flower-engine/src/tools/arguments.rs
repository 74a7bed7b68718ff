//! The arguments of each tool. `mcp/tools.rs` describes them to agents.
//!
//! Models and their clients are not exact: numbers and booleans are taken as text too, one text as a list of one, and what a
//! tool does not know is ignored.

use flower_core::{BriefKind, Status};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A whole number, also as `7.0`, `"7"` or `"#7"`.
fn number_of(value: &Value) -> Result<u64, String> {
    let wrong = || format!("invalid value: {}, expected a whole number such as 7", shown(value));
    match value {
        Value::Number(number) => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && (0.0..9e15).contains(float));
            // The range above is exact in a float.
            number.as_u64().or(whole.map(|float| float as u64)).ok_or_else(wrong)
        }
        Value::String(text) => {
            let digits = text.trim().trim_start_matches('#');
            digits.strip_suffix(".0").unwrap_or(digits).parse().map_err(|_| wrong())
        }
        _ => Err(wrong()),
    }
}

/// A value in an error message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => format!("\"{}\"", flower_core::text::visible(text, 40)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    number_of(&Value::deserialize(from)?).map_err(D::Error::custom)
}

/// An empty text is no number: some clients send every argument.
fn maybe_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let value = Value::deserialize(from)?;
    let is_empty = value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty());
    if is_empty { Ok(None) } else { number_of(&value).map(Some).map_err(D::Error::custom) }
}

fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(from)?;
    let word = match &value {
        Value::Null => return Ok(false),
        Value::Bool(flag) => return Ok(*flag),
        Value::String(text) => text.trim().to_lowercase(),
        Value::Number(number) => number.to_string(),
        Value::Array(_) | Value::Object(_) => String::from("?"),
    };
    match word.as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" | "" => Ok(false),
        _ => Err(D::Error::custom(format!("invalid value: {}, expected true or false", shown(&value)))),
    }
}

/// The items of a list. Clients also send one item alone, or the whole list as JSON in a text.
fn items(value: Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Array(items)) => items,
            _ if text.trim().is_empty() => Vec::new(),
            _ => vec![Value::String(text)],
        },
        other => vec![other],
    }
}

fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let all = items(Value::deserialize(from)?).into_iter().map(|item| match item {
        Value::String(text) => Ok(text),
        other => Err(D::Error::custom(format!("invalid value: {}, expected a text", shown(&other)))),
    });
    all.collect()
}

fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    items(Value::deserialize(from)?).iter().map(|item| number_of(item).map_err(D::Error::custom)).collect()
}

#[derive(Deserialize)]
pub(super) struct StartWork {
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) dispatch: Option<u64>,
    /// The token of the packet.
    pub(super) token: Option<String>,
    #[serde(default, deserialize_with = "texts", alias = "patterns")]
    pub(super) paths: Vec<String>,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) budget: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct RecallBrief {
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) brief: Option<u64>,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) budget: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct ListBriefs {
    pub(super) status: Option<Status>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) ready: bool,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) limit: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Search {
    pub(super) text: String,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) limit: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct CreateBrief {
    pub(super) title: String,
    pub(super) kind: Option<BriefKind>,
    pub(super) spec: Option<String>,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) epic: Option<u64>,
    #[serde(default, deserialize_with = "numbers")]
    pub(super) needs: Vec<u64>,
}

#[derive(Deserialize)]
pub(super) struct ProposePlan {
    #[serde(deserialize_with = "number")]
    pub(super) brief: u64,
    #[serde(alias = "spec")]
    pub(super) markdown: String,
}

#[derive(Deserialize)]
pub(super) struct RefineSpec {
    #[serde(deserialize_with = "number")]
    pub(super) brief: u64,
    #[serde(alias = "spec")]
    pub(super) markdown: String,
    /// The version that the text was made from.
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) base: Option<u64>,
    pub(super) why: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum NoteKind {
    #[default]
    Note,
    Comment,
    Question,
    /// A question without whose answer the work cannot go on.
    Help,
}

#[derive(Deserialize)]
pub(super) struct AddNote {
    #[serde(deserialize_with = "number")]
    pub(super) brief: u64,
    pub(super) text: String,
    #[serde(default)]
    pub(super) kind: NoteKind,
    /// Base64, or a data URL.
    pub(super) image: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WriteScratchpad {
    /// Absent for a new scratchpad.
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) number: Option<u64>,
    pub(super) title: Option<String>,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) brief: Option<u64>,
    pub(super) text: String,
    #[serde(default, deserialize_with = "flag")]
    pub(super) append: bool,
    /// The version that the text was made from.
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) base: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct ReservePaths {
    #[serde(default, deserialize_with = "texts", alias = "paths")]
    pub(super) patterns: Vec<String>,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) minutes: Option<u64>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) release: bool,
}

#[derive(Deserialize)]
pub(super) struct CheckWork {
    /// One check; all by default.
    pub(super) check: Option<String>,
    #[serde(default, deserialize_with = "maybe_number")]
    pub(super) budget: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct CheckInbox {}

#[derive(Deserialize)]
pub(super) struct SendMessage {
    pub(super) to: String,
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct HandBack {
    #[serde(deserialize_with = "number")]
    pub(super) dispatch: u64,
    #[serde(deserialize_with = "number")]
    pub(super) fence: u64,
    pub(super) summary: String,
    pub(super) not_done: Option<String>,
    #[serde(default, deserialize_with = "flag")]
    pub(super) failed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_booleans_and_lists_are_taken_as_clients_send_them() {
        for (given, expected) in [
            (json!({ "brief": 7 }), Some(7)),
            (json!({ "brief": "7" }), Some(7)),
            (json!({ "brief": " #7 " }), Some(7)),
            (json!({ "brief": 7.0 }), Some(7)),
            (json!({ "brief": "7.0" }), Some(7)),
            (json!({ "brief": "" }), None),
            (json!({ "brief": null }), None),
            (json!({}), None),
        ] {
            let read: RecallBrief = serde_json::from_value(given.clone()).unwrap();
            assert_eq!(read.brief, expected, "{given}");
        }
        for (given, expected) in [
            (json!(["a", "b"]), vec!["a", "b"]),
            (json!("a"), vec!["a"]),
            (json!(r#"["a","b"]"#), vec!["a", "b"]),
            (json!(""), vec![]),
            (json!(null), vec![]),
        ] {
            let read: ReservePaths = serde_json::from_value(json!({ "patterns": given })).unwrap();
            assert_eq!(read.patterns, expected, "{given}");
        }
        let needs: CreateBrief = serde_json::from_value(json!({ "title": "x", "needs": ["#3", 4] })).unwrap();
        assert_eq!(needs.needs, [3, 4]);
        for (given, expected) in
            [(json!(true), true), (json!("True"), true), (json!("false"), false), (json!(null), false)]
        {
            let read: ReservePaths = serde_json::from_value(json!({ "release": given })).unwrap();
            assert_eq!(read.release, expected, "{given}");
        }
    }

    #[test]
    fn what_is_no_number_or_boolean_is_refused() {
        for given in [json!("seven"), json!(-1), json!(1.5), json!("1.5"), json!([7]), json!(true), json!(1e300)] {
            let read = serde_json::from_value::<RecallBrief>(json!({ "brief": given }));
            assert!(read.err().is_some_and(|error| error.to_string().contains("expected a whole number")), "{given}");
        }
        assert!(serde_json::from_value::<ReservePaths>(json!({ "release": "maybe" })).is_err());
        assert!(serde_json::from_value::<ReservePaths>(json!({ "patterns": [7] })).is_err());
    }
}
