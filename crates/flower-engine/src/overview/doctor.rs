//! `flower doctor`: reports problems with evidence, and repairs what can be repaired without loss.

use crate::Overview;
use crate::findings::{bad, mended, ok};
use crate::profiles::config::Config;
use flower_contract::error::Problem;
use flower_contract::view::{Finding, FindingState};
use flower_git::repository::Repository;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The first git with `merge-tree --write-tree`.
const MIN_GIT: (u64, u64) = (2, 38);
/// With less free space a build or a database soon fails.
const MIN_FREE_BYTES: u64 = 1024 * 1024 * 1024;
/// git holds its locks for moments; an older one is left from a killed git.
const STALE_AFTER: Duration = Duration::from_secs(600);
/// Stale locks in one finding.
const MAX_FOUND: usize = 100;

impl Overview {
    /// Runs all checks; with `fix` also repairs. A repaired finding is `ok`, and says what was done.
    pub async fn doctor(&self, fix: bool) -> Result<Vec<Finding>, Problem> {
        let mut findings = vec![check_git().await, self.check_jail().await, self.check_log()];
        findings.push(check_disk("disk", self.home.dir()));
        findings.push(self.check_config());
        for project in self.projects.list().await? {
            let repository = match self.worktrees.repository_of(&project) {
                Ok(repository) => repository,
                Err(problem) => {
                    findings.push(bad("repository", problem.message, problem.hints.join("; ")));
                    continue;
                }
            };
            findings.push(check_disk("disk", &repository.git_dir));
            findings.push(check_locks(&repository, fix));
        }
        findings.extend(self.worktrees.check_all(fix).await?);
        Ok(findings)
    }

    async fn check_jail(&self) -> Finding {
        match self.worktrees.protection().await.missing.as_slice() {
            [] => ok("jail", "the kernel keeps sealed worktrees apart"),
            missing => bad(
                "jail",
                missing.join("; "),
                "worktrees can only be `--linked` here, where nothing protects MAIN, until that is changed",
            ),
        }
    }

    fn check_config(&self) -> Finding {
        match Config::load(&self.home) {
            Ok(_) => ok("config", "config.toml can be read, or there is none"),
            Err(problem) => bad("config", problem.message, "correct that file; until then no agent starts"),
        }
    }

    fn check_log(&self) -> Finding {
        match self.store.cut() {
            None => ok("log", format!("it ends with event {}", self.store.live().head())),
            Some(evidence) => bad("log", evidence, "`flower log verify` shows what is missing"),
        }
    }
}

async fn check_git() -> Finding {
    let needed = format!("install git {}.{} or newer", MIN_GIT.0, MIN_GIT.1);
    match flower_git::version().await {
        Err(error) => bad("git", error.to_string(), needed),
        Ok(version) => {
            let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
            let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
            let said = format!("git {version}");
            if found >= MIN_GIT { ok("git", said) } else { bad("git", said, needed) }
        }
    }
}

fn check_disk(check: &str, dir: &Path) -> Finding {
    match rustix::fs::statvfs(dir) {
        Err(error) => Finding {
            check: check.into(),
            state: FindingState::Unknown,
            evidence: format!("{}: {error}", dir.display()),
            fix: None,
        },
        Ok(disk) => {
            let free = disk.f_bavail * disk.f_frsize;
            let said = format!("{} MB free at {}", free / 1_000_000, dir.display());
            if free < MIN_FREE_BYTES {
                bad(check, said, "free some space; `flower worktree archive` shows what flower keeps")
            } else {
                ok(check, said)
            }
        }
    }
}

/// Looks for locks of killed git processes: old, and open in no process.
fn check_locks(repository: &Repository, fix: bool) -> Finding {
    let stale = stale_locks(&repository.git_dir);
    if stale.is_empty() {
        return ok("locks", format!("no stale lock in {}", repository.git_dir.display()));
    }
    let evidence = stale.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if !fix {
        return bad("locks", format!("{evidence}: old, and no process holds it"), "`flower doctor --fix` deletes it");
    }
    let failed = stale.iter().find_map(|path| fs::remove_file(path).err());
    mended("locks", evidence, failed.map_or_else(|| Ok("deleted".into()), |error| Err(error.to_string())))
}

fn stale_locks(git_dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    find_locks(git_dir, 0, &mut found);
    if !found.is_empty() {
        let open = open_files();
        found.retain(|path| !open.contains(path));
    }
    found.truncate(MAX_FOUND);
    found
}

/// `objects` is not searched: it has many files, and git leaves no locks there.
fn find_locks(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    const MAX_DEPTH: usize = 12;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let (path, Ok(kind)) = (entry.path(), entry.file_type()) else { continue };
        if kind.is_dir() && depth < MAX_DEPTH && !path.ends_with("objects") && !path.ends_with("modules") {
            find_locks(&path, depth + 1, found);
        }
        // flower's own lock is an flock; its file may be old.
        let is_lock = path.extension().is_some_and(|kind| kind == "lock") && !path.ends_with("flower.lock");
        let age = entry.metadata().and_then(|file| file.modified()).ok().and_then(|at| at.elapsed().ok());
        if kind.is_file() && is_lock && age.is_some_and(|age| age > STALE_AFTER) {
            found.push(path);
        }
    }
}

/// All files that processes have open, as far as this process may see them.
fn open_files() -> std::collections::HashSet<PathBuf> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let descriptors = processes.flat_map(|process| fs::read_dir(process.path().join("fd")).into_iter().flatten());
    descriptors.flatten().filter_map(|descriptor| fs::read_link(descriptor.path()).ok()).collect()
}
