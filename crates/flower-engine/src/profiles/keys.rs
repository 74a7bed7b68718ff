//! Values of the variables that profiles name. They come over the socket and are kept in memory only.

use super::config::{Config, Profile};
use super::file::{is_reserved, is_variable};
use flower_contract::error::{Problem, ProblemKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The four built-in profiles name ten.
const MAX_KEYS: usize = 64;

/// The longest keys are tokens of some kilobytes.
const MAX_VALUE_BYTES: usize = 16 << 10;

/// A value that is not printed by `Debug`, and is overwritten when it is dropped.
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
        // Keeps the compiler from removing the writes, because nothing else reads the zeros.
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
    /// Adds all values, or none if one is invalid. Empty values are ignored: the variable is not set.
    pub fn add(&self, config: &Config, values: BTreeMap<String, String>) -> Result<(), Problem> {
        let values: BTreeMap<String, Secret> =
            values.into_iter().map(|(name, value)| (name, Secret::new(value))).collect();
        let wanted: BTreeSet<String> = named_variables(config).into_iter().collect();
        let mut known = self.values();
        let mut all: BTreeSet<&String> = known.keys().collect();
        for (name, value) in &values {
            let shown = flower_core::text::visible(name, 64);
            let why = if !is_variable(name) || is_reserved(name) {
                "the name is invalid or reserved"
            } else if !wanted.contains(name) {
                "no profile names it"
            } else if value.0.len() > MAX_VALUE_BYTES {
                "the value is longer than 16 KB"
            } else if value.expose().chars().any(char::is_control) {
                "the value has control characters, such as the end of a line"
            } else {
                all.insert(name);
                continue;
            };
            return Err(refused(format!("the value of `{shown}` is not accepted: {why}")));
        }
        if all.len() > MAX_KEYS {
            return Err(refused(format!("these would be more than {MAX_KEYS} keys")));
        }
        known.extend(values.into_iter().filter(|(_, value)| !value.0.is_empty()));
        Ok(())
    }

    pub fn value(&self, name: &str) -> Option<Secret> {
        self.values().get(name).cloned()
    }

    pub fn has(&self, name: &str) -> bool {
        self.values().contains_key(name)
    }

    pub fn names(&self) -> Vec<String> {
        self.values().keys().cloned().collect()
    }

    pub fn forget(&self, name: &str) {
        self.values().remove(name);
    }

    /// The secrets among the values of a profile. An address is no secret, unless it contains a password.
    pub fn secrets(&self, profile: &Profile) -> Vec<Secret> {
        let known = self.values();
        let given = profile.env.iter().filter_map(|name| known.get(name).map(|value| (name, value)));
        given
            .filter(|(name, value)| !name.ends_with("_URL") || value.expose().contains('@'))
            .map(|(_, value)| value.clone())
            .collect()
    }

    fn values(&self) -> MutexGuard<'_, BTreeMap<String, Secret>> {
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

/// The variables that profiles name, to be read from the operator's environment.
pub fn named_variables(config: &Config) -> Vec<String> {
    let names: BTreeSet<&String> = config.profiles.values().flat_map(|profile| &profile.env).collect();
    names.into_iter().filter(|name| !is_reserved(name)).cloned().collect()
}

/// Why an agent of this profile has to wait for a key. None if it has one.
pub fn missing_key(profile: &Profile, keys: &Keys, user_home: &Path) -> Option<String> {
    if profile.any_of.is_empty() || profile.any_of.iter().any(|need| exists(profile, need, keys, user_home)) {
        return None;
    }
    let (files, names): (Vec<&String>, Vec<&String>) = profile.any_of.iter().partition(|need| need.starts_with("~/"));
    let set = names.first().map(|name| format!("set {name} and run `flower up`"));
    let log_in = files.first().map(|file| match &profile.login {
        Some(login) => format!("log in once with `{login}`"),
        None => format!("log in once, so that {file} exists"),
    });
    let ways: Vec<String> = [set, log_in].into_iter().flatten().collect();
    Some(format!("no key: {}", ways.join(", or ")))
}

/// Whether a variable has a value, or a credentials file exists.
pub fn exists(profile: &Profile, need: &str, keys: &Keys, user_home: &Path) -> bool {
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
    fn values_are_kept_and_never_shown() {
        let config = Config::parse("").unwrap();
        let keys = Keys::default();
        keys.add(&config, map(&[("OPENAI_API_KEY", "sk-canary-1"), ("GEMINI_API_KEY", "")])).unwrap();
        assert_eq!(keys.value("OPENAI_API_KEY").unwrap().expose(), "sk-canary-1");
        assert!(keys.has("OPENAI_API_KEY") && !keys.has("GEMINI_API_KEY"));
        let shown = format!("{keys:?} {:?} {:?}", keys.value("OPENAI_API_KEY"), keys.names());
        assert!(!shown.contains("canary") && shown.contains("OPENAI_API_KEY"), "{shown}");
        keys.add(&config, map(&[("OPENAI_API_KEY", "sk-canary-2")])).unwrap();
        assert_eq!(keys.value("OPENAI_API_KEY").unwrap().expose(), "sk-canary-2");
        keys.forget("OPENAI_API_KEY");
        assert!(keys.names().is_empty());
    }

    #[test]
    fn what_no_profile_names_is_refused_and_nothing_of_it_is_kept() {
        let config = Config::parse("").unwrap();
        let keys = Keys::default();
        let long = "x".repeat(MAX_VALUE_BYTES + 1);
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
            let problem = keys.add(&config, map(&[("CODEX_API_KEY", "fine-canary"), (name, value)])).unwrap_err();
            assert!(!problem.message.contains("canary"), "{}", problem.message);
            assert!(keys.names().is_empty(), "{name}");
        }
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let names: Vec<String> = (0..=MAX_KEYS).map(|n| format!("\"KEY_{n}\"")).collect();
        let text = format!("[agents.x]\nprotocol = \"pty\"\ncommand = [\"x\"]\nenv = [{}]\n", names.join(","));
        let config = Config::parse(&text).unwrap();
        let keys = Keys::default();
        for n in 0..MAX_KEYS {
            keys.add(&config, map(&[(&format!("KEY_{n}"), "v")])).unwrap();
        }
        assert!(keys.add(&config, map(&[(&format!("KEY_{MAX_KEYS}"), "v")])).is_err());
        assert!(keys.add(&config, map(&[("KEY_1", "w")])).is_ok(), "one that is there is replaced");
    }

    #[test]
    fn an_agent_without_key_and_login_waits() {
        let config = Config::parse("[agents.own]\nprotocol = \"pty\"\ncommand = [\"x\"]\n").unwrap();
        let home = tempfile::tempdir().unwrap();
        let keys = Keys::default();
        let claude = config.profile("claude").unwrap();
        assert_eq!(
            missing_key(claude, &keys, home.path()).unwrap(),
            "no key: set ANTHROPIC_API_KEY and run `flower up`, or log in once with `claude`"
        );
        assert_eq!(missing_key(config.profile("own").unwrap(), &keys, home.path()), None);
        keys.add(&config, map(&[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")])).unwrap();
        assert!(missing_key(claude, &keys, home.path()).is_some(), "an address is no key");
        assert!(keys.secrets(claude).is_empty());
        std::fs::create_dir(home.path().join(".claude")).unwrap();
        std::fs::write(home.path().join(".claude/.credentials.json"), "{}").unwrap();
        assert_eq!(missing_key(claude, &keys, home.path()), None);
        let codex = config.profile("codex").unwrap();
        assert!(missing_key(codex, &keys, home.path()).is_some());
        keys.add(&config, map(&[("CODEX_API_KEY", "k-12345678")])).unwrap();
        assert_eq!(missing_key(codex, &keys, home.path()), None);
        assert_eq!(keys.secrets(codex).len(), 1);
    }

    #[test]
    fn a_fixed_value_is_a_key_too() {
        let config = Config::parse("[agents.claude.set]\nANTHROPIC_API_KEY = \"dummy\"\n").unwrap();
        let claude = config.profile("claude").unwrap();
        assert_eq!(missing_key(claude, &Keys::default(), Path::new("/nowhere")), None);
    }

    #[test]
    fn the_environment_is_asked_for_what_profiles_name() {
        let names = named_variables(&Config::parse("").unwrap());
        assert!(names.contains(&"ANTHROPIC_API_KEY".to_owned()) && names.contains(&"OPENROUTER_API_KEY".to_owned()));
        assert_eq!(names.len(), names.iter().collect::<BTreeSet<_>>().len());
    }
}
