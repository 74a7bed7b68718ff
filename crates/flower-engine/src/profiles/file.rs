//! Profiles as written in a configuration file, and their validation.

use super::config::{Permissions, Profile, Protocol, Reported, Spend};
use super::mcp::McpConfiguration;
use super::outages::OutageSign;
use crate::network::HostPattern;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::NetworkMode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// As `model`: there is no default that flower would choose.
const REQUIRED: &str = "required";
/// Of an agent that flower does not know.
const CONFIGURATION: &str = "nothing of your home but what `read` and `credentials` name";

#[derive(Debug, Default)]
pub(super) struct ConfigFile {
    pub(super) profiles: BTreeMap<String, ProfileConfig>,
    pub(super) spend: Spend,
    pub(super) editor: Option<String>,
}

/// A profile in one file. Missing fields come from the built-in profile, or get their default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ProfileConfig {
    protocol: Option<Protocol>,
    command: Option<Vec<String>>,
    env: Option<Vec<String>>,
    set: BTreeMap<String, String>,
    credentials: Option<Vec<String>>,
    network: Option<NetworkMode>,
    allow: Option<Vec<HostPattern>>,
    deny: Option<Vec<HostPattern>>,
    connect: Option<Vec<u16>>,
    read: Option<Vec<PathBuf>>,
    mode: Option<String>,
    /// A name, or `required`: then it must be named before the agent can run.
    model: Option<String>,
    /// Like `set`, but only with a model; `{model}` is replaced by its name, escaped for a JSON string.
    model_set: BTreeMap<String, String>,
    permissions: Option<Permissions>,
    ask_timeout: Option<String>,
    turn_timeout: Option<String>,
    quiet_timeout: Option<String>,
    tools_timeout: Option<String>,
    reports: Option<Vec<Reported>>,
    configuration: Option<String>,
    outages: Option<Vec<OutageSign>>,
    package: Option<String>,
    version: Option<String>,
    install: Option<String>,
    by_hand: Option<Vec<String>>,
    by_hand_package: Option<String>,
    by_hand_install: Option<String>,
    mcp: Option<McpConfiguration>,
    login: Option<String>,
    login_set: BTreeMap<String, String>,
    authenticate: Option<String>,
    any_of: Option<Vec<String>>,
}

impl ConfigFile {
    pub(super) fn parse(text: &str, file: &str) -> Result<ConfigFile, Problem> {
        let table: toml::Table =
            toml::from_str(text).map_err(|error| wrong(format!("{file}: {}", in_one_line(text, &error))))?;
        let mut config = ConfigFile::default();
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
                "editor" => config.editor = Some(typed(value, &format!("{file}: editor"))?),
                other => {
                    let other = flower_core::text::visible(other, 64);
                    return Err(wrong(format!(
                        "{file}: there is no section `{other}`, only [agents.NAME], [spend] and `editor`"
                    )));
                }
            }
        }
        Ok(config)
    }
}

/// The parser's message and the line, without the quoted part of the file.
fn in_one_line(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map(|span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
    let line = line.map_or_else(String::new, |line| format!("line {line}: "));
    format!("{line}{}", error.message().replace('\n', ", "))
}

fn typed<T: DeserializeOwned>(value: toml::Value, place: &str) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        // The parser adds a line with the path, which is named already.
        let why = error.into_inner().to_string();
        wrong(format!("{place}: `{path}`: {}", why.lines().next().unwrap_or_default()))
    })
}

impl ProfileConfig {
    /// Merges the user's profile over the built-in one, field by field. At least one of them exists.
    pub(super) fn resolve(
        name: &str,
        built_in: Option<ProfileConfig>,
        own: Option<ProfileConfig>,
        file: &str,
    ) -> Result<Profile, Problem> {
        let is_built_in = built_in.is_some();
        let low = built_in.unwrap_or_default();
        let high = own.unwrap_or_default();
        let at = ProfileLocation { file, profile: name };
        // With the user's own keys, the built-in list of needed keys does not apply.
        let other_keys = high.env.is_some() || high.credentials.is_some();
        let needed = high.any_of.or(if other_keys { None } else { low.any_of });
        let env = high.env.or(low.env).unwrap_or_default();
        let credentials = high.credentials.or(low.credentials).unwrap_or_default();
        let is_required = |model: &Option<String>| model.as_deref() == Some(REQUIRED);
        let model_required = is_required(&low.model) || is_required(&high.model);
        let model = high.model.or(low.model).filter(|model| model != REQUIRED);
        let passes_model = !low.model_set.is_empty() || !high.model_set.is_empty();
        let mut set = low.set;
        // The user's `set` is applied last, so that it can override the model.
        for (name, template) in low.model_set.into_iter().chain(high.model_set) {
            let quoted = model.as_ref().map(|model| serde_json::Value::from(model.as_str()).to_string());
            set.extend(quoted.map(|quoted| (name, template.replace("{model}", &quoted[1..quoted.len() - 1]))));
        }
        set.extend(high.set);
        let any_of = needed.unwrap_or_else(|| env.iter().chain(&credentials).cloned().collect());
        let protocol = high.protocol.or(low.protocol).ok_or_else(|| at.wrong("protocol", "say \"acp\" or \"pty\""))?;
        let command = high.command.or(low.command).unwrap_or_default();
        let is_own_by_hand = high.by_hand.is_some();
        // The user's own program is not that of the built-in package.
        let (by_hand, by_hand_package, by_hand_install) = match high.by_hand {
            Some(own) => (own, high.by_hand_package, high.by_hand_install),
            None => (
                // The arguments of a terminal's command are for its prompt.
                low.by_hand
                    .unwrap_or_else(|| command.iter().take(usize::from(protocol == Protocol::Pty)).cloned().collect()),
                high.by_hand_package.or(low.by_hand_package),
                high.by_hand_install.or(low.by_hand_install),
            ),
        };
        let time = |field, text: Option<String>, default| at.time(field, text, default);
        let profile = Profile {
            name: name.to_owned(),
            protocol,
            command,
            env,
            set,
            credentials,
            network: high.network.or(low.network),
            allow: high.allow.or(low.allow).unwrap_or_default(),
            deny: high.deny.or(low.deny).unwrap_or_default(),
            connect: high.connect.or(low.connect).unwrap_or_default(),
            read: high.read.or(low.read).unwrap_or_default(),
            mode: high.mode.or(low.mode),
            model,
            model_required,
            passes_model,
            reports: high.reports.or(low.reports),
            configuration: high.configuration.or(low.configuration).unwrap_or_else(|| CONFIGURATION.to_owned()),
            permissions: high.permissions.or(low.permissions).unwrap_or_default(),
            ask_timeout: time("ask_timeout", high.ask_timeout.or(low.ask_timeout), 600)?,
            turn_timeout: time("turn_timeout", high.turn_timeout.or(low.turn_timeout), 3_600)?,
            quiet_timeout: time("quiet_timeout", high.quiet_timeout.or(low.quiet_timeout), 900)?,
            tools_timeout: time("tools_timeout", high.tools_timeout.or(low.tools_timeout), 20)?,
            outages: high.outages.or(low.outages).unwrap_or_default(),
            package: high.package.or(low.package),
            version: high.version.or(low.version),
            install: high.install.or(low.install),
            by_hand,
            by_hand_package,
            by_hand_install,
            mcp: high.mcp.or(low.mcp),
            login: high.login.or(low.login),
            login_set: low.login_set.into_iter().chain(high.login_set).collect(),
            authenticate: high.authenticate.or(low.authenticate),
            any_of,
            built_in: is_built_in,
        };
        at.check(&profile, is_own_by_hand)?;
        Ok(profile)
    }
}

/// Where a profile is defined, for error messages.
struct ProfileLocation<'a> {
    file: &'a str,
    profile: &'a str,
}

impl ProfileLocation<'_> {
    fn wrong(&self, field: &str, why: &str) -> Problem {
        wrong(format!("{}: profile `{}`: `{field}`: {why}", self.file, self.profile))
    }

    fn time(&self, field: &str, text: Option<String>, default: u64) -> Result<Duration, Problem> {
        let Some(text) = text else { return Ok(Duration::from_secs(default)) };
        flower_core::boot_time::seconds(&text).map(Duration::from_secs).ok_or_else(|| {
            let text = flower_core::text::visible(&text, 32);
            self.wrong(field, &format!("`{text}` is no time such as `90s`, `10m` or `1h`, up to a day"))
        })
    }

    fn check(&self, profile: &Profile, is_own_by_hand: bool) -> Result<(), Problem> {
        self.command("command", &profile.command)?;
        if is_own_by_hand || !profile.by_hand.is_empty() {
            self.command("by_hand", &profile.by_hand)?;
        }
        if let Some(mcp) = &profile.mcp {
            if !mcp.file.starts_with("~/") || !is_plain(Path::new(&mcp.file)) {
                return Err(self.wrong("mcp", "`file` is one below the home, such as `~/.tool/settings.json`"));
            }
            if let Some(fault) = mcp.fault() {
                return Err(self.wrong("mcp", fault));
            }
        }
        for name in &profile.env {
            self.variable("env", name)?;
        }
        for (field, values) in [("set", &profile.set), ("login_set", &profile.login_set)] {
            for (name, value) in values {
                self.variable(field, name)?;
                if value.contains('\0') {
                    return Err(self.wrong(field, "it has a NUL character"));
                }
            }
        }
        for path in &profile.credentials {
            if !path.starts_with("~/") || !is_plain(Path::new(path)) {
                return Err(self.wrong("credentials", "name one file below the home, such as `~/.tool/auth.json`"));
            }
        }
        for path in &profile.read {
            let whole = path.is_absolute() || path.starts_with("~");
            if !whole || !is_plain(path) {
                return Err(self.wrong("read", "name whole paths, or such as `~/models`; neither `/` nor the home"));
            }
        }
        if profile.outages.iter().any(OutageSign::is_empty) {
            return Err(self.wrong("outages", "each needs a `code`, `data`, or a `text` of at least 4 characters"));
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

    fn command(&self, field: &str, words: &[String]) -> Result<(), Problem> {
        let program = words.first().ok_or_else(|| self.wrong(field, "the command is empty"))?;
        let whole = Path::new(program).is_absolute() || program.starts_with("~/") || !program.contains('/');
        if program.is_empty() || program.starts_with('-') || !whole {
            return Err(self.wrong(field, "the program is a name on the PATH or a whole path"));
        }
        if words.iter().any(|word| word.contains('\0')) {
            return Err(self.wrong(field, "it has a NUL character"));
        }
        Ok(())
    }

    fn variable(&self, field: &str, name: &str) -> Result<(), Problem> {
        let shown = flower_core::text::visible(name, 64);
        if !is_variable(name) {
            return Err(self.wrong(field, &format!("`{shown}` is no name of a variable")));
        }
        if is_reserved(name) {
            return Err(self.wrong(field, &format!("`{shown}` is set by flower")));
        }
        Ok(())
    }
}

/// Whether a path is more than `/` or `~`, and has no `..`.
fn is_plain(path: &Path) -> bool {
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

/// Variables that decide which program runs and which token it has; only flower sets them.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(name, "PATH" | "HOME") || name.starts_with("LD_") || name.starts_with("FLOWER_")
}

fn wrong(message: String) -> Problem {
    Problem::new(
        ProblemKind::Invalid,
        message,
        "correct that file and try again; `flower agent profiles` shows the result",
    )
}
