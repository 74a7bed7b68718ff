//! npm packages, and the Node that runs them.

use super::program::{Missing, Places};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What packages want that do not say it.
pub(super) const LEAST: u32 = 22;

/// Some packages carry long lists.
const MOST_BYTES: u64 = 1 << 20;

/// How far above a launcher its modules are.
const NEAR: usize = 3;

/// Node starts in a twentieth of a second.
const DEADLINE: Duration = Duration::from_secs(10);

pub(super) struct Package {
    pub(super) folder: PathBuf,
    pub(super) version: Option<String>,
    /// The Node that it asks for.
    node: Option<u32>,
}

/// The nearest package above a file: the one of this name, if it is known.
pub(super) fn package_of(real: &Path, name: Option<&str>) -> Option<Package> {
    real.ancestors().skip(1).find_map(|folder| read(folder, name))
}

/// The one that a launcher starts, such as pnpm writes them: in the modules of a folder around it.
pub(super) fn package_beside(launcher: &Path, name: &str) -> Option<Package> {
    let around = launcher.ancestors().skip(1).take(NEAR);
    let places = around.flat_map(|folder| ["node_modules", "lib/node_modules"].map(|modules| folder.join(modules)));
    places.into_iter().find_map(|modules| read(&modules.join(name), Some(name)))
}

fn read(folder: &Path, name: Option<&str>) -> Option<Package> {
    let about = folder.join("package.json");
    let small = about.metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES);
    let mut text = String::new();
    small.then(|| File::open(about).ok()?.take(MOST_BYTES).read_to_string(&mut text).ok()).flatten()?;
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

/// Packages lie beside those that they need.
pub(super) fn outermost_modules(real: &Path, places: &Places) -> Option<PathBuf> {
    let all: Vec<&Path> = real.ancestors().filter(|folder| folder.ends_with("node_modules")).collect();
    all.into_iter().rev().find(|folder| places.may_show(folder)).map(Path::to_owned)
}

pub(super) fn require_version(node: &Path, package: Option<&Package>) -> Result<(), Missing> {
    let least = package.and_then(|package| package.node).unwrap_or(LEAST);
    // Whatever does not say its version is given the benefit of the doubt.
    let Some(version) = version(node) else { return Ok(()) };
    match major(&version) {
        Some(found) if found < least => Err(Missing {
            what: format!("{} is Node {version}, and {least} or newer is needed", node.display()),
            how: format!("install Node {least} or newer, and run `flower up` with it on the PATH"),
        }),
        _ => Ok(()),
    }
}

fn major(version: &str) -> Option<u32> {
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// As it says itself.
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
            Ok(None) if start.elapsed() < DEADLINE => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => {
                let _ = child.kill();
                let _ = child.wait();
                break false;
            }
        }
    };
    let mut stdout = child.stdout.take().filter(|_| ended)?;
    // Something that it left behind may still hold the pipe, and is not waited for.
    rustix::io::ioctl_fionbio(&stdout, true).ok()?;
    let mut said = [0; 64];
    let length = stdout.read(&mut said).ok()?;
    let said = String::from_utf8_lossy(said.get(..length)?).into_owned();
    Some(said.trim().strip_prefix('v')?.to_owned()).filter(|version| major(version).is_some())
}
