//! `[checks]`: what runs on the merged tree before MAIN moves.

use super::Settings;
use super::forms::{Expected, Form, List, duration, network, patterns};
use flower_contract::view::NetworkMode;
use flower_core::pattern::Pattern;
use serde::Deserialize;
use std::time::Duration;

/// What runs on the merged tree before MAIN moves.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Commands that make a candidate ready for the checks, with the network of worktrees.
    pub prepare: Vec<String>,
    /// The network of checks that name none; closed by default.
    pub network: Option<NetworkMode>,
    /// The checks, in the order of the file, in which they also start.
    pub list: Vec<(String, CheckSettings)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    pub run: String,
    /// Such as `10m`.
    #[serde(default = "ten_minutes", deserialize_with = "duration")]
    pub timeout: Duration,
    /// The check runs only if the merge changes one of these in MAIN. Empty: it always runs.
    #[serde(default, deserialize_with = "patterns")]
    pub paths: Vec<Pattern>,
    /// Overrides the network of all checks.
    #[serde(default, deserialize_with = "network")]
    pub network: Option<NetworkMode>,
    /// Whether a green result counts again for the same tree. Must be false for a check that reads git's history, the time, or
    /// anything else that is not in the tree.
    #[serde(default = "yes")]
    pub reuse: bool,
}

impl CheckSettings {
    /// A check with nothing but a command.
    pub fn new(run: impl Into<String>) -> CheckSettings {
        CheckSettings { run: run.into(), timeout: ten_minutes(), paths: Vec::new(), network: None, reuse: true }
    }
}

fn yes() -> bool {
    true
}

fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}

impl Settings {
    /// The network in which a check runs.
    pub fn check_network(&self, check: &CheckSettings) -> NetworkMode {
        check.network.or(self.checks.network).unwrap_or(NetworkMode::Closed)
    }
}

impl Form for CheckSettings {
    const TABLE: bool = true;
}

/// The commands of `[checks] prepare`; more belong into a script.
const MAX_PREPARE: usize = 20;

impl<'de> Deserialize<'de> for Checks {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Checks, D::Error> {
        struct InOrder;
        impl<'de> serde::de::Visitor<'de> for InOrder {
            type Value = Checks;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("checks such as `test = { run = \"make test\" }`")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Checks, A::Error> {
                let error = |text: String| <A::Error as serde::de::Error>::custom(text);
                let mut checks = Checks::default();
                while let Some(name) = map.next_key::<String>()? {
                    match name.as_str() {
                        "prepare" => {
                            let form = "a list of commands such as `[\"uv sync --frozen\"]` (a check needs another name than `prepare`)";
                            let List(commands) = map.next_value_seed(Expected::<List>::new(form))?;
                            if commands.len() > MAX_PREPARE || commands.iter().any(|command| command.trim().is_empty())
                            {
                                return Err(error(format!(
                                    "`prepare` has an empty command, or more than {MAX_PREPARE}"
                                )));
                            }
                            checks.prepare = commands;
                        }
                        "network" => {
                            let form =
                                "`\"closed\"`, `\"web\"` or `\"open\"` (a check needs another name than `network`)";
                            checks.network = Some(map.next_value_seed(Expected::<NetworkMode>::new(form))?);
                        }
                        _ => {
                            let form = "a check such as `{ run = \"make test\" }`";
                            let check = map.next_value_seed(Expected::<CheckSettings>::new(form))?;
                            let named = flower_core::text::name("check", &name);
                            let name = named.map_err(|refusal| error(refusal.to_string()))?;
                            if check.run.trim().is_empty() {
                                return Err(error(format!("the check `{name}` has nothing to run")));
                            }
                            checks.list.push((name, check));
                        }
                    }
                }
                Ok(checks)
            }
        }
        from.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_run_in_the_order_of_the_file() {
        let text = "[checks]\ntest = { run = \"make test\", timeout = \"90s\" }\nbuild = { run = \"make\" }\na = { run = \"true\" }\n";
        let checks = Settings::parse(text).unwrap().checks.list;
        let names: Vec<&str> = checks.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["test", "build", "a"]);
        assert_eq!((checks[0].1.timeout, checks[1].1.timeout), (Duration::from_secs(90), Duration::from_secs(600)));
    }

    #[test]
    fn a_check_can_name_paths_a_network_and_what_prepares_it() {
        let text = "[checks]\nprepare = [\"uv sync --frozen\"]\nnetwork = \"web\"\ntest = { run = \"x\", paths = [\"src/**\", \"a.lock\"] }\n\
                    e2e = { run = \"y\", network = \"open\", reuse = false }\nlint = { run = \"z\", network = \"closed\" }\n[land]\nparallel = 4";
        let settings = Settings::parse(text).unwrap();
        let Checks { prepare, list, .. } = &settings.checks;
        assert_eq!((prepare.as_slice(), settings.land.parallel), (&["uv sync --frozen".to_owned()][..], 4));
        let networks: Vec<NetworkMode> = list.iter().map(|(_, check)| settings.check_network(check)).collect();
        assert_eq!(networks, [NetworkMode::Web, NetworkMode::Open, NetworkMode::Closed]);
        assert!(list[0].1.paths[0].matches("src/a/b.rs") && list[0].1.reuse && !list[1].1.reuse);
        assert_eq!(
            settings.commands(),
            [
                "prepare checks: uv sync --frozen",
                "check test: x",
                "check e2e: y",
                "check lint: z",
                "(checks: reach the web)",
                "(check e2e: reach any network)",
            ]
        );
        let plain = Settings::parse("[checks]\ntest = { run = \"x\" }").unwrap();
        assert_eq!((plain.check_network(&plain.checks.list[0].1), plain.land.parallel), (NetworkMode::Closed, 1));
    }

    #[test]
    fn a_value_of_another_form_is_refused_with_the_form_that_is_meant() {
        for (text, says) in [
            ("[checks]\ntest = \"make test\"", "expected a check such as `{ run = \"make test\" }` in line 2"),
            ("[checks]\ntest = [\"make\", \"test\"]", "expected a check such as `{ run = \"make test\" }`"),
            ("[checks]\nprepare = \"uv sync\"", "expected a list of commands such as `[\"uv sync --frozen\"]`"),
            ("[checks]\nprepare = { run = \"x\" }", "a check needs another name than `prepare`"),
            ("[checks]\nprepare = [\" \"]", "`prepare` has an empty command"),
            ("[checks]\nnetwork = { run = \"x\" }", "a check needs another name than `network`"),
            ("[checks]\nnetwork = \"wide\"", "wide"),
            ("[checks]\ntest = { run = \"x\", network = true }", "expected `\"closed\"`, `\"web\"` or `\"open\"`"),
            ("[checks]\ntest = { run = \"x\", paths = \"src\" }", "expected a list of paths such as"),
            ("[checks]\ntest = { run = \"x\", paths = [] }", "`paths` is empty, so the check would never run"),
            ("[checks]\ntest = { run = \"x\", paths = [\"../x\"] }", "../x"),
            ("[land]\nparallel = 0", "it must be from 1 to 32"),
        ] {
            let message = Settings::parse(text).unwrap_err().message;
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}
