//! npm packages, and the Node that runs them.

use super::program::{Missing, SearchPath};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The oldest Node for packages that name none.
pub(super) const MIN_MAJOR: u32 = 22;

/// Size of a `package.json`; some have long lists.
const MAX_BYTES: u64 = 1 << 20;

/// How many levels above a launcher its modules are searched.
const MAX_LEVELS: usize = 3;

/// How long `node --version` may take; usual are 50 ms.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Package {
    pub(super) folder: PathBuf,
    pub(super) version: Option<String>,
    /// The oldest Node that the package supports.
    node: Option<u32>,
}

/// The nearest package that contains a file; of this name, if one is given.
pub(super) fn package_of(real: &Path, name: Option<&str>) -> Option<Package> {
    real.ancestors().skip(1).find_map(|folder| read(folder, name))
}

/// The package that a launcher script (pnpm writes such) starts: in `node_modules` of a directory above it.
pub(super) fn package_beside(launcher: &Path, name: &str) -> Option<Package> {
    let above = launcher.ancestors().skip(1).take(MAX_LEVELS);
    let modules = above.flat_map(|folder| ["node_modules", "lib/node_modules"].map(|modules| folder.join(modules)));
    modules.into_iter().find_map(|modules| read(&modules.join(name), Some(name)))
}

fn read(folder: &Path, name: Option<&str>) -> Option<Package> {
    let about = folder.join("package.json");
    let small = about.metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES);
    let mut text = String::new();
    small.then(|| File::open(about).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()).flatten()?;
    let about: serde_json::Value = serde_json::from_str(&text).ok()?;
    let named = about.get("name")?.as_str()?;
    let version = about.get("version").and_then(|version| version.as_str());
    let engine = about.pointer("/engines/node").and_then(|engine| engine.as_str());
    (name.is_none_or(|name| name == named)).then(|| Package {
        folder: folder.to_owned(),
        version: version.map(|version| flower_core::text::visible(version, 64)),
        node: engine.and_then(|engine| major(engine.trim_start_matches(['>', '=', '^', '~', ' ', 'v']))),
    })
}

/// The outermost `node_modules` around a file that a jail may expose: it also has the packages that this one needs.
pub(super) fn outermost_modules(real: &Path, search: &SearchPath) -> Option<PathBuf> {
    let all: Vec<&Path> = real.ancestors().filter(|folder| folder.ends_with("node_modules")).collect();
    all.into_iter().rev().find(|folder| search.may_expose(folder)).map(Path::to_owned)
}

pub(super) fn require_version(node: &Path, package: Option<&Package>) -> Result<(), Missing> {
    let min = package.and_then(|package| package.node).unwrap_or(MIN_MAJOR);
    // A program that does not print its version is accepted.
    let Some(version) = version(node) else { return Ok(()) };
    match major(&version) {
        Some(found) if found < min => Err(Missing {
            what: format!("{} is Node {version}, and {min} or newer is needed", node.display()),
            how: format!("install Node {min} or newer, and run `flower up` with it on the PATH"),
        }),
        _ => Ok(()),
    }
}

fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The version that a Node prints.
fn version(node: &Path) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "the operator's own Node, asked for its version")]
    let mut command = Command::new(node);
    command.arg("--version").env_clear().env("PATH", "/usr/bin:/bin").current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let start = Instant::now();
    let ended = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.success(),
            Ok(None) if start.elapsed() < VERSION_TIMEOUT => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                break false;
            }
        }
    };
    let mut stdout = child.stdout.take().filter(|_| ended)?;
    // Non-blocking, because a process that it started may keep the pipe open.
    rustix::io::ioctl_fionbio(&stdout, true).ok()?;
    let mut said = [0; 64];
    let length = stdout.read(&mut said).ok()?;
    let said = String::from_utf8_lossy(said.get(..length)?).into_owned();
    Some(said.trim().strip_prefix('v')?.to_owned()).filter(|version| major(version).is_some())
}
