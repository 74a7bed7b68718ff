//! `flower.toml` of MAIN's branch. A file that is not committed has no effect.

use crate::network::{HostPattern, MAX_FORWARDED, NetworkPolicy};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::NetworkMode;
use flower_core::chain::sha256;
use flower_core::pattern::Pattern;
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer, StrDeserializer};
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

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LandSettings {
    /// Whether every landing needs the operator's approval, or only those that the gate holds.
    pub approve: Approve,
    /// How often failed checks run again before the landing is rejected.
    pub retries: u32,
    /// How many checks of one landing run at the same time.
    #[serde(deserialize_with = "parallel")]
    pub parallel: usize,
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

/// More would only make the machine slower.
const MAX_PARALLEL: usize = 32;

fn parallel<'de, D: serde::Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let count = usize::deserialize(from)?;
    match (1..=MAX_PARALLEL).contains(&count) {
        true => Ok(count),
        false => Err(serde::de::Error::custom(format!("`parallel` is {count}; it must be from 1 to {MAX_PARALLEL}"))),
    }
}

fn patterns<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Pattern>, D::Error> {
    let List(texts) = Expected::<List>::new("a list of paths such as `[\"src/**\", \"Cargo.lock\"]`").read(from)?;
    if texts.is_empty() {
        return Err(serde::de::Error::custom("`paths` is empty, so the check would never run; leave `paths` out"));
    }
    let parsed = texts.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>();
    parsed.map_err(|refusal| serde::de::Error::custom(refusal.to_string()))
}

fn network<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<NetworkMode>, D::Error> {
    Expected::<NetworkMode>::new("`\"closed\"`, `\"web\"` or `\"open\"`").read(from).map(Some)
}

/// A list of texts.
#[derive(Deserialize)]
#[serde(transparent)]
struct List(Vec<String>);

/// Reads a value, and names what was expected if it has another form.
struct Expected<T> {
    what: &'static str,
    of: std::marker::PhantomData<T>,
}

impl<'de, T: Deserialize<'de> + Form> Expected<T> {
    fn new(what: &'static str) -> Expected<T> {
        Expected { what, of: std::marker::PhantomData }
    }

    fn read<D: serde::Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        from.deserialize_any(self)
    }
}

/// Which forms a type can be read from; all others are refused.
trait Form {
    const TEXT: bool = false;
    const LIST: bool = false;
    const TABLE: bool = false;
}

impl Form for List {
    const LIST: bool = true;
}

impl Form for NetworkMode {
    const TEXT: bool = true;
}

impl Form for CheckSettings {
    const TABLE: bool = true;
}

impl<'de, T: Deserialize<'de> + Form> serde::de::Visitor<'de> for Expected<T> {
    type Value = T;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        match T::TEXT {
            true => T::deserialize(StrDeserializer::new(text)),
            false => Err(E::invalid_type(serde::de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        match T::LIST {
            true => T::deserialize(SeqAccessDeserializer::new(list)),
            false => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &self)),
        }
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        match T::TABLE {
            true => T::deserialize(MapAccessDeserializer::new(map)),
            false => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Map, &self)),
        }
    }
}

/// Reads a value of `[checks]`, whose form depends on its key.
impl<'de, T: Deserialize<'de> + Form> serde::de::DeserializeSeed<'de> for Expected<T> {
    type Value = T;

    fn deserialize<D: serde::Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        self.read(from)
    }
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
    pub network: Option<NetworkMode>,
    /// With the web: the only hosts that programs inside may reach, if any are listed, such as `*.example.com` or `example.com:8443`.
    pub allow: Vec<HostPattern>,
    /// Hosts that programs inside may not reach.
    pub deny: Vec<HostPattern>,
    /// Ports of this machine's loopback that programs inside find at the same port, with every network.
    pub connect: Vec<u16>,
    /// Further paths that programs inside may read.
    pub read: Vec<std::path::PathBuf>,
    /// Which objects of MAIN's repository programs inside may read.
    pub objects: Objects,
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

impl WorktreeSettings {
    /// What cannot be meant.
    fn contradiction(&self) -> Option<String> {
        if !self.allow.is_empty() && matches!(self.network, Some(NetworkMode::Closed | NetworkMode::Open)) {
            return Some("`allow` has an effect only with `network = \"web\"` in `[worktree]`".to_owned());
        }
        if self.connect.contains(&0) {
            return Some("0 in `connect` of `[worktree]` is no port".to_owned());
        }
        (self.connect.len() > MAX_FORWARDED)
            .then(|| format!("`connect` of `[worktree]` lists more than {MAX_FORWARDED} ports"))
    }

    pub(crate) fn network_policy(&self) -> NetworkPolicy {
        NetworkPolicy {
            mode: self.network.unwrap_or_default(),
            allow: vec![self.allow.clone()],
            deny: self.deny.clone(),
            connect: self.connect.clone(),
        }
    }
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

    /// Checks of `before` that these settings remove or change, as they were.
    pub fn dropped_checks(&self, before: &Settings) -> Vec<(String, CheckSettings)> {
        let differs = |(name, check): &&(String, CheckSettings)| self.check(name) != Some(check);
        before.checks.list.iter().filter(differs).cloned().collect()
    }

    /// Describes how checks and approval differ from `before`.
    pub fn differences(&self, before: &Settings) -> Vec<String> {
        let mut words = Vec::new();
        for (name, check) in &before.checks.list {
            match self.check(name) {
                None => words.push(format!("it removes the check `{name}` (`{}`)", check.run)),
                Some(now) if now.run != check.run => {
                    words.push(format!("it changes the check `{name}` from `{}` to `{}`", check.run, now.run));
                }
                Some(now) => words.extend(check_differences(name, check, now)),
            }
        }
        if self.checks.prepare != before.checks.prepare {
            words.push(match self.checks.prepare.is_empty() {
                true => "it prepares checks no longer (`[checks] prepare`)".to_owned(),
                false => format!("it prepares checks by `{}`", self.checks.prepare.join("`, `")),
            });
        }
        let added = self.checks.list.iter().filter(|(name, _)| before.check(name).is_none());
        words.extend(added.map(|(name, check)| format!("it adds the check `{name}` (`{}`)", check.run)));
        if before.land.approve == Approve::Operator && self.land.approve == Approve::Auto {
            words.push("it lets landings in without the operator (`[land] approve`)".to_owned());
        }
        words
    }

    fn check(&self, name: &str) -> Option<&CheckSettings> {
        self.checks.list.iter().find(|(known, _)| known == name).map(|(_, check)| check)
    }

    /// Everything that needs approval: commands, and what opens a jail further than by default.
    pub fn commands(&self) -> Vec<String> {
        let prepare = self.checks.prepare.iter().map(|command| format!("prepare checks: {command}"));
        let checks = self.checks.list.iter().map(|(name, check)| format!("check {name}: {}", check.run));
        self.worktree.setup.iter().cloned().chain(prepare).chain(checks).chain(self.openings()).collect()
    }

    /// The network in which a check runs.
    pub fn check_network(&self, check: &CheckSettings) -> NetworkMode {
        check.network.or(self.checks.network).unwrap_or(NetworkMode::Closed)
    }

    /// Describes what a jail shows and reaches beyond the default.
    pub fn openings(&self) -> Vec<String> {
        let network = (self.worktree.network == Some(NetworkMode::Open)).then(|| "(reach any network)".to_owned());
        let ports = self.worktree.connect.iter().map(|port| format!("(connect to port {port})"));
        let hosts = self.worktree.allow.iter().map(|host| format!("(reach {host})"));
        let places = self.worktree.read.iter().map(|path| format!("(read {})", path.display()));
        let objects =
            (self.worktree.objects == Objects::All).then(|| "(read all objects of MAIN's repository)".to_owned());
        network
            .into_iter()
            .chain(ports)
            .chain(hosts)
            .chain(places)
            .chain(objects)
            .chain(self.check_openings())
            .collect()
    }

    /// Describes which checks reach a network, which they do not by default.
    fn check_openings(&self) -> impl Iterator<Item = String> {
        let all = self.checks.network.into_iter().map(|network| ("checks".to_owned(), network));
        let own = self.checks.list.iter().filter_map(|(name, check)| Some((format!("check {name}"), check.network?)));
        all.chain(own).filter_map(|(who, network)| match network {
            NetworkMode::Closed => None,
            NetworkMode::Web => Some(format!("({who}: reach the web)")),
            NetworkMode::Open => Some(format!("({who}: reach any network)")),
        })
    }

    /// The digest that an approval refers to: it ends when a command changes.
    pub fn commands_sha256(&self) -> String {
        sha256(serde_json::to_string(&self.commands()).expect("plain data").as_bytes())
    }
}

/// Describes how a check with the same command differs.
fn check_differences(name: &str, before: &CheckSettings, now: &CheckSettings) -> Vec<String> {
    let mut words = Vec::new();
    if now.timeout != before.timeout {
        let (from, to) = (before.timeout.as_secs(), now.timeout.as_secs());
        words.push(format!("it changes the time limit of the check `{name}` from {from} s to {to} s"));
    }
    if now.paths != before.paths {
        let paths: Vec<&str> = now.paths.iter().map(Pattern::as_str).collect();
        words.push(match paths.is_empty() {
            true => format!("it runs the check `{name}` for changes of any path"),
            false => format!("it runs the check `{name}` only for changes of `{}`", paths.join("`, `")),
        });
    }
    if now.network != before.network {
        words.push(format!("it changes the network of the check `{name}`"));
    }
    if now.reuse != before.reuse {
        words.push(format!("it changes whether green results of the check `{name}` are reused"));
    }
    words
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
        let narrower = Settings::parse("[checks]\nprepare = [\"p\"]\na = { run = \"x\", paths = [\"src\"] }").unwrap();
        let before = Settings::parse("[checks]\na = { run = \"x\" }").unwrap();
        let words = ["it runs the check `a` only for changes of `src`", "it prepares checks by `p`"];
        assert_eq!(
            (narrower.differences(&before), narrower.dropped_checks(&before).len()),
            (words.map(str::to_owned).to_vec(), 1)
        );
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

    #[test]
    fn checks_run_in_the_order_of_the_file() {
        let text = "[checks]\ntest = { run = \"make test\", timeout = \"90s\" }\nbuild = { run = \"make\" }\na = { run = \"true\" }\n";
        let checks = Settings::parse(text).unwrap().checks.list;
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
            "[worktree]\nnetwork = \"closed\"\nallow = [\"example.com\"]",
            "[worktree]\nallow = [\"http://example.com\"]",
            "[worktree]\nconnect = [0]",
        ] {
            assert!(Settings::parse(bad).unwrap_err().message.contains("flower.toml"), "{bad}");
        }
    }
}
