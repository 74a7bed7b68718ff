//! Disarms a repository's configuration: many of its settings name programs that git would run.

use crate::GitError;
use crate::command::Reach;
use crate::process::Run;
use crate::repository::Repository;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// Set for every command, so that neither the configuration nor a default runs a program or uses the network.
const PINNED_SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.splitIndex", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.sshCommand", "false"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("protocol.allow", "never"),
    // Measured on two cores: two checkout processes are a quarter faster than one, but slower below this many files.
    ("checkout.workers", "2"),
    ("checkout.thresholdForParallelism", "1000"),
];

/// Settings of the operator that commands with remotes use.
const LOGIN_SETTINGS: &[&str] = &["core.sshCommand", "credential.helper", "protocol.allow"];

/// The keys of a repository's configuration that name programs.
pub async fn programs(repository: &Repository) -> Result<Vec<String>, GitError> {
    let keys = keys(repository, &repository.git_dir).await?;
    let named = keys.iter().filter(|key| harmless_value(key).is_some());
    Ok(named.map(|key| String::from_utf8_lossy(key).into_owned()).collect())
}

/// Overrides all settings in `run` that name programs in the configuration that git reads in `git_dir`: the repository's own folder, or
/// that of one of its worktrees, which may have its own settings. `filter` are settings of flower's own, which stay.
pub(super) async fn disarm(
    repository: &Repository,
    git_dir: &Path,
    reach: Reach,
    filter: &[(OsString, OsString)],
    run: &mut Run,
) -> Result<(), GitError> {
    let known = Stamp::of(repository, git_dir);
    let cached = known.as_ref().and_then(|stamp| cached(git_dir, stamp));
    let own = match cached {
        Some(own) => own,
        None => {
            let keys = keys(repository, git_dir).await?;
            let own: Overrides = keys.iter().filter_map(|key| Some((key.clone(), harmless_value(key)?))).collect();
            // An included file can change without a change of the files that the stamp covers.
            let includes = keys.iter().any(|key| is_include(key));
            if let Some(stamp) = known.filter(|_| !includes) {
                CACHE.lock().expect("no panic while held").insert(git_dir.to_owned(), (stamp, own.clone()));
            }
            own
        }
    };
    let kept = |key: &str| reach == Reach::Nowhere || !LOGIN_SETTINGS.contains(&key);
    let always = PINNED_SETTINGS.iter().filter(|(key, _)| kept(key)).map(|&(key, value)| (OsString::from(key), value));
    // As bytes: a key that is not UTF-8 can name a program too.
    let own = own.into_iter().map(|(key, value)| (OsString::from_vec(key), value));
    let mut count = 0;
    // Of several values of one key, git takes the last.
    let all = always.chain(own).map(|(key, value)| (key, OsString::from(value))).chain(filter.iter().cloned());
    for (key, value) in all {
        run.env.push((format!("GIT_CONFIG_KEY_{count}").into(), key));
        run.env.push((format!("GIT_CONFIG_VALUE_{count}").into(), value));
        count += 1;
    }
    run.env.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
    Ok(())
}

type Key = Vec<u8>;
type Overrides = Vec<(Key, &'static str)>;

static CACHE: LazyLock<Mutex<HashMap<PathBuf, (Stamp, Overrides)>>> = LazyLock::new(Mutex::default);

fn cached(git_dir: &Path, stamp: &Stamp) -> Option<Overrides> {
    let cache = CACHE.lock().expect("no panic while held");
    cache.get(git_dir).filter(|(known, _)| known == stamp).map(|(_, own)| own.clone())
}

/// A stamp of the configuration files. Files that were written a moment ago are not cached: a second write within the resolution of
/// time stamps would not be noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp(Vec<Option<(u64, u64, i64, i64)>>);

impl Stamp {
    fn of(repository: &Repository, git_dir: &Path) -> Option<Stamp> {
        let seen = files(repository, git_dir).into_iter().map(|path| match fs::metadata(path) {
            Ok(file) => {
                let settled = file.modified().ok()?.elapsed().is_ok_and(|age| age > Duration::from_millis(100));
                settled.then(|| Some((file.ino(), file.size(), file.ctime(), file.ctime_nsec())))
            }
            Err(error) => (error.kind() == io::ErrorKind::NotFound).then_some(None),
        });
        seen.collect::<Option<Vec<_>>>().map(Stamp)
    }
}

/// The files of a configuration, without included ones.
fn files(repository: &Repository, git_dir: &Path) -> Vec<PathBuf> {
    let mut files = vec![repository.git_dir.join("config"), repository.git_dir.join("config.worktree")];
    if git_dir != repository.git_dir {
        files.push(git_dir.join("config.worktree"));
    }
    files
}

/// Every key that is set, also in worktree settings and included files. Reading runs no program.
async fn keys(repository: &Repository, git_dir: &Path) -> Result<Vec<Key>, GitError> {
    let mut run = Run::new("git".into(), Duration::from_secs(10));
    run.args.extend(["config", "--list", "--includes", "--name-only", "-z"].map(Into::into));
    run.dir = Some(repository.git_dir.clone());
    run.env.extend([
        ("GIT_DIR".into(), git_dir.into()),
        ("GIT_COMMON_DIR".into(), repository.git_dir.clone().into()),
        ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), "/nonexistent".into()),
        ("LC_ALL".into(), "C".into()),
    ]);
    let output = run.output().await?.require_success()?;
    let mut keys: Vec<Key> = output.items().map(<[u8]>::to_vec).collect();
    if keys.iter().any(|key| is_include(key)) {
        keys.extend(included(repository, git_dir).await?);
    }
    keys.sort();
    keys.dedup();
    Ok(keys)
}

fn is_include(key: &[u8]) -> bool {
    key.starts_with(b"include.") || key.starts_with(b"includeif.")
}

/// The keys of every conditionally included file: a condition that does not hold here may hold in processes that git starts, for
/// instance in a worktree that it creates.
async fn included(repository: &Repository, git_dir: &Path) -> Result<Vec<Key>, GitError> {
    /// More than real configurations have.
    const MAX_INCLUDED_FILES: usize = 100;
    let mut keys = Vec::new();
    let mut all: Vec<PathBuf> = files(repository, git_dir);
    let mut next = 0;
    while let Some(file) = all.get(next).cloned() {
        next += 1;
        if !file.is_file() {
            continue;
        }
        let mut run = Run::new("git".into(), Duration::from_secs(10));
        run.args.extend(["config", "--no-includes", "--list", "-z", "--file"].map(OsString::from));
        run.args.push(file.clone().into());
        run.dir = Some("/".into());
        run.env.extend([("GIT_CONFIG_NOSYSTEM".into(), "1".into()), ("LC_ALL".into(), "C".into())]);
        let output = run.output().await?.require_success()?;
        for item in output.items() {
            let (key, value) = item.split_at(item.iter().position(|&byte| byte == b'\n').unwrap_or(item.len()));
            keys.push(key.to_vec());
            if !is_include(key) {
                continue;
            }
            let named = resolved(&file, value.get(1..).unwrap_or_default());
            let too_many = all.len() >= MAX_INCLUDED_FILES;
            let path =
                named.filter(|_| !too_many).ok_or_else(|| GitError::Include { file: file.display().to_string() })?;
            if !all.contains(&path) {
                all.push(path);
            }
        }
    }
    Ok(keys)
}

/// The path of an included file. `None` for paths in another user's home, `~name/…`.
fn resolved(including: &Path, named: &[u8]) -> Option<PathBuf> {
    if let Some(below) = named.strip_prefix(b"~/") {
        // All other commands run without a home.
        let home = std::env::var_os("HOME").unwrap_or_else(|| "/nonexistent".into());
        return Some(PathBuf::from(home).join(OsStr::from_bytes(below)));
    }
    let plain = !named.is_empty() && !named.starts_with(b"~") && !named.starts_with(b"%(");
    plain.then(|| including.parent().unwrap_or(Path::new("/")).join(OsStr::from_bytes(named)))
}

/// The harmless value for a key that names a program; `None` for all others. Section and variable are in lower case, the subsection is
/// as written.
fn harmless_value(key: &[u8]) -> Option<&'static str> {
    let (first, last) = (key.iter().position(|&byte| byte == b'.')?, key.iter().rposition(|&byte| byte == b'.')?);
    // Only the subsection can contain any character.
    let (section, variable) = (str::from_utf8(&key[..first]).ok()?, str::from_utf8(&key[last + 1..]).ok()?);
    match (section, variable) {
        ("core", "fsmonitor") => Some("false"),
        ("core", "hookspath") => Some("/dev/null"),
        ("core", "sshcommand" | "editor" | "askpass" | "gitproxy" | "alternaterefscommand") => Some("false"),
        ("core", "pager") | ("pager", _) => Some("cat"),
        // An empty filter passes everything through; a required one would refuse instead.
        ("filter", "clean" | "smudge" | "process") => Some(""),
        ("filter", "required") => Some("false"),
        // A merge driver that fails makes a conflict. An empty one would silently take one side.
        ("merge", "driver") => Some("false"),
        ("diff", "external" | "command" | "textconv") => Some("false"),
        ("difftool" | "mergetool" | "browser" | "man", "cmd") => Some("false"),
        ("gpg", "program" | "defaultkeycommand") => Some("false"),
        ("credential", "helper") => Some(""),
        ("uploadpack", "packobjectshook") => Some("false"),
        ("sequence", "editor") | ("interactive", "difffilter") => Some("false"),
        ("trailer", "command" | "cmd") => Some("true"),
        ("hook", "command") => Some("true"),
        ("remote", "uploadpack" | "receivepack" | "vcs" | "proxy") => Some("false"),
        ("submodule", "update") => Some("none"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_their_keys() {
        for key in [
            "core.fsmonitor",
            "core.hookspath",
            "filter.lfs.process",
            "filter.a.b.clean",
            "merge.Ours.driver",
            "diff.pdf.textconv",
            "credential.https://x.example.helper",
            "gpg.ssh.program",
        ] {
            assert!(harmless_value(key.as_bytes()).is_some(), "{key}");
        }
        for key in ["core.bare", "user.name", "branch.main.remote", "remote.origin.url", "filter"] {
            assert_eq!(harmless_value(key.as_bytes()), None, "{key}");
        }
        assert!(harmless_value(b"filter.\xff.clean").is_some());
    }
}
