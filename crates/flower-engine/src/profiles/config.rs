//! Agent profiles: which agents flower can start, and how. They come from a built-in file and `config.toml` in FLOWER_HOME.

use super::file::{ConfigFile, ProfileConfig};
use super::mcp::McpConfiguration;
use super::outages::OutageSign;
use crate::home::Home;
use crate::network::{HostPattern, NetworkPolicy};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::NetworkMode;
pub use flower_contract::view::{Protocol, Reported};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

const BUILT_IN: &str = include_str!("profiles.toml");

/// Far more than a configuration file needs.
const MAX_BYTES: u64 = 1 << 20;

/// How permission requests of agents are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permissions {
    /// What stays in the worktree is allowed; for the rest the operator is asked.
    #[default]
    Worktree,
    Ask,
    Deny,
    Allow,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    pub name: String,
    pub protocol: Protocol,
    pub command: Vec<String>,
    /// Names of variables that the agent gets; their values come from [`super::keys::Keys`].
    pub env: Vec<String>,
    /// Fixed values, none of them secret.
    pub set: BTreeMap<String, String>,
    /// Such as `~/.claude/.credentials.json`; the first that exists is lent.
    pub credentials: Vec<String>,
    /// Default: the network of the worktree.
    pub network: Option<NetworkMode>,
    /// With the web: the only hosts that the agent may reach, if any are listed.
    pub allow: Vec<HostPattern>,
    pub deny: Vec<HostPattern>,
    pub connect: Vec<u16>,
    /// Absolute paths, or paths such as `~/models`: see [`Profile::readable`].
    pub read: Vec<PathBuf>,
    /// The ACP session mode to choose.
    pub mode: Option<String>,
    pub model: Option<String>,
    /// The profile must not run without a `model`: the agent would use one that its vendor hosts.
    pub model_required: bool,
    /// `model_set` names the model to the agent, so it can also be one that sessions do not offer.
    pub passes_model: bool,
    /// What its agents report of what they spend. Absent: not known.
    pub reports: Option<Vec<Reported>>,
    /// What of the operator's own configuration of the agent reaches the jail, in words.
    pub configuration: String,
    pub permissions: Permissions,
    pub ask_timeout: Duration,
    pub turn_timeout: Duration,
    /// How long a turn may continue without an update.
    pub quiet_timeout: Duration,
    /// How long a new session may take to ask for flower's tools.
    pub tools_timeout: Duration,
    /// How the agent says that its model does not answer for now.
    pub outages: Vec<OutageSign>,
    pub package: Option<String>,
    pub version: Option<String>,
    /// How to install the program, in one line.
    pub install: Option<String>,
    /// What a person runs: `command` may be an adapter that speaks a protocol. Empty: nothing is known.
    pub by_hand: Vec<String>,
    /// The npm package of that program.
    pub by_hand_package: Option<String>,
    pub by_hand_install: Option<String>,
    /// How the program that a person runs gets flower's tools.
    pub mcp: Option<McpConfiguration>,
    /// The command with which a person logs in.
    pub login: Option<String>,
    /// Further fixed values for a program that a person runs with a lent login and without a key.
    pub login_set: BTreeMap<String, String>,
    /// The ACP authentication method that makes the agent use lent credentials.
    pub authenticate: Option<String>,
    /// Variables and credentials of which at least one must exist. Empty: none is needed.
    pub any_of: Vec<String>,
    pub built_in: bool,
}

impl Profile {
    pub(super) fn network_policy(&self) -> NetworkPolicy {
        NetworkPolicy {
            mode: self.network.unwrap_or_default(),
            allow: vec![self.allow.clone()],
            deny: self.deny.clone(),
            connect: self.connect.clone(),
        }
    }

    /// The problem and its solution, if the profile requires a model and has none.
    pub fn missing_model(&self) -> Option<(String, String)> {
        (self.model_required && self.model.is_none()).then(|| {
            let name = &self.name;
            (
                format!("`{name}` has no `model`, and would use the one that its vendor hosts"),
                format!("name one in config.toml of FLOWER_HOME: `[agents.{name}]`, then `model = \"PROVIDER/MODEL\"`"),
            )
        })
    }

    /// The paths of `read`, with `~` resolved.
    pub fn readable(&self, user_home: &Path) -> Vec<PathBuf> {
        self.read.iter().map(|path| below_home(path, user_home)).collect()
    }
}

/// Resolves `~` at the beginning of a path.
pub(super) fn below_home(path: &Path, user_home: &Path) -> PathBuf {
    path.strip_prefix("~").map_or_else(|_| path.to_owned(), |below| user_home.join(below))
}

/// Spending limits. Absent: no limit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spend {
    pub per_day: Option<f64>,
    pub per_brief: Option<f64>,
    pub tokens_per_day: Option<u64>,
}

/// `config.toml` of FLOWER_HOME over the built-in profiles.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    pub profiles: BTreeMap<String, Profile>,
    pub spend: Spend,
    /// The command that opens a worktree in the operator's editor.
    pub editor: Option<String>,
}

impl Config {
    pub fn load(home: &Home) -> Result<Config, Problem> {
        let path = home.config();
        match read(&path) {
            Ok(text) => Config::parse_file(&text, &path.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Config::parse(""),
            Err(error) => Err(Problem::new(
                ProblemKind::Invalid,
                format!("{} cannot be read: {error}", path.display()),
                "correct that file, or move it away to use the built-in profiles",
            )),
        }
    }

    pub fn parse(text: &str) -> Result<Config, Problem> {
        Config::parse_file(text, "config.toml")
    }

    fn parse_file(text: &str, file: &str) -> Result<Config, Problem> {
        let built_in = ConfigFile::parse(BUILT_IN, "profiles.toml")?;
        let own = ConfigFile::parse(text, file)?;
        let mut layers: BTreeMap<String, (Option<ProfileConfig>, Option<ProfileConfig>)> = BTreeMap::new();
        for (name, raw) in built_in.profiles {
            layers.entry(name).or_default().0 = Some(raw);
        }
        for (name, raw) in own.profiles {
            layers.entry(name).or_default().1 = Some(raw);
        }
        let mut profiles = BTreeMap::new();
        for (name, (built_in, own)) in layers {
            profiles.insert(name.clone(), ProfileConfig::resolve(&name, built_in, own, file)?);
        }
        Ok(Config { profiles, spend: own.spend, editor: own.editor })
    }

    pub fn profile(&self, name: &str) -> Result<&Profile, Problem> {
        self.profiles.get(name).ok_or_else(|| {
            // A short name is near only if almost all of it is the same.
            let near = (name.chars().count() / 3).clamp(1, 3);
            let distance = |known: &&String| strsim::osa_distance(known, &name.to_lowercase());
            let nearest = self.profiles.keys().min_by_key(distance).filter(|known| distance(known) <= near);
            let meant = nearest.map_or_else(String::new, |known| format!("did you mean `{known}`? "));
            let known: Vec<&str> = self.profiles.keys().map(String::as_str).collect();
            Problem::new(
                ProblemKind::NotFound,
                format!("there is no agent profile `{}`", flower_core::text::visible(name, 64)),
                format!("{meant}known are {}; `flower agent profiles` shows them", known.join(", ")),
            )
        })
    }
}

fn read(path: &Path) -> io::Result<String> {
    // Checked before opening, because opening a pipe would block.
    let found = std::fs::metadata(path)?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file of at most 1 MB"));
    }
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        let problem = Config::parse(text).unwrap_err();
        assert_eq!(problem.kind, ProblemKind::Invalid, "{text}");
        assert!(!problem.hints.is_empty());
        problem.message
    }

    #[test]
    fn the_built_in_profiles_are_complete() {
        let config = Config::parse("").unwrap();
        let names: Vec<&str> = config.profiles.keys().map(String::as_str).collect();
        assert_eq!(names, ["claude", "codex", "gemini", "opencode"]);
        for profile in config.profiles.values() {
            assert!(profile.built_in && profile.protocol == Protocol::Acp);
            assert_eq!(profile.permissions, Permissions::Worktree);
            assert_eq!(profile.network, Some(NetworkMode::Web));
            assert!(!profile.outages.is_empty(), "{}", profile.name);
            assert!(profile.package.is_some() && profile.version.is_some() && !profile.any_of.is_empty());
            let install = profile.install.as_deref().unwrap();
            assert!(install.contains(profile.version.as_deref().unwrap()), "{install}");
            assert!(!profile.by_hand.is_empty() && profile.mcp.is_some(), "{}", profile.name);
            let same_program = profile.by_hand.first() == profile.command.first();
            assert_eq!(profile.by_hand_install.is_some(), !same_program, "{}", profile.name);
        }
        assert!(!config.profile("claude").unwrap().any_of.contains(&"ANTHROPIC_BASE_URL".to_owned()));
    }

    #[test]
    fn opencode_is_given_its_model_or_does_not_run() {
        let opencode = |text: &str| Config::parse(text).unwrap().profile("opencode").unwrap().clone();
        let without = opencode("");
        assert!(without.missing_model().is_some() && !without.set.contains_key("OPENCODE_CONFIG_CONTENT"));
        let with = opencode("[agents.opencode]\nmodel = \"a/\\\"b\"\n");
        assert_eq!(with.missing_model(), None);
        let told: serde_json::Value = serde_json::from_str(&with.set["OPENCODE_CONFIG_CONTENT"]).unwrap();
        assert_eq!((&told["model"], &told["small_model"]), (&"a/\"b".into(), &"a/\"b".into()));
        // The user's own configuration is not changed; the model is then chosen in the session only.
        let required = opencode("[agents.opencode]\nmodel = \"required\"\n");
        assert!(required.missing_model().is_some());
        let own = opencode("[agents.opencode]\nmodel = \"a/b\"\nset = { OPENCODE_CONFIG_CONTENT = \"{}\" }\n");
        assert_eq!(own.set["OPENCODE_CONFIG_CONTENT"], "{}");
        assert_eq!(Config::parse("").unwrap().profile("claude").unwrap().missing_model(), None);
    }

    #[test]
    fn the_users_own_overrides_field_by_field() {
        let text = "[agents.claude]\nmodel = \"opus\"\nquiet_timeout = \"90s\"\nset = { ANTHROPIC_BASE_URL = \"x\" }\n\
                    [agents.aider]\nprotocol = \"pty\"\ncommand = [\"aider\"]\nenv = [\"OPENAI_API_KEY\"]\n\
                    [spend]\nper_day = 20\ntokens_per_day = 5000000\n";
        let config = Config::parse(text).unwrap();
        let claude = config.profile("claude").unwrap();
        assert_eq!(claude.command, ["claude-agent-acp"]);
        assert_eq!(claude.model.as_deref(), Some("opus"));
        assert_eq!((claude.quiet_timeout, claude.turn_timeout), (Duration::from_secs(90), Duration::from_secs(3600)));
        assert_eq!(claude.set["DISABLE_TELEMETRY"], "1");
        assert_eq!(claude.set["ANTHROPIC_BASE_URL"], "x");
        let aider = config.profile("aider").unwrap();
        assert_eq!((aider.protocol, aider.built_in), (Protocol::Pty, false));
        assert_eq!(aider.any_of, ["OPENAI_API_KEY"]);
        assert_eq!((&aider.by_hand, &aider.mcp), (&vec!["aider".to_owned()], &None));
        let own = Config::parse("[agents.claude]\nby_hand = [\"my-claude\", \"--x\"]\n").unwrap();
        let own = own.profile("claude").unwrap();
        assert_eq!((own.by_hand[0].as_str(), &own.by_hand_package), ("my-claude", &None));
        assert_eq!(config.spend, Spend { per_day: Some(20.0), per_brief: None, tokens_per_day: Some(5_000_000) });
    }

    #[test]
    fn own_keys_replace_the_built_in_needs() {
        let config = Config::parse("[agents.claude]\nenv = [\"MY_KEY\"]\ncredentials = []\n").unwrap();
        assert_eq!(config.profile("claude").unwrap().any_of, ["MY_KEY"]);
        let config = Config::parse("[agents.claude]\nany_of = []\n").unwrap();
        assert_eq!(config.profile("claude").unwrap().any_of, Vec::<String>::new());
    }

    #[test]
    fn an_invalid_value_names_the_profile_and_the_field() {
        let own = "[agents.x]\nprotocol = \"acp\"\ncommand = [\"x\"]\n";
        for (text, words) in [
            ("[agents.x]\nprotocol = \"acp\"\n", &["`x`", "`command`"][..]),
            ("[agents.x]\nprotocol = \"acp\"\ncommand = []\n", &["`x`", "`command`"]),
            ("[agents.x]\nprotocol = \"acp\"\ncommand = [\"bin/x\"]\n", &["`x`", "`command`"]),
            ("[agents.x]\nprotocol = \"acp\"\ncommand = [\"\"]\n", &["`x`", "`command`"]),
            ("[agents.x]\ncommand = [\"x\"]\n", &["`x`", "`protocol`"]),
            ("[agents.x]\nprotocol = [\"acp\", \"pty\"]\ncommand = [\"x\"]\n", &["`x`", "`protocol`"]),
            ("[agents.x]\nprotocol = \"web\"\ncommand = [\"x\"]\n", &["`x`", "`protocol`"]),
            ("[agents.claude]\ncomand = [\"x\"]\n", &["`claude`", "comand"]),
            ("[agents.claude]\nturn_timeout = \"soon\"\n", &["`claude`", "`turn_timeout`"]),
            ("[agents.\"../x\"]\nprotocol = \"acp\"\ncommand = [\"x\"]\n", &["../x"]),
            ("[agents.claude]\ncredentials = [\"/etc/shadow\"]\n", &["`claude`", "`credentials`"]),
            ("[agents.claude]\ncredentials = [\"~/../x\"]\n", &["`claude`", "`credentials`"]),
            ("[agents.claude]\ncredentials = [\"~\"]\n", &["`claude`", "`credentials`"]),
            ("[agents.claude]\nread = [\"~\"]\n", &["`claude`", "`read`"]),
            ("[agents.claude]\nread = [\"/\"]\n", &["`claude`", "`read`"]),
            ("[agents.claude]\nread = [\"x\"]\n", &["`claude`", "`read`"]),
            ("[agents.claude]\nconnect = [0]\n", &["`claude`", "`connect`"]),
            ("[agents.claude]\noutages = [{ kind = \"limit\" }]\n", &["`claude`", "`outages`"]),
            ("[agents.claude]\noutages = [{ kind = \"limit\", text = \"no\" }]\n", &["`claude`", "`outages`"]),
            ("[agents.claude]\noutages = [{ kind = \"flood\", text = \"wet feet\" }]\n", &["`claude`", "flood"]),
            ("[agents.claude]\nnetwork = \"some\"\n", &["`claude`", "`network`"]),
            ("[agents.claude]\nany_of = [\"OTHER\"]\n", &["`claude`", "`any_of`"]),
            ("[agents.claude]\nby_hand = [\"bin/x\"]\n", &["`claude`", "`by_hand`"]),
            ("[agents.claude]\nby_hand = []\n", &["`claude`", "`by_hand`"]),
            ("[agents.claude.mcp]\ntitle = \"x\"\nfile = \"/etc/x.json\"\nentry = \"{}\"\n", &["`claude`", "`mcp`"]),
            ("[agents.claude.mcp]\ntitle = \"x\"\nfile = \"~/../x.json\"\nentry = \"{}\"\n", &["`claude`", "`mcp`"]),
            ("[agents.claude.mcp]\ntitle = \"x\"\nfile = \"~/x.json\"\nentry = \"{}\"\n", &["`claude`", "`mcp`"]),
            ("[agents.claude.mcp]\ntitle = \"x\"\nfile = \"~/x.ini\"\nentry = \"\"\n", &["`claude`", "`mcp`"]),
            ("[agents.claude]\nenv = [\"LD_PRELOAD\"]\n", &["`claude`", "`env`", "LD_PRELOAD"]),
            ("[agents.claude]\nenv = [\"a b\"]\n", &["`claude`", "`env`"]),
            ("[agents.claude.set]\nFLOWER_TOKEN = \"x\"\n", &["`claude`", "`set`"]),
            ("[agents.claude.set]\nX = \"a\\u0000b\"\n", &["`claude`", "`set`"]),
            ("[spend]\nper_day = -1\n", &["spend", "`per_day`"]),
            ("[spend]\nper_week = 1\n", &["spend", "per_week"]),
            ("[agent.claude]\nmodel = \"x\"\n", &["`agent`"]),
            ("[agents", &[]),
        ] {
            let message = refused(text);
            assert!(message.contains("config.toml"), "{text}: {message}");
            for word in words {
                assert!(message.contains(word), "{text}: {message}");
            }
        }
        assert!(Config::parse(own).is_ok());
    }

    #[test]
    fn an_unknown_profile_is_told_the_nearest() {
        let config = Config::parse("").unwrap();
        let problem = config.profile("Cluade").unwrap_err();
        assert_eq!(problem.kind, ProblemKind::NotFound);
        assert!(problem.hints[0].starts_with("did you mean `claude`?"), "{:?}", problem.hints);
        assert!(problem.hints[0].contains("opencode"));
    }

    #[test]
    fn a_file_is_read_where_it_is_and_named_where_it_is_wrong() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        assert_eq!(Config::load(&home).unwrap().profiles.len(), 4);
        std::fs::write(home.config(), "[agents.claude]\nmodel = 7\n").unwrap();
        let message = Config::load(&home).unwrap_err().message;
        assert!(message.contains(&home.config().display().to_string()), "{message}");
        std::fs::remove_file(home.config()).unwrap();
        std::fs::create_dir(home.config()).unwrap();
        assert!(Config::load(&home).unwrap_err().message.contains("cannot be read"));
    }
}
