//! `flower.toml` of MAIN's branch. A file that is not committed has no effect.

use flower_contract::error::{Problem, ProblemKind};
use flower_core::chain::sha256;
use flower_jail::Network;
use serde::Deserialize;
use std::time::Duration;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub project: ProjectSettings,
    pub worktree: WorktreeSettings,
    pub checks: Checks,
    pub land: LandSettings,
    pub agents: AgentSettings,
}

/// The checks, in the order of the file, in which they also run.
#[derive(Clone, Debug, Default)]
pub struct Checks(pub Vec<(String, CheckSettings)>);

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    pub run: String,
    /// Such as `10m`.
    #[serde(default = "ten_minutes", deserialize_with = "duration")]
    pub timeout: Duration,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LandSettings {
    /// Whether every landing needs the operator's approval, or only those that the gate holds.
    pub approve: Approve,
    /// How often failed checks run again before the landing is rejected.
    pub retries: u32,
    pub history: History,
    /// Push to MAIN's remote after every landing.
    pub push: bool,
    /// Whether handing work back queues it, or the operator does.
    pub queue: Queue,
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
    #[serde(deserialize_with = "fraction")]
    pub refresh_at: f64,
}

impl Default for AgentSettings {
    fn default() -> AgentSettings {
        AgentSettings { default: None, max: 4, refresh_at: 0.8 }
    }
}

fn fraction<'de, D: serde::Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
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

fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}

/// A number and `s`, `m` or `h`.
fn duration<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(from)?;
    flower_core::boot_time::seconds(&text).map(Duration::from_secs).ok_or_else(|| {
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
#[serde(default, deny_unknown_fields)]
pub struct ProjectSettings {
    /// MAIN's branch, if it is neither `main` nor `master`.
    pub main: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorktreeSettings {
    /// Files and folders of MAIN that every worktree sees, read-only.
    pub playbooks: Vec<String>,
    /// Commands that make a new worktree ready, run inside its jail.
    pub setup: Vec<String>,
    /// Ignored folders of MAIN that a new worktree gets a copy of.
    pub carry: Vec<String>,
    /// The network of programs inside; the web by default.
    pub network: Option<Network>,
    /// Further ports that programs inside may connect to.
    pub connect: Vec<u16>,
    /// Further paths that programs inside may read.
    pub read: Vec<std::path::PathBuf>,
    /// Which objects of MAIN's repository programs inside may read.
    pub objects: Objects,
    /// Whether the repository's own hooks run on commits inside.
    pub hooks: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objects {
    /// Those reachable from MAIN's recorded tip, its tags and its remote-tracking branches, from a copy of them.
    #[default]
    Reachable,
    /// All of them, from MAIN's repository itself: for one that is too large to be copied.
    All,
}

impl Settings {
    pub fn parse(text: &str) -> Result<Settings, Problem> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map(|span| 1 + text[..span.start.min(text.len())].matches('\n').count());
            let at = line.map_or_else(String::new, |line| format!(" in line {line}"));
            Problem::new(
                ProblemKind::Refused,
                format!("flower.toml cannot be read: {}{at}", parse_error(error.message())),
                "correct it in a worktree and land that; docs/guide.md lists every key",
            )
        })
    }

    /// Checks of `before` that these settings remove or change, as they were.
    pub fn dropped_checks(&self, before: &Settings) -> Vec<(String, CheckSettings)> {
        let differs = |(name, check): &&(String, CheckSettings)| self.check(name) != Some(check);
        before.checks.0.iter().filter(differs).cloned().collect()
    }

    /// Describes how checks and approval differ from `before`.
    pub fn differences(&self, before: &Settings) -> Vec<String> {
        let mut words = Vec::new();
        for (name, check) in &before.checks.0 {
            match self.check(name) {
                None => words.push(format!("it removes the check `{name}` (`{}`)", check.run)),
                Some(now) if now.run != check.run => {
                    words.push(format!("it changes the check `{name}` from `{}` to `{}`", check.run, now.run));
                }
                Some(now) if now != check => {
                    let (from, to) = (check.timeout.as_secs(), now.timeout.as_secs());
                    words.push(format!("it changes the time limit of the check `{name}` from {from} s to {to} s"));
                }
                Some(_) => {}
            }
        }
        let added = self.checks.0.iter().filter(|(name, _)| before.check(name).is_none());
        words.extend(added.map(|(name, check)| format!("it adds the check `{name}` (`{}`)", check.run)));
        if before.land.approve == Approve::Operator && self.land.approve == Approve::Auto {
            words.push("it lets landings in without the operator (`[land] approve`)".to_owned());
        }
        words
    }

    fn check(&self, name: &str) -> Option<&CheckSettings> {
        self.checks.0.iter().find(|(known, _)| known == name).map(|(_, check)| check)
    }

    /// Everything that needs approval: commands, and what opens a jail further than by default.
    pub fn commands(&self) -> Vec<String> {
        let checks = self.checks.0.iter().map(|(name, check)| format!("check {name}: {}", check.run));
        self.worktree.setup.iter().cloned().chain(checks).chain(self.openings()).collect()
    }

    /// Describes what a jail shows and reaches beyond the default.
    pub fn openings(&self) -> Vec<String> {
        let network = (self.worktree.network == Some(Network::Open)).then(|| "(reach any network)".to_owned());
        let ports = self.worktree.connect.iter().map(|port| format!("(connect to port {port})"));
        let places = self.worktree.read.iter().map(|path| format!("(read {})", path.display()));
        let objects =
            (self.worktree.objects == Objects::All).then(|| "(read all objects of MAIN's repository)".to_owned());
        network.into_iter().chain(ports).chain(places).chain(objects).collect()
    }

    /// The digest that an approval refers to: it ends when a command changes.
    pub fn commands_sha256(&self) -> String {
        sha256(serde_json::to_string(&self.commands()).expect("plain data").as_bytes())
    }
}

/// The message of the parser; for an unknown name, with the nearest known one.
fn parse_error(message: &str) -> String {
    let Some(names) = message.strip_prefix("unknown field ") else { return message.replace('\n', "; ") };
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
    fn differences_name_each_check() {
        let before =
            "[checks]\na = { run = \"x\" }\nb = { run = \"y\" }\nc = { run = \"z\" }\n[land]\napprove = \"operator\"";
        let after = "[checks]\nb = { run = \"true\" }\nc = { run = \"z\", timeout = \"1s\" }\nd = { run = \"w\" }";
        let (before, after) = (Settings::parse(before).unwrap(), Settings::parse(after).unwrap());
        assert_eq!(
            after.differences(&before),
            [
                "it removes the check `a` (`x`)",
                "it changes the check `b` from `y` to `true`",
                "it changes the time limit of the check `c` from 600 s to 1 s",
                "it adds the check `d` (`w`)",
                "it lets landings in without the operator (`[land] approve`)",
            ]
        );
        let dropped: Vec<String> = after.dropped_checks(&before).into_iter().map(|(name, _)| name).collect();
        assert_eq!(dropped, ["a", "b", "c"]);
        assert!(before.differences(&before).is_empty() && before.dropped_checks(&before).is_empty());
    }

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
