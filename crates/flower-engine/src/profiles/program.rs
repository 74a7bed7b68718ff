//! Finds the program of a profile, and the paths that it must be able to read to start in a jail.

use super::config::{Profile, below_home};
use super::keys::{self, Keys};
use super::node;
use flower_contract::view::{NeedKind, ProfileNeed, ProfileView, TrialView};
use flower_jail::may_be_listed;
use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Directories below the home that are searched after the PATH: users and npm install programs there.
const HOME_BIN_DIRS: &[&str] = &[".local/bin", ".npm-global/bin"];

/// A longer first line names no interpreter.
const MAX_SHEBANG_BYTES: u64 = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub path: PathBuf,
    /// The path with links resolved.
    pub real: PathBuf,
    /// The paths that must be readable for the program to start.
    pub read: Vec<PathBuf>,
    /// Directories for the PATH in the jail.
    pub folders: Vec<PathBuf>,
    /// The version of its npm package.
    pub version: Option<String>,
}

/// What is missing, and how to get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    pub what: String,
    pub how: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.how)
    }
}

/// Where programs are looked for.
#[derive(Clone, Debug)]
pub struct SearchPath {
    pub path: OsString,
    pub home: Option<PathBuf>,
}

impl SearchPath {
    pub fn of_this_process() -> SearchPath {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        SearchPath { path: std::env::var_os("PATH").unwrap_or_default(), home }
    }

    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        if name.contains('/') {
            let home = self.home.as_deref().unwrap_or(Path::new("/"));
            return Some(below_home(Path::new(name), home)).filter(|path| is_program(path));
        }
        let further = self.home.iter().flat_map(|home| HOME_BIN_DIRS.iter().map(|below| home.join(below)));
        let folders = std::env::split_paths(&self.path).filter(|folder| folder.is_absolute());
        folders.chain(further).map(|folder| folder.join(name)).find(|path| is_program(path))
    }

    /// Whether a jail may expose a path: not the home itself, and nothing with credentials.
    pub(super) fn may_expose(&self, path: &Path) -> bool {
        may_be_listed(path, self.home.as_deref())
    }
}

fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

pub fn find(profile: &Profile) -> Result<Program, Missing> {
    find_in(profile, &SearchPath::of_this_process())
}

pub fn find_in(profile: &Profile, search: &SearchPath) -> Result<Program, Missing> {
    if let Some((what, how)) = profile.missing_model() {
        return Err(Missing { what, how });
    }
    let name = profile.command.first().map_or("", String::as_str);
    locate(name, profile.package.as_deref(), &install_hint(profile), search)
}

/// The program that a person runs. It may choose its model in the session.
pub fn find_by_hand(profile: &Profile, search: &SearchPath) -> Result<Program, Missing> {
    let Some(name) = profile.by_hand.first() else {
        return Err(Missing {
            what: format!("profile `{}` does not name the program that a person runs", profile.name),
            how: format!(
                "name it after `--`, or in config.toml of FLOWER_HOME: `[agents.{}]`, then `by_hand = [\"PROGRAM\"]`",
                profile.name
            ),
        });
    };
    let same_program = profile.command.first() == Some(name);
    let package = profile.by_hand_package.as_deref().or(profile.package.as_deref().filter(|_| same_program));
    let hint = match &profile.by_hand_install {
        Some(install) => format!("`{install}`"),
        None if same_program => install_hint(profile),
        None => {
            format!("install it, or write its whole path as `by_hand` of `[agents.{}]` in config.toml", profile.name)
        }
    };
    locate(name, package, &hint, search)
}

/// A program that a person has named: on the PATH, or by its whole path. None if it is not found, or if its interpreter is not.
pub fn find_command(name: &str, search: &SearchPath) -> Option<Program> {
    let is_whole = name.starts_with('/');
    if name.is_empty() || (name.contains('/') && !is_whole) {
        return None;
    }
    locate(name, None, "", search).ok()
}

/// Finds a program, and what it needs. `how` says how to install it.
fn locate(name: &str, package: Option<&str>, how: &str, search: &SearchPath) -> Result<Program, Missing> {
    let absent = || Missing {
        what: format!("`{name}` is {}", if name.contains('/') { "no program" } else { "not on the PATH" }),
        how: how.to_owned(),
    };
    let path = search.find(name).ok_or_else(absent)?;
    let real = path.canonicalize().map_err(|_| absent())?;
    // A launcher script can be outside of its package.
    let above = node::package_of(&real, package);
    let package = above.or_else(|| node::package_beside(&real, package?));
    let mut program = Program {
        path: path.clone(),
        real: real.clone(),
        read: Vec::new(),
        folders: Vec::new(),
        version: package.as_ref().and_then(|package| package.version.clone()),
    };
    program.add_environment(&real, search);
    program.add_with_folder(&path, search);
    let folder = package.as_ref().map_or(&*real, |package| &package.folder);
    match node::outermost_modules(folder, search).or(package.as_ref().map(|package| package.folder.clone())) {
        Some(folder) if search.may_expose(&folder) => program.add_readable(folder),
        _ => program.add_with_folder(&real, search),
    }
    if package.as_ref().is_some_and(|package| !real.starts_with(&package.folder)) {
        program.add_with_folder(&real, search);
    }
    program.add_environment(&path, search);
    program.folders.extend(path.parent().map(Path::to_owned));
    for interpreter in interpreters(&real) {
        let by_name = !interpreter.contains('/');
        let at = search.find(&interpreter).ok_or_else(|| Missing {
            what: format!("`{name}` runs with `{interpreter}`, which is not installed"),
            how: match interpreter.as_str() {
                "node" => format!("install Node {} or newer", node::MIN_MAJOR),
                other => format!("install `{other}`"),
            },
        })?;
        if interpreter.ends_with("node") {
            node::require_version(&at, package.as_ref())?;
        }
        program.add_interpreter(&at, by_name, search);
    }
    Ok(program)
}

fn install_hint(profile: &Profile) -> String {
    match (&profile.install, &profile.package, &profile.version) {
        (Some(install), _, _) => format!("`{install}`"),
        (None, Some(package), Some(version)) => format!("`npm install -g {package}@{version}`"),
        (None, Some(package), None) => format!("`npm install -g {package}`"),
        (None, None, _) => {
            format!("install it, or write its whole path as `command` of `[agents.{}]` in config.toml", profile.name)
        }
    }
}

impl Program {
    fn add_readable(&mut self, path: PathBuf) {
        // Every jail has the system directories.
        let system = ["/usr", "/bin", "/sbin"].iter().any(|top| path.starts_with(top));
        if !system && !self.read.iter().any(|shown| path.starts_with(shown)) {
            self.read.push(path);
        }
    }

    /// Adds the directory of a file, because programs often need files beside them; only the file if a jail may not expose the
    /// directory.
    fn add_with_folder(&mut self, file: &Path, search: &SearchPath) {
        match file.parent().filter(|folder| search.may_expose(folder)) {
            Some(folder) => self.add_readable(folder.to_owned()),
            None => self.add_readable(file.to_owned()),
        }
    }

    /// A program in a virtual environment of Python, made by `venv`, pipx or uv, needs all of it, and the Python that it was made from.
    fn add_environment(&mut self, at: &Path, search: &SearchPath) {
        let environment = at.parent().and_then(Path::parent).filter(|folder| folder.join("pyvenv.cfg").is_file());
        let Some(environment) = environment.filter(|folder| search.may_expose(folder)) else { return };
        self.add_readable(environment.to_owned());
        if let Ok(python) = environment.join("bin/python").canonicalize() {
            self.add_installation(&python, search);
        }
    }

    fn add_interpreter(&mut self, at: &Path, by_name: bool, search: &SearchPath) {
        let real = at.canonicalize().unwrap_or_else(|_| at.to_owned());
        if by_name {
            let folder = at.parent().map(Path::to_owned);
            self.folders.extend(folder.filter(|folder| !self.folders.contains(folder)));
        }
        self.add_with_folder(at, search);
        self.add_environment(at, search);
        self.add_installation(&real, search);
    }

    /// An interpreter `…/v22/bin/node` has its libraries below `…/v22`.
    fn add_installation(&mut self, real: &Path, search: &SearchPath) {
        let installation = real.parent().filter(|bin| bin.ends_with("bin")).and_then(Path::parent);
        match installation.filter(|folder| search.may_expose(folder) && folder.join("lib").is_dir()) {
            Some(folder) => self.add_readable(folder.to_owned()),
            None => self.add_with_folder(real, search),
        }
    }
}

/// The interpreters in the first line of a script: `#!/usr/bin/env -S node --x` needs `env` and `node`.
fn interpreters(real: &Path) -> Vec<String> {
    let mut start = Vec::new();
    let read = File::open(real).and_then(|file| file.take(MAX_SHEBANG_BYTES).read_to_end(&mut start));
    let Some(line) = read.ok().and_then(|_| start.strip_prefix(b"#!")) else { return Vec::new() };
    let line = String::from_utf8_lossy(line.split(|&byte| byte == b'\n').next().unwrap_or_default()).into_owned();
    let mut words = line.split_whitespace();
    let Some(first) = words.next().filter(|first| first.starts_with('/')) else { return Vec::new() };
    let named = first.ends_with("/env").then(|| words.find(|word| !word.starts_with('-') && !word.contains('=')));
    [Some(first), named.flatten()].into_iter().flatten().map(str::to_owned).collect()
}

pub fn readiness(
    profile: &Profile,
    keys: &Keys,
    user_home: &Path,
    found: Result<Program, Missing>,
    trial: TrialView,
) -> ProfileView {
    let missing: Vec<String> =
        [found.as_ref().err().map(Missing::to_string), keys::missing_key(profile, keys, user_home)]
            .into_iter()
            .flatten()
            .collect();
    let need = |name: &String, kind| ProfileNeed {
        name: name.clone(),
        kind,
        there: keys::exists(profile, name, keys, user_home),
    };
    let env = profile.env.iter().map(|name| need(name, NeedKind::Env));
    let files = profile.credentials.iter().map(|name| need(name, NeedKind::File));
    ProfileView {
        profile: profile.name.clone(),
        protocol: profile.protocol,
        command: profile.command.clone(),
        runs: missing.is_empty(),
        missing,
        version: found.ok().and_then(|program| program.version),
        trial,
        model: profile.model.clone(),
        model_required: profile.model_required,
        reports: profile.reports.clone(),
        configuration: profile.configuration.clone(),
        needs: env.chain(files).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profiles::config::Config;
    use flower_contract::view::TrialState;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    struct Machine {
        _dir: tempfile::TempDir,
        home: PathBuf,
        search: SearchPath,
    }

    impl Machine {
        fn new() -> Machine {
            let dir = tempfile::tempdir().unwrap();
            let home = dir.path().canonicalize().unwrap().join("home/me");
            fs::create_dir_all(home.join(".local/bin")).unwrap();
            let search = SearchPath { path: home.join("tools/bin").into(), home: Some(home.clone()) };
            Machine { _dir: dir, home, search }
        }

        fn program(&self, below: &str, text: &str) -> PathBuf {
            let path = self.home.join(below);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        /// Installs the agent as `npm install -g` does.
        fn claude(&self, node: &str) {
            let package = "tools/lib/node_modules/@agentclientprotocol/claude-agent-acp";
            let script = self.program(&format!("{package}/dist/index.js"), "#!/usr/bin/env node\n");
            let about =
                r#"{"name":"@agentclientprotocol/claude-agent-acp","version":"0.99.1","engines":{"node":">=22"}}"#;
            fs::write(self.home.join(package).join("package.json"), about).unwrap();
            fs::create_dir_all(self.home.join("tools/bin")).unwrap();
            symlink(script, self.home.join("tools/bin/claude-agent-acp")).unwrap();
            if !node.is_empty() {
                self.program(".nvm/versions/node/x/bin/node", &format!("#!/bin/sh\necho {node}\n"));
                fs::create_dir_all(self.home.join(".nvm/versions/node/x/lib")).unwrap();
                symlink(self.home.join(".nvm/versions/node/x/bin/node"), self.home.join("tools/bin/node")).unwrap();
            }
        }
    }

    #[test]
    fn an_npm_package_is_shown_with_all_it_needs_and_no_more() {
        let machine = Machine::new();
        machine.claude("v22.4.0");
        let config = Config::parse("").unwrap();
        let program = find_in(config.profile("claude").unwrap(), &machine.search).unwrap();
        assert_eq!(program.path, machine.home.join("tools/bin/claude-agent-acp"));
        assert!(program.real.ends_with("dist/index.js"));
        assert_eq!(program.version.as_deref(), Some("0.99.1"));
        let below: Vec<&Path> = program.read.iter().filter_map(|path| path.strip_prefix(&machine.home).ok()).collect();
        assert_eq!(below, ["tools/bin", "tools/lib/node_modules", ".nvm/versions/node/x"].map(Path::new));
        assert!(program.read.iter().all(|path| !machine.home.starts_with(path)), "{:?}", program.read);
        assert_eq!(program.folders, [machine.home.join("tools/bin")]);
    }

    #[test]
    fn a_launcher_is_shown_with_the_modules_around_it() {
        let machine = Machine::new();
        machine.claude("v22.4.0");
        fs::remove_file(machine.home.join("tools/bin/claude-agent-acp")).unwrap();
        machine.program("tools/bin/claude-agent-acp", "#!/bin/sh\nexec node \"$0\"/../x \"$@\"\n");
        let config = Config::parse("").unwrap();
        let program = find_in(config.profile("claude").unwrap(), &machine.search).unwrap();
        assert_eq!(program.version.as_deref(), Some("0.99.1"));
        let below: Vec<&Path> = program.read.iter().filter_map(|path| path.strip_prefix(&machine.home).ok()).collect();
        assert_eq!(below, ["tools/bin", "tools/lib/node_modules"].map(Path::new));
    }

    #[test]
    fn a_program_of_python_is_shown_with_its_environment_and_its_python() {
        let machine = Machine::new();
        let environment = machine.home.join(".local/share/pipx/venvs/tool");
        let python = machine.program(".pyenv/versions/3.11.7/bin/python3.11", "");
        fs::create_dir_all(machine.home.join(".pyenv/versions/3.11.7/lib")).unwrap();
        // pip writes this if the path to the Python is too long for a first line.
        let start = "#!/bin/sh\n'''exec' x\n";
        let script = machine.program(".local/share/pipx/venvs/tool/bin/tool", start);
        fs::write(environment.join("pyvenv.cfg"), "home = x\n").unwrap();
        symlink(python, environment.join("bin/python")).unwrap();
        symlink(script, machine.home.join(".local/bin/tool")).unwrap();
        let config = Config::parse("[agents.own]\nprotocol = \"pty\"\ncommand = [\"tool\"]\n").unwrap();
        let program = find_in(config.profile("own").unwrap(), &machine.search).unwrap();
        let below: Vec<&Path> = program.read.iter().filter_map(|path| path.strip_prefix(&machine.home).ok()).collect();
        assert_eq!(below, [".local/share/pipx/venvs/tool", ".pyenv/versions/3.11.7", ".local/bin"].map(Path::new));
    }

    #[test]
    fn a_missing_program_is_reported_with_how_to_install_it() {
        let machine = Machine::new();
        let config = Config::parse("[agents.own]\nprotocol = \"pty\"\ncommand = [\"own-tool\"]\n").unwrap();
        let (claude, own) = (config.profile("claude").unwrap(), config.profile("own").unwrap());
        let said = |profile| find_in(profile, &machine.search).unwrap_err().to_string();
        let install = "npm install -g @agentclientprotocol/claude-agent-acp@0.99.1";
        assert_eq!(said(claude), format!("`claude-agent-acp` is not on the PATH: `{install}`"));
        assert!(said(own).contains("[agents.own]"), "{}", said(own));
        machine.claude("");
        assert!(said(claude).contains("install Node 22"), "{}", said(claude));
        machine.program("tools/bin/node", "#!/bin/sh\necho v20.20.2\n");
        assert!(said(claude).contains("20.20.2"), "{}", said(claude));
    }

    #[test]
    fn a_program_in_the_home_itself_is_shown_alone() {
        let machine = Machine::new();
        machine.program("agent", "#!/bin/sh\n");
        let text = "[agents.own]\nprotocol = \"pty\"\ncommand = [\"~/agent\"]\n";
        let config = Config::parse(text).unwrap();
        let program = find_in(config.profile("own").unwrap(), &machine.search).unwrap();
        assert_eq!(program.read[0], machine.home.join("agent"));
        assert!(program.read.iter().all(|path| !machine.home.starts_with(path)), "{:?}", program.read);
    }

    #[test]
    fn a_directory_is_not_taken_for_a_program() {
        let machine = Machine::new();
        fs::create_dir_all(machine.home.join("tools/bin/own")).unwrap();
        let own = machine.program(".local/bin/own", "");
        let config = Config::parse("[agents.own]\nprotocol = \"pty\"\ncommand = [\"own\"]\n").unwrap();
        let program = find_in(config.profile("own").unwrap(), &machine.search).unwrap();
        assert_eq!(program.path, own);
        assert_eq!(program.read, [machine.home.join(".local/bin")]);
    }

    #[test]
    fn a_link_into_credentials_shows_none_of_them() {
        let machine = Machine::new();
        let hidden = machine.program(".config/tool/run", "");
        fs::create_dir_all(machine.home.join("tools/bin")).unwrap();
        symlink(hidden, machine.home.join("tools/bin/own")).unwrap();
        let config = Config::parse("[agents.own]\nprotocol = \"pty\"\ncommand = [\"own\"]\n").unwrap();
        let program = find_in(config.profile("own").unwrap(), &machine.search).unwrap();
        assert_eq!(program.read, [machine.home.join("tools/bin"), machine.home.join(".config/tool/run")]);
    }

    #[test]
    fn a_virtual_environment_is_shown_whole_with_the_python_below_it() {
        let machine = Machine::new();
        let python = machine.program(".pyenv/versions/3.13.1/bin/python3.13", "");
        fs::create_dir_all(machine.home.join(".pyenv/versions/3.13.1/lib")).unwrap();
        let script = format!("#!{}\n", machine.home.join("venv/bin/python").display());
        let tool = machine.program("venv/bin/tool", &script);
        symlink(python, machine.home.join("venv/bin/python")).unwrap();
        fs::write(machine.home.join("venv/pyvenv.cfg"), "home = x\n").unwrap();
        let shown =
            [machine.home.join("venv/bin"), machine.home.join("venv"), machine.home.join(".pyenv/versions/3.13.1")];
        for search in [
            SearchPath { path: machine.home.join("venv/bin").into(), home: Some(machine.home.clone()) },
            machine.search.clone(),
        ] {
            let name = if search.path == machine.search.path { tool.to_str().unwrap() } else { "tool" };
            let program = find_command(name, &search).unwrap();
            let missing = shown.iter().find(|path| !program.read.iter().any(|read| path.starts_with(read)));
            assert_eq!((missing, &program.path), (None, &tool), "{:?}", program.read);
            assert!(program.read.iter().all(|path| !machine.home.starts_with(path)), "{:?}", program.read);
        }
        assert_eq!(find_command("venv/bin/tool", &machine.search), None, "it is below the worktree");
        assert_eq!(find_command("missing", &machine.search), None);
    }

    #[test]
    fn what_a_person_runs_is_not_the_adapter() {
        let machine = Machine::new();
        let config = Config::parse("[agents.own]\nprotocol = \"acp\"\ncommand = [\"own-acp\"]\n").unwrap();
        let missing =
            |name: &str| find_by_hand(config.profile(name).unwrap(), &machine.search).unwrap_err().to_string();
        assert_eq!(missing("claude"), "`claude` is not on the PATH: `npm install -g @anthropic-ai/claude-code`");
        assert!(missing("gemini").ends_with("`npm install -g @google/gemini-cli@0.61.0`"), "{}", missing("gemini"));
        assert!(missing("own").contains("name it after `--`"), "{}", missing("own"));
        let opencode = machine.program("tools/bin/opencode", "");
        let found = find_by_hand(config.profile("opencode").unwrap(), &machine.search).unwrap();
        assert_eq!(found.path, opencode, "without a model, which is chosen in the session");
    }

    #[test]
    fn interpreters_are_read_from_the_first_line() {
        let machine = Machine::new();
        for (text, wanted) in [
            ("#!/usr/bin/env node\n", vec!["/usr/bin/env", "node"]),
            ("#!/usr/bin/env -S A=1 node --x\n", vec!["/usr/bin/env", "node"]),
            ("#! /bin/sh -e\n", vec!["/bin/sh"]),
            ("\u{7f}ELF", vec![]),
            ("#!node\n", vec![]),
        ] {
            assert_eq!(interpreters(&machine.program("x/y", text)), wanted, "{text}");
        }
    }

    #[test]
    fn readiness_names_what_exists_and_no_value() {
        let machine = Machine::new();
        machine.claude("v24.0.0");
        let config = Config::parse("").unwrap();
        let claude = config.profile("claude").unwrap();
        let keys = Keys::default();
        let not_tried = TrialView { state: TrialState::NotTried, at: None, why: None, model: None };
        let ready =
            |keys: &Keys| readiness(claude, keys, &machine.home, find_in(claude, &machine.search), not_tried.clone());
        let without = ready(&keys);
        assert!(!without.runs && without.missing.len() == 1 && without.missing[0].starts_with("no key"), "{without:?}");
        let value = [("ANTHROPIC_API_KEY".to_owned(), "sk-canary".to_owned())];
        keys.add(&config, value.into()).unwrap();
        let ready = ready(&keys);
        assert!(ready.runs, "{ready:?}");
        assert!(ready.needs.iter().any(|need| need.name == "ANTHROPIC_API_KEY" && need.there));
        assert!(ready.needs.iter().any(|need| need.kind == NeedKind::File && !need.there));
        assert!(!serde_json::to_string(&ready).unwrap().contains("canary"));
    }
}
