//! Finds the programs that the tests need, and installs missing ones.

use std::path::Path;

use crate::postgres_binaries::Binaries;
use crate::run::{Program, minutes, seconds};
use crate::user::is_root;

/// Which optional programs are installed.
pub(crate) struct Tools {
    pub(crate) postgres: Option<Binaries>,
    pub(crate) python: bool,
    pub(crate) nextest: bool,
    pub(crate) chromium: bool,
    pub(crate) skipped: Vec<&'static str>,
}

struct Tool {
    name: &'static str,
    is_installed: fn() -> bool,
    debian_packages: &'static [&'static str],
    install_hint: &'static str,
    /// What is skipped if it is missing; `None` if it is required.
    skipped_without: Option<&'static str>,
}

const GIT: Tool = Tool {
    name: "git",
    is_installed: || answers("git"),
    debian_packages: &["git"],
    install_hint: "install git with your package manager",
    skipped_without: None,
};

const C_COMPILER: Tool = Tool {
    name: "a C compiler",
    is_installed: || answers("cc"),
    debian_packages: &["gcc", "libc6-dev"],
    install_hint: "install gcc or clang, so that `cc` runs",
    skipped_without: None,
};

const PYTHON: Tool = Tool {
    name: "python3",
    is_installed: || answers("python3"),
    debian_packages: &["python3"],
    install_hint: "install Python 3, so that `python3` runs",
    skipped_without: Some("tests that need Python"),
};

const IP: Tool = Tool {
    name: "ip",
    is_installed: || Path::new("/usr/sbin/ip").exists() || Path::new("/sbin/ip").exists() || answers("ip"),
    debian_packages: &["iproute2"],
    install_hint: "install iproute2 with your package manager, so that `ip` runs",
    skipped_without: None,
};

const POSTGRES: Tool = Tool {
    name: "PostgreSQL server, 14 or newer",
    is_installed: || Binaries::find().is_some(),
    debian_packages: &["postgresql"],
    install_hint: "install the server of PostgreSQL and put `postgres` and `initdb` on PATH",
    skipped_without: Some("tests that need PostgreSQL"),
};

const NEXTEST: Tool = Tool {
    name: "cargo-nextest",
    is_installed: || {
        let version = Program::cargo(seconds(30)).args(["nextest", "--version"]);
        version.output().is_ok()
    },
    debian_packages: &[],
    install_hint: "run `cargo install cargo-nextest --locked`",
    skipped_without: Some("nextest (`cargo test` runs the tests instead)"),
};

const NODE: Tool = Tool {
    name: "Node.js 20.19 or newer, with npm",
    is_installed: || answers("npm") && node_is_new_enough(),
    debian_packages: &["nodejs", "npm"],
    install_hint: "install Node.js with your package manager, so that `node` and `npm` run",
    skipped_without: None,
};

const CHROMIUM: Tool = Tool {
    name: "Chromium",
    is_installed: || answers("chromium-headless-shell") || answers("chromium"),
    debian_packages: &["chromium-headless-shell"],
    install_hint: "install Chromium, so that `chromium` runs",
    skipped_without: Some("tests of the page in a browser"),
};

const GIT_LFS: Tool = Tool {
    name: "git-lfs",
    is_installed: || answers("git-lfs"),
    debian_packages: &["git-lfs"],
    install_hint: "install git-lfs with your package manager",
    skipped_without: Some("tests that need git-lfs"),
};

const TOOLS: [&Tool; 9] = [&GIT, &GIT_LFS, &C_COMPILER, &PYTHON, &IP, &POSTGRES, &NEXTEST, &NODE, &CHROMIUM];

/// Installs missing programs where that is possible. A program that is still missing is an error in CI; elsewhere its
/// tests are skipped, so that a laptop without PostgreSQL can run the others.
pub(crate) fn require_tools() -> Result<Tools, String> {
    let missing = missing_tools();
    // A failed installation is only a warning; what is still missing is checked below.
    if let Err(message) = install(&missing) {
        eprintln!("warning: could not install everything: {message}");
    }
    let still_missing = if missing.is_empty() { missing } else { missing_tools() };
    let skipped = check_missing(&still_missing, in_ci())?;
    let is_installed = |name| still_missing.iter().all(|tool| tool.name != name);
    Ok(Tools {
        postgres: Binaries::find(),
        python: is_installed(PYTHON.name),
        nextest: is_installed(NEXTEST.name),
        chromium: is_installed(CHROMIUM.name),
        skipped,
    })
}

pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

/// Requires Node.js only, to build the page.
pub(crate) fn require_node() -> Result<(), String> {
    if (NODE.is_installed)() {
        return Ok(());
    }
    if let Err(message) = install(&[&NODE]) {
        eprintln!("warning: could not install it: {message}");
    }
    check_missing(if (NODE.is_installed)() { &[] } else { &[&NODE] }, true).map(|_| ())
}

/// `v20.19.2` or newer.
fn node_is_new_enough() -> bool {
    let Ok(said) = Program::new("node", seconds(30)).args(["--version"]).output() else { return false };
    let mut parts = said.trim().trim_start_matches('v').split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next(), parts.next()) >= (Some(20), Some(19))
}

fn missing_tools() -> Vec<&'static Tool> {
    TOOLS.into_iter().filter(|tool| !(tool.is_installed)()).collect()
}

pub(crate) fn answers(program: &str) -> bool {
    let version = Program::new(program, seconds(30)).args(["--version"]);
    version.output().is_ok()
}

fn check_missing(missing: &[&Tool], in_ci: bool) -> Result<Vec<&'static str>, String> {
    for tool in missing {
        eprintln!("missing: {}; to get it, {}", tool.name, tool.install_hint);
    }
    let fatal: Vec<String> = missing
        .iter()
        .filter(|tool| in_ci || tool.skipped_without.is_none())
        .map(|tool| format!("{}: {}", tool.name, tool.install_hint))
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

pub(crate) fn apt_is_usable() -> Result<bool, String> {
    Ok(Path::new("/etc/debian_version").exists() && answers("apt-get") && is_root()?)
}

pub(crate) fn install_debian_packages(packages: &[&str]) -> Result<(), String> {
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

/// Keeps Debian from starting a server when its package is installed; the tests start their own. An existing file is not
/// changed.
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
        let message = check_missing(&[&POSTGRES, &NEXTEST], true).unwrap_err();
        for tool in [POSTGRES, NEXTEST] {
            assert!(message.contains(tool.name), "{message}");
            assert!(message.contains(tool.install_hint), "{message}");
        }
    }

    #[test]
    fn outside_ci_tests_of_missing_programs_are_skipped() {
        let skipped = check_missing(&[&PYTHON, &POSTGRES], false);
        let expected = vec!["tests that need Python", "tests that need PostgreSQL"];
        assert_eq!(skipped, Ok(expected));
    }

    #[test]
    fn git_is_required() {
        let message = check_missing(&[&GIT, &POSTGRES], false).unwrap_err();
        assert!(message.contains("git: install git"), "{message}");
        assert!(!message.contains("PostgreSQL"), "{message}");
    }
}
