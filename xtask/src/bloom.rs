//! `cargo xtask bloom`: builds flower's page, which is embedded in the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::install;
use crate::run::{Program, minutes, repository_root};

pub(crate) const HELP: &str = "\
Usage: cargo xtask bloom

Builds flower's page in `bloom/build`, from where `cargo build` takes it into the program. A debug build of flower reads it
from there at every request, so that building the page again is enough to see it.
To work on it, run `npm run dev` in `bloom` beside a daemon, with FLOWER_URL set to the address that `flower up` prints.";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments {
        [] => {
            install::require_node()?;
            build()
        }
        _ => Err(format!("these arguments are not understood: {}\n\n{HELP}", arguments.join(" "))),
    }
}

pub(crate) fn folder() -> PathBuf {
    repository_root().join("bloom")
}

/// Builds the page, unless it is newer than its sources; then flower need not be built again either.
pub(crate) fn build() -> Result<(), String> {
    install_packages()?;
    let built = changed(&folder().join("build/shell.html"));
    if built.is_some() && built > newest_source() {
        eprintln!("the page is built");
        return Ok(());
    }
    npm(&["run", "build", "--", "--logLevel", "warn"]).run()
}

/// Installs exactly the packages of the lock file, without running their scripts.
fn install_packages() -> Result<(), String> {
    let installed = changed(&folder().join("node_modules/.package-lock.json"));
    if installed.is_some() && installed > changed(&folder().join("package-lock.json")) {
        return Ok(());
    }
    npm(&["ci", "--ignore-scripts", "--loglevel", "error"]).run()
}

pub(crate) fn npm(arguments: &[&str]) -> Program {
    Program::new("npm", minutes(15)).directory(&folder()).args(arguments)
}

fn newest_source() -> Option<SystemTime> {
    let mut newest = changed(&repository_root().join("docs/openapi.json"));
    let mut folders = vec![folder()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let name = name.to_string_lossy();
            let made = ["build", "node_modules", "test-results", "tests"].contains(&&*name) || name.starts_with('.');
            if path.is_dir() && !made {
                folders.push(path);
            } else if path.is_file() {
                newest = newest.max(changed(&path));
            }
        }
    }
    newest
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}
