//! How agents say that their model does not answer for now: a rate limit, a used-up quota, or an outage.
//!
//! The signs are data of a profile. An error that no sign fits stays what it is: the death of a process, or an unknown turn.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// How deep the data of an error is searched.
const MAX_DEPTH: usize = 4;
/// A last message that is longer is no error of the model.
const MAX_MESSAGE_BYTES: usize = 2_000;
/// A time that is told beyond this is not believed.
const MAX_TOLD: SignedDuration = SignedDuration::from_hours(8 * 24);
/// Added to a told time, because clocks differ.
const MARGIN: SignedDuration = SignedDuration::from_secs(2);
/// Waits without a told time: the first, and the longest. Each is twice as long as the one before.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(30);
const MAX_WAIT: SignedDuration = SignedDuration::from_mins(15);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageKind {
    /// A rate limit, or a quota that is used up.
    Limit,
    /// The model or its service does not work.
    Outage,
}

impl fmt::Display for OutageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OutageKind::Limit => "the model's limit is reached",
            OutageKind::Outage => "the model does not answer",
        })
    }
}

/// One sign. All fields that it has must fit.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageSign {
    pub kind: OutageKind,
    /// The code of an ACP error.
    pub code: Option<i64>,
    /// Names and values in the data of an ACP error, at any depth.
    #[serde(default)]
    pub data: BTreeMap<String, String>,
    /// Words of an ACP error, the beginning of the last message of a turn, or words of the last output of a terminal. Upper and
    /// lower case are the same.
    pub text: Option<String>,
}

impl OutageSign {
    pub(super) fn is_empty(&self) -> bool {
        let without_text = self.text.as_deref().is_none_or(|text| text.trim().len() < 4);
        self.code.is_none() && self.data.is_empty() && without_text
    }
}

/// Where the agent has said it.
#[derive(Clone, Copy, Debug)]
pub enum Said<'a> {
    /// The error of a request.
    Error { code: i64, message: &'a str, data: &'a Value },
    /// The last message of a turn that ended without an error.
    Message(&'a str),
    /// The last output of a program that ended with an error.
    Output(&'a str),
}

/// The model does not answer for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outage {
    pub kind: OutageKind,
    /// The agent's own words.
    pub words: String,
    /// When it answers again, if the agent says so.
    pub told: Option<Timestamp>,
}

impl Outage {
    /// When the model is tried again, after this many waits in a row.
    pub fn until(&self, waits: u32, now: Timestamp) -> Timestamp {
        let own = FIRST_WAIT.saturating_mul(1 << waits.min(16)).min(MAX_WAIT);
        let wait = match self.told {
            // The told time has passed, and the model still does not answer.
            Some(told) if waits > 0 && told <= now => own,
            Some(told) => told.duration_since(now).max(SignedDuration::ZERO) + MARGIN,
            None => own,
        };
        now.saturating_add(wait).unwrap_or(now)
    }
}

/// The outage of which these signs say that it is one.
pub fn recognize(signs: &[OutageSign], said: Said<'_>, now: &Zoned) -> Option<Outage> {
    let sign = signs.iter().find(|sign| fits(sign, said))?;
    let (words, data) = match said {
        Said::Error { message, data, .. } => (message, Some(data)),
        Said::Message(text) => (text, None),
        Said::Output(text) => {
            let part = sign.text.as_deref().unwrap_or_default().to_lowercase();
            let line = text.lines().rev().find(|line| line.to_lowercase().contains(&part));
            (line.unwrap_or_default(), None)
        }
    };
    let told = data.and_then(|data| time_in_data(data, now, MAX_DEPTH)).or_else(|| time_in_text(words, now));
    let told = told.filter(|told| told.duration_since(now.timestamp()) < MAX_TOLD);
    let words = words.trim().lines().next().unwrap_or_default();
    Some(Outage { kind: sign.kind, words: flower_core::text::cut(words, 300), told })
}

fn fits(sign: &OutageSign, said: Said<'_>) -> bool {
    let (code, data, text) = match said {
        Said::Error { code, message, data } => (Some(code), data, message),
        Said::Message(text) if text.len() > MAX_MESSAGE_BYTES => return false,
        Said::Message(text) | Said::Output(text) => (None, &Value::Null, text),
    };
    let text_fits = |part: &str| {
        let (text, part) = (text.trim().to_lowercase(), part.to_lowercase());
        if matches!(said, Said::Message(_)) { text.starts_with(&part) } else { text.contains(&part) }
    };
    sign.code.is_none_or(|wanted| code == Some(wanted))
        && sign.data.iter().all(|(name, wanted)| has(data, name, wanted, MAX_DEPTH))
        && sign.text.as_deref().is_none_or(text_fits)
}

fn has(data: &Value, name: &str, wanted: &str, depth: usize) -> bool {
    let Value::Object(fields) = data else { return false };
    fields.iter().any(|(key, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let is_it = key == name && text == wanted;
        is_it || (depth > 0 && has(value, name, wanted, depth - 1))
    })
}

/// `retry-after` of HTTP, `retryDelay` of Google, `resets_at` of OpenAI.
fn time_in_data(data: &Value, now: &Zoned, depth: usize) -> Option<Timestamp> {
    let Value::Object(fields) = data else { return None };
    fields.iter().find_map(|(key, value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let seconds = |scale: f64| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0).map(|n| n * scale);
        let after = |seconds: Option<f64>| add(now, seconds?);
        let key = key.to_lowercase().replace(['_', '-'], "");
        let found = match key.as_str() {
            "retryafterms" => after(seconds(0.001)),
            "retryafter" => after(seconds(1.0).or_else(|| duration(&words(&text)))),
            "retrydelay" => after(duration(&words(&text)).or_else(|| seconds(1.0))),
            "resetsat" => value.as_i64().and_then(|at| Timestamp::from_second(at).ok()),
            _ => None,
        };
        found.or_else(|| if depth > 0 { time_in_data(value, now, depth - 1) } else { None })
    })
}

/// "try again in 3 days 6 hours", "Please retry in 12.5s", "resets 7pm (Europe/Berlin)", "try again at Aug 8th, 2026 12:30 PM".
fn time_in_text(text: &str, now: &Zoned) -> Option<Timestamp> {
    let words = words(text);
    (0..words.len()).find_map(|at| {
        let rest = &words[at + 1..];
        match words[at].as_str() {
            "in" | "after" if at > 0 && matches!(words[at - 1].as_str(), "again" | "retry" | "resets" | "reset") => {
                add(now, duration(rest)?)
            }
            "at" if at > 0 && matches!(words[at - 1].as_str(), "again" | "resets" | "reset") => clock(rest, now),
            "resets" => clock(rest, now),
            _ => None,
        }
    })
}

fn add(now: &Zoned, seconds: f64) -> Option<Timestamp> {
    now.timestamp().checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
}

/// In lower case, without punctuation at their ends.
fn words(text: &str) -> Vec<String> {
    let cut = |word: &str| word.trim_matches(|c: char| ",.;()∙·\"'`".contains(c)).to_lowercase();
    text.split_whitespace().map(cut).filter(|word| !word.is_empty()).take(400).collect()
}

/// The seconds of a duration at the beginning, such as `3 days 6 hours` or `1h20m`.
fn duration(words: &[String]) -> Option<f64> {
    let mut total = None;
    let mut number: Option<f64> = None;
    for word in words.iter().take(8) {
        let mut rest = word.as_str();
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
            let unit_end = rest[digits..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| digits + at);
            if digits > 0 {
                number = rest[..digits].parse().ok();
            }
            let unit = &rest[digits..unit_end];
            if !unit.is_empty() {
                let (Some(scale), Some(count)) = (unit_seconds(unit), number.take()) else { return total };
                total = Some(total.unwrap_or(0.0) + count * scale);
            }
            rest = &rest[unit_end..];
        }
    }
    total
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "ms" | "milliseconds" => 0.001,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600.0,
        "d" | "day" | "days" => 86_400.0,
        _ => return None,
    })
}

/// The next moment with this time of day, or the moment of a date with one.
fn clock(words: &[String], now: &Zoned) -> Option<Timestamp> {
    let mut at = 0;
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let month = months.iter().position(|month| word(at).starts_with(month)).and_then(|month| i8::try_from(month).ok());
    let mut date = None;
    if let Some(month) = month {
        let day: i8 = word(at + 1).trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
        at += 2;
        let year = word(at).parse::<i16>().ok().filter(|year| *year >= 2_000);
        at += usize::from(year.is_some());
        date = Some(Date::new(year.unwrap_or(now.year()), month + 1, day).ok()?);
    }
    at += usize::from(word(at) == "at");
    let (time, used) = time_of_day(word(at), word(at + 1))?;
    at += used;
    let named = words.get(at).filter(|name| name.contains('/') || *name == "utc");
    // Names of zones are written in upper and lower case, and found in any.
    let zone = named.and_then(|name| TimeZone::get(name).ok()).unwrap_or_else(|| now.time_zone().clone());
    let here = now.with_time_zone(zone.clone());
    let moment = |date: Date| DateTime::from_parts(date, time).to_zoned(zone.clone()).ok().map(|at| at.timestamp());
    match date {
        Some(date) => moment(date),
        None => {
            let today = moment(here.date())?;
            if today > now.timestamp() { Some(today) } else { moment(here.date().tomorrow().ok()?) }
        }
    }
}

/// `3:28 pm`, `7pm` or `15:28`, and the number of words that it takes.
fn time_of_day(first: &str, second: &str) -> Option<(Time, usize)> {
    let digits = first.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let half = &first[digits.len()..];
    let (half, used) = match (half, second) {
        ("", "am" | "pm") => (second, 2),
        ("" | "am" | "pm", _) => (half, 1),
        _ => return None,
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "0"));
    if half.is_empty() && !digits.contains(':') {
        return None;
    }
    let (hour, minute): (i8, i8) = (hour.parse().ok()?, minute.get(..2).unwrap_or(minute).parse().ok()?);
    let hour = match half {
        "pm" if hour < 12 => hour + 12,
        "am" if hour == 12 => 0,
        _ => hour,
    };
    Some((Time::new(hour, minute, 0, 0).ok()?, used))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::config::Config;
    use serde_json::json;

    fn now() -> Zoned {
        "2026-11-18T14:00:00[UTC]".parse().unwrap()
    }

    fn signs(profile: &str) -> Vec<OutageSign> {
        Config::parse("").unwrap().profile(profile).unwrap().outages.clone()
    }

    fn error(profile: &str, code: i64, message: &str, data: &Value) -> Option<Outage> {
        recognize(&signs(profile), Said::Error { code, message, data }, &now())
    }

    fn message(profile: &str, text: &str) -> Option<Outage> {
        recognize(&signs(profile), Said::Message(text), &now())
    }

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().unwrap())
    }

    /// `errorKind` is the SDK's `SDKAssistantMessageError`, which claude-agent-acp 0.99.1 passes on; the texts are those of Claude
    /// Code 2.1.
    #[test]
    fn claude_code_says_it_in_the_data_of_the_error() {
        use OutageKind::{Limit, Outage as Broken};
        for (kind, text, expected, told) in [
            ("rate_limit", "You've hit your session limit · resets 7pm (UTC)", Limit, at("2026-11-18T19:00:00Z")),
            ("rate_limit", "5-hour limit reached ∙ resets 5am", Limit, at("2026-11-19T05:00:00Z")),
            ("rate_limit", "API Error: Request rejected (429)", Limit, None),
            ("overloaded", "API Error: Repeated 529 Overloaded errors. The API is at capacity", Broken, None),
            ("server_error", "API Error: 500 Internal server error", Broken, None),
        ] {
            let text = format!("Internal error: {text}");
            let found = error("claude", -32603, &text, &json!({ "errorKind": kind })).expect(&text);
            assert_eq!((found.kind, found.told), (expected, told), "{text}");
        }
        for (kind, text) in [
            ("authentication_failed", "Invalid API key · Fix external API key"),
            ("invalid_request", "Prompt is too long"),
            ("model_not_found", "There's an issue with the selected model"),
            ("unknown", "The Claude Agent process exited unexpectedly. Please start a new session."),
        ] {
            assert_eq!(error("claude", -32603, text, &json!({ "errorKind": kind })), None, "{text}");
        }
        // The synthetic message, also where the adapter sends no data.
        assert_eq!(
            message("claude", "You've hit your weekly limit · resets Nov 20, 9am").unwrap().told,
            at("2026-11-20T09:00:00Z")
        );
        assert!(error("claude", -32603, "API Error: Repeated 529 Overloaded errors", &Value::Null).is_some());
        assert_eq!(message("claude", "I fixed the API Error: 500 case; tests pass."), None);
    }

    /// codex-acp 2.6.0 refuses a prompt for `usageLimitExceeded` only; other errors of Codex are the last message of the turn, in
    /// the words of codex-rs.
    #[test]
    fn codex_says_it_in_the_error_or_as_its_last_message() {
        let data = json!({ "message": "x", "codexErrorInfo": "usageLimitExceeded" });
        let text = "You've hit your usage limit. Visit https://chatgpt.com/codex/settings/usage to purchase more credits or try \
                    again at 3:28 PM.";
        let found = error("codex", -32603, text, &data).unwrap();
        assert_eq!((found.kind, found.told), (OutageKind::Limit, at("2026-11-18T15:28:00Z")));
        for (text, kind, told) in [
            (
                "You've hit your usage limit. To get more access now, send a request to your admin or try again in 3 days 6 \
                 hours 57 minutes.",
                OutageKind::Limit,
                at("2026-11-21T20:57:00Z"),
            ),
            (
                "You've hit your usage limit. Try again at Nov 20th, 2026 12:30 PM.",
                OutageKind::Limit,
                at("2026-11-20T12:30:00Z"),
            ),
            ("exceeded retry limit, last status: 429 Too Many Requests, request id: abc123", OutageKind::Limit, None),
            ("exceeded retry limit, last status: 503 Service Unavailable", OutageKind::Outage, None),
            ("Selected model is at capacity. Please try a different model.\n\n", OutageKind::Outage, None),
            ("We're currently experiencing high demand, which may cause temporary errors.", OutageKind::Outage, None),
            ("stream disconnected before completion: error sending request", OutageKind::Outage, None),
        ] {
            let found = message("codex", text).expect(text);
            assert_eq!((found.kind, found.told), (kind, told), "{text}");
        }
        for text in [
            "shared rollout token budget exhausted",
            "exceeded retry limit, last status: 401 Unauthorized",
            "Quota exceeded. Check your plan and billing details.",
            "The page now says what to do when \"You've hit your usage limit\" appears.",
        ] {
            assert_eq!(message("codex", text), None, "{text}");
        }
    }

    /// opencode retries most of these itself. What it gives up on is a `ServiceFailureError` with the words of the provider.
    #[test]
    fn opencode_says_it_in_the_words_of_the_provider() {
        let api = json!({ "service": "session", "errorName": "APIError" });
        let groq = "Rate limit reached for model gemma2-9b-it: Limit 15000, Used 11972. Please try again in 5.289s.";
        let found = error("opencode", -32603, groq, &api).unwrap();
        assert_eq!((found.kind, found.told), (OutageKind::Limit, at("2026-11-18T14:00:05.289Z")));
        for (text, kind) in [
            ("Too Many Requests", OutageKind::Limit),
            ("Free usage exceeded, add credits https://opencode.ai/zen", OutageKind::Limit),
            ("Provider is overloaded", OutageKind::Outage),
            ("Overloaded", OutageKind::Outage),
        ] {
            assert_eq!(error("opencode", -32603, text, &api).expect(text).kind, kind);
        }
        let status = json!({ "errorName": "APIError", "statusCode": 429, "responseHeaders": { "retry-after": "90" } });
        assert_eq!(error("opencode", -32603, "slow down", &status).unwrap().told, at("2026-11-18T14:01:30Z"));
        for (text, data) in [
            ("OpenCode service failure", &json!({ "service": "session" })),
            ("model not found: a/b", &json!({ "modelId": "b" })),
            ("prompt is too long", &json!({ "errorName": "ContextOverflowError" })),
        ] {
            assert_eq!(error("opencode", -32603, text, data), None, "{text}");
        }
    }

    /// gemini 0.61.0 uses the HTTP status as the code of the ACP error.
    #[test]
    fn gemini_says_it_in_the_code_of_the_error() {
        for (code, text, kind, told) in [
            (429, "Rate limit exceeded. Try again later.", OutageKind::Limit, None),
            (429, "You have exhausted your daily quota on this model.", OutageKind::Limit, None),
            (
                429,
                "You exceeded your current quota. Please retry in 12.5s\nSuggested retry after 12s.",
                OutageKind::Limit,
                at("2026-11-18T14:00:12.5Z"),
            ),
            (503, "The model is overloaded. Please try again later.", OutageKind::Outage, None),
            (
                500,
                "An internal error has occurred. Please retry or report in Troubleshooting",
                OutageKind::Outage,
                None,
            ),
        ] {
            let found = error("gemini", code, text, &Value::Null).expect(text);
            assert_eq!((found.kind, found.told), (kind, told), "{text}");
        }
        for (code, text) in [
            (500, "Unknown stream execution error."),
            (400, "API key not valid. Please pass a valid API key."),
            (-32603, "Session not found: abc"),
        ] {
            assert_eq!(error("gemini", code, text, &Value::Null), None, "{text}");
        }
    }

    #[test]
    fn a_program_in_a_terminal_says_it_in_its_last_output() {
        let sign = OutageSign {
            kind: OutageKind::Limit,
            code: None,
            data: BTreeMap::new(),
            text: Some("RateLimitError".to_owned()),
        };
        let output = "Working\nlitellm.RateLimitError: slow down, try again in 20s\nGiving up.\n";
        let found = recognize(&[sign], Said::Output(output), &now()).unwrap();
        assert_eq!(
            (found.words.as_str(), found.told),
            ("litellm.RateLimitError: slow down, try again in 20s", at("2026-11-18T14:00:20Z"))
        );
    }

    #[test]
    fn waits_grow_unless_a_time_is_told() {
        let now = now().timestamp();
        let outage = |told| Outage { kind: OutageKind::Limit, words: String::new(), told };
        let waits =
            |outage: &Outage| [0, 1, 2, 9, 40].map(|waits| outage.until(waits, now).duration_since(now).as_secs());
        assert_eq!(waits(&outage(None)), [30, 60, 120, 900, 900]);
        assert_eq!(waits(&outage(at("2026-11-18T14:10:00Z"))), [602; 5]);
        assert_eq!(waits(&outage(at("2026-11-18T13:00:00Z"))), [2, 60, 120, 900, 900]);
    }

    #[test]
    fn an_unreadable_time_is_none() {
        for text in [
            "resets",
            "resets soon",
            "try again in a while",
            "try again at noon",
            "resets 25:99",
            "try again in 9e99 s",
        ] {
            assert_eq!(time_in_text(text, &now()), None, "{text}");
        }
        assert_eq!(duration(&words("1h20m")), Some(4_800.0));
        assert_eq!(duration(&words("3 days 6 hours and then")), Some(280_800.0));
    }
}
