//! `flower.toml`, as MAIN's branch has it. What lies uncommitted in a directory counts for nothing.

use crate::error::{Problem, ProblemKind};
use crate::jail::Network;
use flower_core::chain::sha256;
use serde::Deserialize;
use std::time::Duration;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Settings {
    pub project: ProjectSettings,
    pub worktree: WorktreeSettings,
    pub checks: Checks,
    pub land: LandSettings,
    pub agents: AgentSettings,
}

/// In the order in which the file has them, which is the one in which they run.
#[derive(Clone, Debug, Default)]
pub struct Checks(pub Vec<(String, CheckSettings)>);

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    pub run: String,
    /// Such as `10m`.
    #[serde(default = "ten_minutes", deserialize_with = "duration")]
    pub timeout: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct LandSettings {
    /// Whether every landing waits for the operator, or only those that change something delicate.
    pub approve: Approve,
    /// How often a red run is tried again before it is a verdict.
    pub retries: u32,
    pub history: History,
    /// Push to MAIN's remote after every landing.
    pub push: bool,
    /// What puts finished work into the queue: handing it back, or the operator.
    pub queue: Queue,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    Handback,
    Operator,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct AgentSettings {
    /// The profile that serves what names none.
    pub default: Option<String>,
    /// How many may run at once.
    pub max: u64,
    /// The part of its context past which an agent hands over to a fresh one.
    #[serde(deserialize_with = "part")]
    pub refresh_at: f64,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings { default: None, max: 4, refresh_at: 0.8 }
    }
}

fn part<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let part = f64::deserialize(from)?;
    match part > 0.0 && part <= 1.0 {
        true => Ok(part),
        false => Err(serde::de::Error::custom(format!("`{part}` is no part such as `0.8`: above 0, up to 1"))),
    }
}

impl Default for LandSettings {
    fn default() -> LandSettings {
        LandSettings {
            approve: Approve::Auto,
            retries: 1,
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

/// What MAIN's history is made of.
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

fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}

/// A number and `s`, `m` or `h`.
fn duration<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    flower_core::moment::seconds(&text).map(Duration::from_secs).ok_or_else(|| {
        serde::de::Error::custom(format!("`{text}` is no time such as `90s`, `10m` or `1h`, up to a day"))
    })
}

impl<'de> Deserialize<'de> for Checks {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Checks, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Checks;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("checks such as `test = { run = \"make test\" }`")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Checks, A::Error> {
                let mut checks = Vec::new();
                while let Some((name, check)) = map.next_entry::<String, CheckSettings>()? {
                    let named = flower_core::text::name("check", &name);
                    let name = named.map_err(|refusal| serde::de::Error::custom(refusal.to_string()))?;
                    if check.run.trim().is_empty() {
                        return Err(serde::de::Error::custom(format!("the check `{name}` has nothing to run")));
                    }
                    checks.push((name, check));
                }
                Ok(Checks(checks))
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProjectSettings {
    /// MAIN's branch, where it is neither `main` nor `master`.
    pub main: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorktreeSettings {
    /// Files and folders of MAIN that every worktree sees, read-only.
    pub playbooks: Vec<String>,
    /// Commands that make a new worktree ready, run inside its jail.
    pub setup: Vec<String>,
    /// Ignored folders of MAIN that a new worktree gets a copy of.
    pub carry: Vec<String>,
    /// What runs inside may reach the web unless said otherwise.
    pub network: Option<Network>,
    /// Further ports that what runs inside may connect to.
    pub connect: Vec<u16>,
    /// Further places that what runs inside may read.
    pub read: Vec<std::path::PathBuf>,
}

impl Settings {
    pub fn parse(text: &str) -> Result<Settings, Problem> {
        toml::from_str(text).map_err(|error| {
            Problem::new(
                ProblemKind::Refused,
                format!("flower.toml cannot be read: {}", error.to_string().trim_end().replace('\n', "; ")),
                "mend it on MAIN's branch and try again",
            )
        })
    }

    /// Every command that the file brings along, and everything by which it opens a jail further than usual.
    pub fn commands(&self) -> Vec<String> {
        let checks = self.checks.0.iter().map(|(name, check)| format!("check {name}: {}", check.run));
        self.worktree.setup.iter().cloned().chain(checks).chain(self.openings()).collect()
    }

    /// What a sealed worktree shows and reaches beyond the usual, in words.
    pub fn openings(&self) -> Vec<String> {
        let network = (self.worktree.network == Some(Network::Open)).then(|| "(reach any network)".to_owned());
        let ports = self.worktree.connect.iter().map(|port| format!("(connect to port {port})"));
        let places = self.worktree.read.iter().map(|path| format!("(read {})", path.display()));
        network.into_iter().chain(ports).chain(places).collect()
    }

    /// What an approval is bound to: it ends when a command changes.
    pub fn commands_sha256(&self) -> String {
        sha256(serde_json::to_string(&self.commands()).expect("plain data").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_run_in_the_order_of_the_file() {
        let text = "[checks]\ntest = { run = \"make test\", timeout = \"90s\" }\nbuild = { run = \"make\" }\na = { run = \"true\" }\n";
        let checks = Settings::parse(text).unwrap().checks.0;
        let names: Vec<&str> = checks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["test", "build", "a"]);
        assert_eq!((checks[0].1.timeout, checks[1].1.timeout), (Duration::from_secs(90), Duration::from_secs(600)));
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
        ] {
            assert!(Settings::parse(bad).unwrap_err().message.contains("flower.toml"), "{bad}");
        }
    }
}
