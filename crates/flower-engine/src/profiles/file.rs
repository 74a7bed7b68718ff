//! Profiles as they are written in a file, and what must hold for them.

use super::config::{Permissions, Profile, Protocol, Spend};
use flower_contract::error::{Problem, ProblemKind};
use flower_jail::Network;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct RawConfig {
    pub(super) profiles: BTreeMap<String, Raw>,
    pub(super) spend: Spend,
}

/// What a file leaves out is taken from the layer below, or is as usual.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Raw {
    protocol: Option<Protocol>,
    command: Option<Vec<String>>,
    env: Option<Vec<String>>,
    set: BTreeMap<String, String>,
    credentials: Option<Vec<String>>,
    network: Option<Network>,
    connect: Option<Vec<u16>>,
    read: Option<Vec<PathBuf>>,
    mode: Option<String>,
    model: Option<String>,
    model_required: Option<bool>,
    /// Like `set`, if there is a model: `{model}` stands for it, as in a JSON string.
    model_set: BTreeMap<String, String>,
    permissions: Option<Permissions>,
    ask_timeout: Option<String>,
    turn_timeout: Option<String>,
    quiet_timeout: Option<String>,
    package: Option<String>,
    version: Option<String>,
    install: Option<String>,
    login: Option<String>,
    authenticate: Option<String>,
    any_of: Option<Vec<String>>,
}

impl RawConfig {
    pub(super) fn parse(text: &str, file: &str) -> Result<RawConfig, Problem> {
        let table: toml::Table = toml::from_str(text)
            .map_err(|error| wrong(format!("{file}: {}", error.to_string().trim_end().replace('\n', "; "))))?;
        let mut config = RawConfig::default();
        for (section, value) in table {
            match section.as_str() {
                "agents" => {
                    let toml::Value::Table(agents) = value else {
                        return Err(wrong(format!("{file}: `agents` is no table such as `[agents.claude]`")));
                    };
                    for (name, value) in agents {
                        flower_core::text::name("agent profile", &name)
                            .map_err(|refusal| wrong(format!("{file}: {refusal}")))?;
                        let raw = typed(value, &format!("{file}: profile `{name}`"))?;
                        config.profiles.insert(name, raw);
                    }
                }
                "spend" => {
                    let spend: Spend = typed(value, &format!("{file}: [spend]"))?;
                    for (field, amount) in [("per_day", spend.per_day), ("per_brief", spend.per_brief)] {
                        if amount.is_some_and(|amount| !amount.is_finite() || amount < 0.0) {
                            return Err(wrong(format!("{file}: [spend]: `{field}` is no amount of money")));
                        }
                    }
                    config.spend = spend;
                }
                other => {
                    let other = flower_core::text::visible(other, 64);
                    return Err(wrong(format!(
                        "{file}: there is no section `{other}`, only [agents.NAME] and [spend]"
                    )));
                }
            }
        }
        Ok(config)
    }
}

fn typed<T: DeserializeOwned>(value: toml::Value, place: &str) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let why = error.into_inner().to_string();
        wrong(format!("{place}: `{path}`: {}", why.trim_end().replace('\n', "; ")))
    })
}

impl Raw {
    /// One of the layers is there.
    pub(super) fn resolve(name: &str, built_in: Option<Raw>, own: Option<Raw>, file: &str) -> Result<Profile, Problem> {
        let is_built_in = built_in.is_some();
        let low = built_in.unwrap_or_default();
        let high = own.unwrap_or_default();
        let at = WorktreePaths { file, profile: name };
        // Other keys than the built-in ones: what was needed of those says nothing.
        let other_keys = high.env.is_some() || high.credentials.is_some();
        let needed = high.any_of.or(if other_keys { None } else { low.any_of });
        let env = high.env.or(low.env).unwrap_or_default();
        let credentials = high.credentials.or(low.credentials).unwrap_or_default();
        let model = high.model.or(low.model);
        let mut set = low.set;
        for (name, template) in low.model_set.into_iter().chain(high.model_set) {
            let quoted = model.as_ref().map(|model| serde_json::Value::from(model.as_str()).to_string());
            set.extend(quoted.map(|quoted| (name, template.replace("{model}", &quoted[1..quoted.len() - 1]))));
        }
        set.extend(high.set);
        let any_of = needed.unwrap_or_else(|| env.iter().chain(&credentials).cloned().collect());
        let time = |field, text: Option<String>, usual| at.time(field, text, usual);
        let profile = Profile {
            name: name.to_owned(),
            protocol: high.protocol.or(low.protocol).ok_or_else(|| at.wrong("protocol", "say \"acp\" or \"pty\""))?,
            command: high.command.or(low.command).unwrap_or_default(),
            env,
            set,
            credentials,
            network: high.network.or(low.network),
            connect: high.connect.or(low.connect).unwrap_or_default(),
            read: high.read.or(low.read).unwrap_or_default(),
            mode: high.mode.or(low.mode),
            model,
            model_required: high.model_required.or(low.model_required).unwrap_or_default(),
            permissions: high.permissions.or(low.permissions).unwrap_or_default(),
            ask_timeout: time("ask_timeout", high.ask_timeout.or(low.ask_timeout), 600)?,
            turn_timeout: time("turn_timeout", high.turn_timeout.or(low.turn_timeout), 3_600)?,
            quiet_timeout: time("quiet_timeout", high.quiet_timeout.or(low.quiet_timeout), 900)?,
            package: high.package.or(low.package),
            version: high.version.or(low.version),
            install: high.install.or(low.install),
            login: high.login.or(low.login),
            authenticate: high.authenticate.or(low.authenticate),
            any_of,
            built_in: is_built_in,
        };
        at.check(&profile)?;
        Ok(profile)
    }
}

struct WorktreePaths<'a> {
    file: &'a str,
    profile: &'a str,
}

impl WorktreePaths<'_> {
    fn wrong(&self, field: &str, why: &str) -> Problem {
        wrong(format!("{}: profile `{}`: `{field}`: {why}", self.file, self.profile))
    }

    fn time(&self, field: &str, text: Option<String>, usual: u64) -> Result<Duration, Problem> {
        let Some(text) = text else { return Ok(Duration::from_secs(usual)) };
        flower_core::boot_time::seconds(&text).map(Duration::from_secs).ok_or_else(|| {
            let text = flower_core::text::visible(&text, 32);
            self.wrong(field, &format!("`{text}` is no time such as `90s`, `10m` or `1h`, up to a day"))
        })
    }

    fn check(&self, profile: &Profile) -> Result<(), Problem> {
        let program = profile.command.first().ok_or_else(|| self.wrong("command", "it has nothing to run"))?;
        let whole = Path::new(program).is_absolute() || program.starts_with("~/") || !program.contains('/');
        if program.is_empty() || program.starts_with('-') || !whole {
            return Err(self.wrong("command", "the program is a name on the PATH or a whole path"));
        }
        if profile.command.iter().any(|word| word.contains('\0')) {
            return Err(self.wrong("command", "it has a NUL character"));
        }
        for name in &profile.env {
            self.variable("env", name)?;
        }
        for (name, value) in &profile.set {
            self.variable("set", name)?;
            if value.contains('\0') {
                return Err(self.wrong("set", "it has a NUL character"));
            }
        }
        for path in &profile.credentials {
            if !path.starts_with("~/") || !plain(Path::new(path)) {
                return Err(self.wrong("credentials", "name one file below the home, such as `~/.tool/auth.json`"));
            }
        }
        for path in &profile.read {
            let whole = path.is_absolute() || path.starts_with("~");
            if !whole || !plain(path) {
                return Err(self.wrong("read", "name whole paths, or such as `~/models`; neither `/` nor the home"));
            }
        }
        if profile.connect.contains(&0) {
            return Err(self.wrong("connect", "0 is no port"));
        }
        let known = |name: &String| {
            profile.env.contains(name) || profile.credentials.contains(name) || profile.set.contains_key(name)
        };
        match profile.any_of.iter().find(|name| !known(name)) {
            Some(name) => {
                let name = flower_core::text::visible(name, 64);
                Err(self.wrong("any_of", &format!("`{name}` is neither in `env` nor in `credentials`")))
            }
            None => Ok(()),
        }
    }

    fn variable(&self, field: &str, name: &str) -> Result<(), Problem> {
        let shown = flower_core::text::visible(name, 64);
        if !is_variable(name) {
            return Err(self.wrong(field, &format!("`{shown}` is no name of a variable")));
        }
        if is_reserved(name) {
            return Err(self.wrong(field, &format!("`{shown}` is flower's to set")));
        }
        Ok(())
    }
}

/// More than the root or `~`, and nowhere up.
fn plain(path: &Path) -> bool {
    path.components().count() > 1
        && !path.components().any(|part| part == Component::ParentDir)
        && path.to_str().is_some_and(|path| !path.contains('\0') && !path.ends_with('/'))
}

pub(super) fn is_variable(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|byte| !byte.is_ascii_digit())
        && name.len() <= 128
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// These say what runs and who it is.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(name, "PATH" | "HOME") || name.starts_with("LD_") || name.starts_with("FLOWER_")
}

fn wrong(message: String) -> Problem {
    Problem::new(
        ProblemKind::Invalid,
        message,
        "mend that file and try again; `flower agent profiles` shows what counts",
    )
}
