//! The programs that the tests need, and getting those that are missing.

use std::path::Path;

use crate::postgres_binaries::Binaries;
use crate::run::{Program, minutes, seconds};
use crate::user::we_are_root;

/// Which of the programs that tests can do without are here.
pub(crate) struct Tools {
    pub(crate) postgres: Option<Binaries>,
    pub(crate) python: bool,
    pub(crate) nextest: bool,
    pub(crate) chromium: bool,
    pub(crate) skipped: Vec<&'static str>,
}

struct Tool {
    name: &'static str,
    is_here: fn() -> bool,
    debian_packages: &'static [&'static str],
    how_to_get_it: &'static str,
    /// What is left out when it is missing; `None` when nothing works without it.
    skipped_without: Option<&'static str>,
}

const GIT: Tool = Tool {
    name: "git",
    is_here: || answers("git"),
    debian_packages: &["git"],
    how_to_get_it: "install git with your package manager",
    skipped_without: None,
};

const C_COMPILER: Tool = Tool {
    name: "a C compiler",
    is_here: || answers("cc"),
    debian_packages: &["gcc", "libc6-dev"],
    how_to_get_it: "install gcc or clang, so that `cc` runs",
    skipped_without: None,
};

const PYTHON: Tool = Tool {
    name: "python3",
    is_here: || answers("python3"),
    debian_packages: &["python3"],
    how_to_get_it: "install Python 3, so that `python3` runs",
    skipped_without: Some("tests that need Python"),
};

const POSTGRES: Tool = Tool {
    name: "PostgreSQL server, 14 or newer",
    is_here: || Binaries::find().is_some(),
    debian_packages: &["postgresql"],
    how_to_get_it: "install the server of PostgreSQL and put `postgres` and `initdb` on PATH",
    skipped_without: Some("tests that need PostgreSQL"),
};

const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    is_here: || {
        let version = Program::cargo(seconds(30)).args(["nextest", "--version"]);
        version.output().is_ok()
    },
    debian_packages: &[],
    how_to_get_it: "run `cargo install cargo-nextest --locked`",
    skipped_without: Some("nextest (`cargo test` runs the tests instead)"),
};

const NODE: Tool = Tool {
    name: "Node.js 20.19 or newer, with npm",
    is_here: || answers("npm") && node_is_new_enough(),
    debian_packages: &["nodejs", "npm"],
    how_to_get_it: "install Node.js with your package manager, so that `node` and `npm` run",
    skipped_without: None,
};

const CHROMIUM: Tool = Tool {
    name: "Chromium",
    is_here: || answers("chromium-headless-shell") || answers("chromium"),
    debian_packages: &["chromium-headless-shell"],
    how_to_get_it: "install Chromium, so that `chromium` runs",
    skipped_without: Some("tests of the page in a browser"),
};

const TOOLS: [&Tool; 7] = [&GIT, &C_COMPILER, &PYTHON, &POSTGRES, &NEXTEST, &NODE, &CHROMIUM];

/// Installs what is missing where that is possible. What stays missing is an error in CI and skipped
/// elsewhere, so that a laptop without PostgreSQL can still test the rest.
pub(crate) fn require_tools() -> Result<Tools, String> {
    let missing = missing_tools();
    // A failed installation is told, then judged by what is still missing.
    if let Err(message) = install(&missing) {
        eprintln!("warning: could not install everything: {message}");
    }
    let still_missing = if missing.is_empty() { missing } else { missing_tools() };
    let skipped = judge(&still_missing, in_ci())?;
    let is_here = |name| still_missing.iter().all(|tool| tool.name != name);
    Ok(Tools {
        postgres: Binaries::find(),
        python: is_here(PYTHON.name),
        nextest: is_here(NEXTEST.name),
        chromium: is_here(CHROMIUM.name),
        skipped,
    })
}

pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// What the page is built with, for those who build nothing else.
pub(crate) fn require_node() -> Result<(), String> {
    if (NODE.is_here)() {
        return Ok(());
    }
    if let Err(message) = install(&[&NODE]) {
        eprintln!("warning: could not install it: {message}");
    }
    judge(if (NODE.is_here)() { &[] } else { &[&NODE] }, true).map(|_| ())
}

/// `v20.19.2` or newer.
fn node_is_new_enough() -> bool {
    let Ok(said) = Program::new("node", seconds(30)).args(["--version"]).output() else { return false };
    let mut parts = said.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(20), Some(19))
}

fn missing_tools() -> Vec<&'static Tool> {
    TOOLS.into_iter().filter(|tool| !(tool.is_here)()).collect()
}

fn answers(program: &str) -> bool {
    let version = Program::new(program, seconds(30)).args(["--version"]);
    version.output().is_ok()
}

fn judge(missing: &[&Tool], in_ci: bool) -> Result<Vec<&'static str>, String> {
    for tool in missing {
        eprintln!("missing: {}; to get it, {}", tool.name, tool.how_to_get_it);
    }
    let fatal: Vec<String> = missing
        .iter()
        .filter(|tool| in_ci || tool.skipped_without.is_none())
        .map(|tool| format!("{}: {}", tool.name, tool.how_to_get_it))
        .collect();
    if !fatal.is_empty() {
        return Err(format!("these programs are missing:\n  {}", fatal.join("\n  ")));
    }
    let skipped: Vec<&str> = missing.iter().filter_map(|tool| tool.skipped_without).collect();
    if !skipped.is_empty() {
        eprintln!("therefore skipped: {}", skipped.join(", "));
    }
    Ok(skipped)
}

fn install(missing: &[&Tool]) -> Result<(), String> {
    let packages: Vec<&str> = missing.iter().flat_map(|tool| tool.debian_packages).copied().collect();
    let from_debian = match packages.is_empty() || !apt_is_usable()? {
        true => Ok(()),
        false => install_debian_packages(&packages),
    };
    if missing.iter().any(|tool| tool.name == NEXTEST.name) {
        let nextest = Program::cargo(minutes(60));
        nextest.args(["install", "cargo-nextest", "--locked"]).run()?;
    }
    from_debian
}

fn apt_is_usable() -> Result<bool, String> {
    Ok(Path::new("/etc/debian_version").exists() && answers("apt-get") && we_are_root()?)
}

fn install_debian_packages(packages: &[&str]) -> Result<(), String> {
    let apt_get = |args: &[&str]| {
        Program::new("apt-get", minutes(20))
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            // Keep the configuration that `prevent_main_cluster` wrote.
            .env("UCF_FORCE_CONFFOLD", "1")
            .run()
    };
    apt_get(&["update"])?;
    if packages.contains(&"postgresql") {
        prevent_main_cluster()?;
    }
    apt_get(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

/// Debian starts a server when its package is installed. We bring our own, so it would only be in the
/// way. Where the file exists, somebody has already decided.
fn prevent_main_cluster() -> Result<(), String> {
    let directory = Path::new("/etc/postgresql-common");
    let file = directory.join("createcluster.conf");
    if file.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&file, "create_main_cluster = false\n"))
        .map_err(|error| format!("could not write `{}`: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ci_skips_nothing() {
        let message = judge(&[&POSTGRES, &NEXTEST], true).unwrap_err();
        for tool in [POSTGRES, NEXTEST] {
            assert!(message.contains(tool.name), "{message}");
            assert!(message.contains(tool.how_to_get_it), "{message}");
        }
    }

    #[test]
    fn elsewhere_what_is_missing_is_skipped() {
        let skipped = judge(&[&PYTHON, &POSTGRES], false);
        let expected = vec!["tests that need Python", "tests that need PostgreSQL"];
        assert_eq!(skipped, Ok(expected));
    }

    #[test]
    fn nothing_goes_on_without_git() {
        let message = judge(&[&GIT, &POSTGRES], false).unwrap_err();
        assert!(message.contains("git: install git"), "{message}");
        assert!(!message.contains("PostgreSQL"), "{message}");
    }
}
