//! `flower.toml` of MAIN's branch. A file that is not committed has no effect.

mod approval;
mod checks;
mod forms;
mod worktree;

pub use self::checks::{CheckSettings, Checks};
pub use self::worktree::{Objects, WorktreeSettings};
use flower_contract::error::{Problem, ProblemKind};
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub project: ProjectSettings,
    pub worktree: WorktreeSettings,
    pub checks: Checks,
    pub land: LandSettings,
    pub agents: AgentSettings,
}

impl Settings {
    pub fn parse(text: &str) -> Result<Settings, Problem> {
        let settings: Settings = toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let at = line.map_or_else(String::new, |line| format!(" in line {line}"));
            Problem::new(
                ProblemKind::Refused,
                format!("flower.toml cannot be read: {}{at}", parse_error(error.message())),
                "correct it in a worktree and land that; docs/guide.md lists every key",
            )
        })?;
        match settings.worktree.contradiction() {
            Some(why) => Err(Problem::new(
                ProblemKind::Refused,
                format!("flower.toml cannot be used: {why}"),
                "correct it in a worktree and land that; docs/guide.md explains networks",
            )),
            None => Ok(settings),
        }
    }
}

/// The message of the parser; for an unknown name, with the nearest known one.
fn parse_error(message: &str) -> String {
    let Some(names) = message.strip_prefix("unknown field ") else { return message.replace('\n', ", ") };
    let mut names = names.split('`').skip(1).step_by(2);
    let unknown = names.next().unwrap_or_default();
    let known: Vec<&str> = names.collect();
    let distance = |name: &&str| strsim::osa_distance(name, &unknown.to_lowercase());
    match known.iter().min_by_key(|name| distance(name)) {
        Some(nearest) if distance(nearest) <= 1 + unknown.len() / 3 => {
            format!("`{unknown}` is not known; did you mean `{nearest}`?")
        }
        _ => format!("`{unknown}` is not known; known here: {}", known.join(", ")),
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectSettings {
    /// MAIN's branch, if it is neither `main` nor `master`.
    pub main: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LandSettings {
    /// Whether every landing needs the operator's approval, or only those that the gate holds.
    pub approve: Approve,
    /// How often failed checks run again before the landing is rejected.
    pub retries: u32,
    /// How many checks of one landing run at the same time.
    #[serde(deserialize_with = "forms::parallel")]
    pub parallel: usize,
    pub history: History,
    /// Push to MAIN's remote after every landing.
    pub push: bool,
    /// Whether handing work back queues it, or the operator does.
    pub queue: Queue,
}

impl Default for LandSettings {
    fn default() -> LandSettings {
        LandSettings {
            approve: Approve::Auto,
            retries: 1,
            parallel: 1,
            history: History::Merge,
            push: false,
            queue: Queue::Handback,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Approve {
    Operator,
    Auto,
}

/// How a landing appears in MAIN's history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum History {
    /// A merge commit for each landing.
    Merge,
    /// One commit for each landing.
    Squash,
    /// The commits themselves, on top of MAIN; each is checked.
    Rebase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    Handback,
    Operator,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentSettings {
    /// The profile of dispatches that name none.
    pub default: Option<String>,
    /// Agents that may run at the same time.
    pub max: u64,
    /// The part of its context after which an agent hands over to a fresh session.
    #[serde(deserialize_with = "forms::fraction")]
    pub refresh_at: f64,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings { default: None, max: 4, refresh_at: 0.8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_section_or_key_is_refused_and_the_nearest_one_named() {
        for (text, says) in [
            ("[cheks]\ntest = { run = \"x\" }", "`cheks` is not known; did you mean `checks`? in line 1"),
            ("[land]\npush = true\nhistroy = \"squash\"", "`histroy` is not known; did you mean `history`? in line 3"),
            ("[land]\naprove = \"operator\"", "did you mean `approve`?"),
            ("[worktree]\nnetwrok = \"closed\"", "did you mean `network`?"),
            ("[project]\nbranch = \"x\"", "`branch` is not known; known here: main"),
            ("[agents]\nmaxx = 2", "did you mean `max`?"),
            ("[checks]\nt = { run = \"x\", timout = \"1m\" }", "did you mean `timeout`?"),
            ("colour = 1", "`colour` is not known; known here: project, worktree, checks, land, agents"),
        ] {
            let message = Settings::parse(text).unwrap_err().message;
            assert!(message.contains(says), "{text}: {message}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for bad in [
            "[checks]\ntest = { run = \"\" }",
            "[checks]\ntest = { run = \"x\", timeout = \"soon\" }",
            "[checks]\ntest = { run = \"x\", timeout = \"0s\" }",
            "[checks]\ntest = { command = \"x\" }",
            "[checks]\n\"../x\" = { run = \"x\" }",
            "[land]\nhistory = \"tangled\"",
            "[worktree]\nnetwork = \"closed\"\nallow = [\"example.com\"]",
            "[worktree]\nallow = [\"http://example.com\"]",
            "[worktree]\nconnect = [0]",
        ] {
            assert!(Settings::parse(bad).unwrap_err().message.contains("flower.toml"), "{bad}");
        }
    }
}
