//! Disarming a repository's configuration: much of what can be set in it is a program that git would run.

use super::process::{GitError, Run};
use crate::repository::Repository;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

/// Always said, so that neither a configuration nor a default runs or reaches anything.
const ALWAYS: &[(&str, &str)] = &[
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
    ("protocol.file.allow", "always"),
    // Two checkout processes were a quarter faster than one on two cores; below this many files they are slower.
    ("checkout.workers", "2"),
    ("checkout.thresholdForParallelism", "1000"),
];

/// The keys of a repository's configuration that name programs.
pub async fn programs(repository: &Repository) -> Result<Vec<String>, GitError> {
    Ok(keys(repository).await?.into_iter().filter(|key| harmless(key).is_some()).collect())
}

/// Adds to `run` what takes the teeth out of the repository's configuration.
pub(super) async fn disarm(repository: &Repository, run: &mut Run) -> Result<(), GitError> {
    let known = Stamp::of(&repository.git_dir);
    let cached = known.as_ref().and_then(|stamp| cached(&repository.git_dir, stamp));
    let own = match cached {
        Some(own) => own,
        None => {
            let keys = keys(repository).await?;
            let own: Overrides = keys.iter().filter_map(|key| Some((key.clone(), harmless(key)?))).collect();
            // A file that is included can change without the configuration's own changing.
            let includes = keys.iter().any(|key| key.starts_with("include"));
            if let Some(stamp) = known.filter(|_| !includes) {
                CACHE.lock().expect("no panic while held").insert(repository.git_dir.clone(), (stamp, own.clone()));
            }
            own
        }
    };
    let all = ALWAYS.iter().copied().chain(own.iter().map(|(key, value)| (key.as_str(), *value)));
    let mut count = 0;
    for (key, value) in all {
        run.env.push((format!("GIT_CONFIG_KEY_{count}").into(), key.into()));
        run.env.push((format!("GIT_CONFIG_VALUE_{count}").into(), value.into()));
        count += 1;
    }
    run.env.push(("GIT_CONFIG_COUNT".into(), count.to_string().into()));
    Ok(())
}

type Overrides = Vec<(String, &'static str)>;

static CACHE: LazyLock<Mutex<HashMap<PathBuf, (Stamp, Overrides)>>> = LazyLock::new(Mutex::default);

fn cached(git_dir: &Path, stamp: &Stamp) -> Option<Overrides> {
    let cache = CACHE.lock().expect("no panic while held");
    cache.get(git_dir).filter(|(known, _)| known == stamp).map(|(_, own)| own.clone())
}

/// Which state of the configuration was read. One written in this moment could change again without a trace, so it is not
/// remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp(u64, u64, i64, i64);

impl Stamp {
    fn of(git_dir: &Path) -> Option<Stamp> {
        let file = fs::metadata(git_dir.join("config")).ok()?;
        let settled = file.modified().ok()?.elapsed().is_ok_and(|age| age > Duration::from_millis(100));
        settled.then(|| Stamp(file.ino(), file.size(), file.ctime(), file.ctime_nsec()))
    }
}

/// Every key that is set, worktree settings and included files among them. Reading runs nothing.
async fn keys(repository: &Repository) -> Result<Vec<String>, GitError> {
    let mut run = Run::new("git".into(), Duration::from_secs(10));
    run.args.extend(["config", "--list", "--includes", "--name-only", "-z"].map(Into::into));
    run.dir = Some(repository.git_dir.clone());
    run.env.extend([
        ("GIT_DIR".into(), repository.git_dir.clone().into()),
        ("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()),
        ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
        ("HOME".into(), "/nonexistent".into()),
        ("LC_ALL".into(), "C".into()),
    ]);
    let output = run.output().await?.require_success()?;
    let mut keys: Vec<String> = output.items().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
    keys.sort();
    keys.dedup();
    Ok(keys)
}

/// What a key that names a program is set to instead; nothing for all others. Section and variable are lower case, the
/// part between them is as it was written.
fn harmless(key: &str) -> Option<&'static str> {
    let (section, rest) = key.split_once('.')?;
    let variable = rest.rsplit('.').next()?;
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
            assert!(harmless(key).is_some(), "{key}");
        }
        for key in ["core.bare", "user.name", "branch.main.remote", "remote.origin.url", "filter"] {
            assert_eq!(harmless(key), None, "{key}");
        }
    }
}
