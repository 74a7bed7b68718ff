//! `cargo xtask demo`: builds flower, and runs `flower demo`.

use std::path::PathBuf;
use std::process::Command;

use crate::bloom;
use crate::install;
use crate::run::{Program, minutes, target_folder};

pub(crate) const HELP: &str = "\
Usage: cargo xtask demo [--no-wait]

Builds flower and runs `flower demo`, which demonstrates it on a scratch repository; `flower demo --help` describes the story.

  --no-wait    end at once instead of waiting for Enter";

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let flower = build()?;
    // With this terminal: the demo waits for Enter. It ends everything that it has started by itself.
    let status = Command::new(flower).arg("demo").args(arguments).status();
    match status.map_err(|error| format!("could not start flower: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("the demo failed ({status})")),
    }
}

pub(crate) fn build() -> Result<PathBuf, String> {
    eprintln!("== Building flower and its page (a few minutes the first time)");
    install::require_node()?;
    bloom::build()?;
    Program::cargo(minutes(30)).args(["build", "--release", "--locked", "--package", "flower"]).run()?;
    Ok(target_folder().join("release/flower"))
}
