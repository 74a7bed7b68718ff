//! Values of the variables that profiles name: sent over the socket, held in memory, written nowhere.

use super::config::{Config, Profile};
use super::file::{is_reserved, is_variable};
use flower_contract::error::{Problem, ProblemKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Four profiles name ten; nobody has this many.
const MOST_NAMES: usize = 64;

/// The longest keys are tokens of some kilobytes.
const MOST_BYTES: usize = 16 << 10;

/// A value that shows itself only when asked, and is overwritten when it goes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    pub fn new(value: String) -> Secret {
        Secret(value.into_bytes())
    }

    pub fn expose(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.fill(0);
        // Otherwise nobody would read the zeros, and the compiler could leave them out.
        std::hint::black_box(&self.0);
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[masked]")
    }
}

#[derive(Default)]
pub struct Keys(Mutex<BTreeMap<String, Secret>>);

impl Keys {
    /// Takes all of them or none. An empty value is a variable that is not set.
    pub fn give(&self, config: &Config, values: BTreeMap<String, String>) -> Result<(), Problem> {
        let values: BTreeMap<String, Secret> =
            values.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        let wanted: BTreeSet<String> = wanted(config).into_iter().collect();
        let mut held = self.held();
        let mut all: BTreeSet<&String> = held.keys().collect();
        for (name, value) in &values {
            let shown = flower_core::text::visible(name, 64);
            let why = if !is_variable(name) || is_reserved(name) {
                "flower takes no such variable"
            } else if !wanted.contains(name) {
                "no profile names it"
            } else if value.0.len() > MOST_BYTES {
                "it is longer than 16 KB"
            } else if value.expose().chars().any(char::is_control) {
                "it has control characters, such as the end of a line"
            } else {
                all.insert(name);
                continue;
            };
            return Err(refused(format!("the value of `{shown}` is not taken: {why}")));
        }
        if all.len() > MOST_NAMES {
            return Err(refused(format!("these would be more than {MOST_NAMES} keys")));
        }
        held.extend(values.into_iter().filter(|(_, value)| !value.0.is_empty()));
        Ok(())
    }

    pub fn value(&self, name: &str) -> Option<Secret> {
        self.held().get(name).cloned()
    }

    pub fn has(&self, name: &str) -> bool {
        self.held().contains_key(name)
    }

    pub fn names(&self) -> Vec<String> {
        self.held().keys().cloned().collect()
    }

    pub fn forget(&self, name: &str) {
        self.held().remove(name);
    }

    /// What must never be seen of what this profile is given: an address is none of it, unless it has a password.
    pub fn secrets(&self, profile: &Profile) -> Vec<Secret> {
        let held = self.held();
        let given = profile.env.iter().filter_map(|name| held.get(name).map(|value| (name, value)));
        given
            .filter(|(name, value)| !name.ends_with("_URL") || value.expose().contains('@'))
            .map(|(_, value)| value.clone())
            .collect()
    }

    fn held(&self) -> MutexGuard<'_, BTreeMap<String, Secret>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

fn refused(message: String) -> Problem {
    Problem::new(
        ProblemKind::Invalid,
        message,
        "name the variable in `env` of a profile in config.toml, and give it one line; `flower agent profiles` shows them",
    )
}

/// What to look for in the operator's environment.
pub fn wanted(config: &Config) -> Vec<String> {
    let names: BTreeSet<&String> = config.profiles.values().flat_map(|profile| &profile.env).collect();
    names.into_iter().filter(|name| !is_reserved(name)).cloned().collect()
}

/// In words, why an agent of this profile has to wait.
pub fn missing(profile: &Profile, keys: &Keys, user_home: &Path) -> Option<String> {
    if profile.any_of.is_empty() || profile.any_of.iter().any(|need| is_there(profile, need, keys, user_home)) {
        return None;
    }
    let (files, names): (Vec<&String>, Vec<&String>) = profile.any_of.iter().partition(|need| need.starts_with("~/"));
    let set = names.first().map(|name| format!("set {name} and run `flower up`"));
    let log_in = files.first().map(|file| match &profile.login {
        Some(login) => format!("log in once with `{login}`"),
        None => format!("log in once, so that {file} is there"),
    });
    let ways: Vec<String> = [set, log_in].into_iter().flatten().collect();
    Some(format!("no key: {}", ways.join(", or ")))
}

/// Whether this variable has a value, or this file of credentials is there.
pub fn is_there(profile: &Profile, need: &str, keys: &Keys, user_home: &Path) -> bool {
    match need.strip_prefix("~/") {
        Some(below) => std::fs::metadata(user_home.join(below)).is_ok_and(|found| found.is_file() && found.len() > 0),
        None => keys.has(need) || profile.set.get(need).is_some_and(|value| !value.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn values_are_held_and_never_shown() {
        let config = Config::parse("").unwrap();
        let keys = Keys::default();
        keys.give(&config, map(&[("OPENAI_API_KEY", "sk-canary-1"), ("GEMINI_API_KEY", "")])).unwrap();
        assert_eq!(keys.value("OPENAI_API_KEY").unwrap().expose(), "sk-canary-1");
        assert!(keys.has("OPENAI_API_KEY") && !keys.has("GEMINI_API_KEY"));
        let shown = format!("{keys:?} {:?} {:?}", keys.value("OPENAI_API_KEY"), keys.names());
        assert!(!shown.contains("canary") && shown.contains("OPENAI_API_KEY"), "{shown}");
        keys.give(&config, map(&[("OPENAI_API_KEY", "sk-canary-2")])).unwrap();
        assert_eq!(keys.value("OPENAI_API_KEY").unwrap().expose(), "sk-canary-2");
        keys.forget("OPENAI_API_KEY");
        assert!(keys.names().is_empty());
    }

    #[test]
    fn what_no_profile_names_is_refused_and_nothing_of_it_is_kept() {
        let config = Config::parse("").unwrap();
        let keys = Keys::default();
        let long = "x".repeat(MOST_BYTES + 1);
        for (name, value) in [
            ("OTHER_KEY", "canary"),
            ("PATH", "canary"),
            ("HOME", "canary"),
            ("LD_PRELOAD", "canary"),
            ("FLOWER_TOKEN", "canary"),
            ("a=b", "canary"),
            ("", "canary"),
            ("OPENAI_API_KEY", "canary\nX=1"),
            ("OPENAI_API_KEY", "canary\0"),
            ("OPENAI_API_KEY", &long),
        ] {
            let problem = keys.give(&config, map(&[("CODEX_API_KEY", "fine-canary"), (name, value)])).unwrap_err();
            assert!(!problem.message.contains("canary"), "{}", problem.message);
            assert!(keys.names().is_empty(), "{name}");
        }
    }

    #[test]
    fn no_more_than_so_many_are_held() {
        let names: Vec<String> = (0..=MOST_NAMES).map(|n| format!("\"KEY_{n}\"")).collect();
        let text = format!("[agents.x]\nprotocol = \"pty\"\ncommand = [\"x\"]\nenv = [{}]\n", names.join(","));
        let config = Config::parse(&text).unwrap();
        let keys = Keys::default();
        for n in 0..MOST_NAMES {
            keys.give(&config, map(&[(&format!("KEY_{n}"), "v")])).unwrap();
        }
        assert!(keys.give(&config, map(&[(&format!("KEY_{MOST_NAMES}"), "v")])).is_err());
        assert!(keys.give(&config, map(&[("KEY_1", "w")])).is_ok(), "one that is there is replaced");
    }

    #[test]
    fn whoever_has_neither_key_nor_login_waits() {
        let config = Config::parse("[agents.own]\nprotocol = \"pty\"\ncommand = [\"x\"]\n").unwrap();
        let home = tempfile::tempdir().unwrap();
        let keys = Keys::default();
        let claude = config.profile("claude").unwrap();
        assert_eq!(
            missing(claude, &keys, home.path()).unwrap(),
            "no key: set ANTHROPIC_API_KEY and run `flower up`, or log in once with `claude`"
        );
        assert_eq!(missing(config.profile("own").unwrap(), &keys, home.path()), None);
        keys.give(&config, map(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")])).unwrap();
        assert!(missing(claude, &keys, home.path()).is_some(), "an address is no key");
        assert!(keys.secrets(claude).is_empty());
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::fs::write(home.path().join(".claude/.credentials.json"), "{}").unwrap();
        assert_eq!(missing(claude, &keys, home.path()), None);
        let codex = config.profile("codex").unwrap();
        assert!(missing(codex, &keys, home.path()).is_some());
        keys.give(&config, map(&[("CODEX_API_KEY", "k-12345678")])).unwrap();
        assert_eq!(missing(codex, &keys, home.path()), None);
        assert_eq!(keys.secrets(codex).len(), 1);
    }

    #[test]
    fn a_fixed_value_is_a_key_too() {
        let config = Config::parse("[agents.claude.set]\nANTHROPIC_API_KEY = \"dummy\"\n").unwrap();
        let claude = config.profile("claude").unwrap();
        assert_eq!(missing(claude, &Keys::default(), Path::new("/nowhere")), None);
    }

    #[test]
    fn the_environment_is_asked_for_what_profiles_name() {
        let names = wanted(&Config::parse("").unwrap());
        assert!(names.contains(&"ANTHROPIC_API_KEY".to_owned()) && names.contains(&"OPENROUTER_API_KEY".to_owned()));
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    }
}
