//! What the commands of `[checks] prepare` make, such as a virtual environment: files that git does not track, the home folder and
//! the build caches of a candidate. Each check gets a copy.
//!
//! A result is reused by later checks with the same commands, lock files and manifests only if it was made in a commit that has
//! landed: a branch that was rejected cannot leave anything behind. Until then only checks of the very same tree use it.

use super::candidate::Phase;
use super::check_log::LoggedCommand;
use super::check_runner::{CheckJob, PREPARE, jail_inputs};
use crate::MergeQueue;
use crate::home::{Home, random_hex};
use crate::worktrees::paths::WorktreePaths;
use crate::worktrees::{disk, reclaim, setup};
use flower_contract::error::Problem;
use flower_core::chain::sha256;
use flower_core::landing::Check;
use flower_git::{Repo, TreeEntry, TreeId, TreeListing};
use serde_json::json;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// For one command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// Results that are kept for each project; the ones used last. Branches with other lock files come and go.
const MAX_KEPT: usize = 3;
/// Results of trees that have not landed.
const MAX_PENDING: usize = 4;

/// Files that decide what a preparation makes, by name. Of others, only those that a command names do.
const MANIFESTS: &[&str] = &[
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    ".pnpmfile.cjs",
    "yarn.lock",
    ".yarnrc.yml",
    ".yarnrc",
    ".npmrc",
    "bun.lock",
    "bun.lockb",
    "bunfig.toml",
    ".nvmrc",
    ".node-version",
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "uv.lock",
    "uv.toml",
    "poetry.lock",
    "pdm.lock",
    "Pipfile",
    "Pipfile.lock",
    ".python-version",
    "environment.yml",
    "conda-lock.yml",
    "composer.json",
    "composer.lock",
    "go.mod",
    "go.sum",
    "go.work",
    "go.work.sum",
    "Gemfile",
    "Gemfile.lock",
    ".ruby-version",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle.properties",
    "gradle.lockfile",
    "gradle-wrapper.properties",
    "libs.versions.toml",
    "mix.exs",
    "mix.lock",
    "flake.nix",
    "flake.lock",
    "deno.json",
    "deno.lock",
    ".tool-versions",
    "mise.toml",
];

/// The results of trees that have not landed, oldest first.
#[derive(Default)]
pub(super) struct PendingPreparations(Mutex<Vec<Pending>>);

struct Pending {
    project: String,
    tree: String,
    prepared: Arc<Prepared>,
}

/// The result of a preparation.
pub(super) struct Prepared {
    key: String,
    dir: PathBuf,
    /// Deletes it, unless it was made in a commit that has landed.
    reclaim: Option<Home>,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        if let Some(home) = &self.reclaim {
            reclaim(home, &self.dir);
        }
    }
}

impl Prepared {
    fn tree(&self) -> PathBuf {
        self.dir.join("tree")
    }

    /// Copies the result into a fresh candidate. What the candidate's commit has itself is left as it is.
    pub(super) async fn copy_into(self: &Arc<Self>, place: &WorktreePaths) -> io::Result<()> {
        let (prepared, place) = (self.clone(), place.clone());
        let copying = tokio::task::spawn_blocking(move || {
            copy_missing(&prepared.tree(), &place.tree)?;
            for (from, to) in [("home", place.home()), ("caches", place.folder.join("caches"))] {
                let from = prepared.dir.join(from);
                if from.is_dir() {
                    disk::copy(&from, &to)?;
                }
            }
            Ok(())
        });
        copying.await.map_err(io::Error::other)?
    }
}

/// Copies what the target does not have. Links are neither followed nor replaced.
fn copy_missing(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, at) = (entry.path(), to.join(entry.file_name()));
        match fs::symlink_metadata(&at) {
            Err(_) => disk::copy(&path, &at)?,
            Ok(found) if found.is_dir() && entry.file_type()?.is_dir() => copy_missing(&path, &at)?,
            Ok(_) => {}
        }
    }
    Ok(())
}

impl MergeQueue {
    /// Runs `[checks] prepare` for a job, unless its result is there. The second value is absent only if a command failed.
    pub(super) async fn prepare_checks(&self, job: &CheckJob<'_>) -> Result<(Check, Option<Arc<Prepared>>), Problem> {
        let listing = Repo::main(job.series.repository).list_everything(job.tree).await?;
        let key = preparation_key(job, &listing).await;
        if let Some((prepared, why)) = key.as_ref().and_then(|key| self.find_prepared(job, key)) {
            return Ok((job.prepared_before(why), Some(prepared)));
        }
        let candidate = self.make_candidate(job, Phase::Prepare, 0, None).await?;
        let commands = job.series.settings.checks.prepare.iter();
        let commands: Vec<LoggedCommand<'_>> =
            commands.map(|text| LoggedCommand { text, timeout: COMMAND_TIMEOUT }).collect();
        let result = self.run_in(job, &candidate, PREPARE, &commands, Phase::Prepare).await?;
        if !result.ok {
            return Ok((result, None));
        }
        let dir =
            self.home.in_project(self.home.candidates(), job.series.project).join(format!("prepared-{}", random_hex()));
        let io = |error: io::Error| self.home.problem(&dir, &error);
        let (place, to) = (candidate.paths.clone(), dir.clone());
        let collecting = tokio::task::spawn_blocking(move || collect(&place, &listing, &to));
        collecting.await.map_err(io::Error::other).and_then(|collected| collected).map_err(io)?;
        let reclaim = Some(self.home.clone());
        let prepared = Arc::new(Prepared { key: key.clone().unwrap_or_default(), dir: dir.clone(), reclaim });
        if key.is_some() {
            self.add_pending(job, &prepared);
        }
        Ok((result, Some(prepared)))
    }

    fn add_pending(&self, job: &CheckJob<'_>, prepared: &Arc<Prepared>) {
        let mut pending = self.pending_preparations.0.lock().expect("no panic while held");
        let (project, tree) = (job.series.project.to_owned(), job.tree.to_string());
        pending.push(Pending { project, tree, prepared: prepared.clone() });
        let over = pending.len().saturating_sub(MAX_PENDING);
        pending.drain(..over);
    }

    /// The result for this key, and what it comes from.
    fn find_prepared(&self, job: &CheckJob<'_>, key: &str) -> Option<(Arc<Prepared>, &'static str)> {
        let same = |known: &&Pending| {
            known.project == job.series.project && known.tree == job.tree.as_str() && known.prepared.key == key
        };
        let pending = self.pending_preparations.0.lock().expect("no panic while held");
        if let Some(known) = pending.iter().find(same) {
            return Some((known.prepared.clone(), "for the same tree"));
        }
        let dir = self.home.in_project(self.home.prepared(), job.series.project).join(key);
        // Its time says when it was used last.
        fs::File::open(&dir).and_then(|dir| dir.set_modified(SystemTime::now())).ok()?;
        let prepared = Arc::new(Prepared { key: key.to_owned(), dir, reclaim: None });
        Some((prepared, "in a commit that has landed, with the same lock files and commands"))
    }

    /// Keeps the result that was made for a tree, because the tree is MAIN's now.
    pub(super) fn keep_prepared(&self, project: &str, tree: &TreeId) {
        let found = {
            let mut pending = self.pending_preparations.0.lock().expect("no panic while held");
            let at = pending.iter().position(|known| known.project == project && known.tree == tree.as_str());
            at.map(|at| pending.remove(at))
        };
        // One that is in use elsewhere is not kept: the next landing makes it again.
        let Some(mut prepared) = found.and_then(|pending| Arc::try_unwrap(pending.prepared).ok()) else { return };
        let folder = self.home.in_project(self.home.prepared(), project);
        let to = folder.join(&prepared.key);
        let kept = disk::make_private(&folder)
            .and_then(|()| if to.exists() { Ok(()) } else { fs::rename(&prepared.dir, &to) });
        match kept {
            Ok(()) if !prepared.dir.exists() => prepared.reclaim = None,
            Ok(()) => {}
            Err(error) => tracing::warn!("{}: {error}", to.display()),
        }
        let used_last = |dir: &fs::DirEntry| dir.metadata().and_then(|found| found.modified()).ok();
        let mut all: Vec<fs::DirEntry> = fs::read_dir(&folder).into_iter().flatten().flatten().collect();
        all.sort_by_key(|dir| std::cmp::Reverse(used_last(dir)));
        for old in all.iter().skip(MAX_KEPT) {
            reclaim(&self.home, &old.path());
        }
    }
}

impl CheckJob<'_> {
    fn prepared_before(&self, why: &str) -> Check {
        let log = super::check_log::log_name(self.run, PREPARE);
        let _ = fs::write(self.series.folder.join(&log), format!("prepared before, {why}; reused\n"));
        let (name, reused) = (PREPARE.to_owned(), Some(why.to_owned()));
        Check { name, ok: true, code: 0, milliseconds: 0, log, skipped: false, reused }
    }
}

/// The digest of what decides the result of a preparation. `None` if flower cannot know it, so that it is not reused.
async fn preparation_key(job: &CheckJob<'_>, listing: &TreeListing) -> Option<String> {
    if !job.series.settings.worktree.read.is_empty() {
        return None;
    }
    let carried = setup::carried_digest(&job.series.repository.root, &job.series.settings.worktree).await?;
    let commands = &job.series.settings.checks.prepare;
    let names_file = |path: &str| {
        let plain = |word: &str| word.trim_start_matches("./") == path;
        commands.iter().any(|command| command.split(|c: char| c.is_whitespace() || "\"'=;&|()".contains(c)).any(plain))
    };
    let decides = |entry: &TreeEntry<'_>| {
        let path = Path::new(entry.path);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        MANIFESTS.contains(&name)
            || (name.starts_with("requirements") || path.starts_with("requirements"))
                && matches!(extension(path), "txt" | "in")
            || entry.path.to_str().is_some_and(names_file)
    };
    let files: Vec<(String, &str)> = listing
        .entries()
        .filter(|entry| entry.kind != "tree" && decides(entry))
        .map(|entry| (entry.path.to_string_lossy().into_owned(), entry.id))
        .collect();
    // Nothing says what it depends on, so it depends on everything.
    let tree = files.is_empty().then(|| job.tree.to_string());
    Some(sha256(json!([jail_inputs(job.series.settings, &carried), files, tree]).to_string().as_bytes()))
}

fn extension(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Moves what the preparation has made out of its candidate.
fn collect(place: &WorktreePaths, listing: &TreeListing, to: &Path) -> io::Result<()> {
    disk::delete(to)?;
    disk::make_private(to)?;
    let tracked: HashMap<&[u8], bool> =
        listing.entries().map(|entry| (entry.path.as_bytes(), entry.kind == "tree")).collect();
    let tree = to.join("tree");
    fs::create_dir(&tree)?;
    move_untracked(&place.tree, &tree, Path::new(""), &tracked)?;
    disk::rename(&place.home(), &to.join("home"))?;
    // Of the overlays only the files: the kernel's own folder beside them cannot be copied.
    for cache in fs::read_dir(place.folder.join("caches")).into_iter().flatten().flatten() {
        let own = to.join("caches").join(cache.file_name());
        fs::create_dir_all(&own)?;
        disk::rename(&cache.path().join("upper"), &own.join("upper"))?;
    }
    Ok(())
}

/// Moves the files below `dir` that the tree does not have. Links are moved, not followed.
fn move_untracked(from: &Path, to: &Path, dir: &Path, tracked: &HashMap<&[u8], bool>) -> io::Result<()> {
    for entry in fs::read_dir(from.join(dir))? {
        let entry = entry?;
        let path = dir.join(entry.file_name());
        if path == Path::new(".git") {
            continue;
        }
        match tracked.get(path.as_os_str().as_bytes()) {
            None => {
                if let Some(above) = to.join(&path).parent() {
                    fs::create_dir_all(above)?;
                }
                disk::rename(&from.join(&path), &to.join(&path))?;
            }
            Some(true) if entry.file_type()?.is_dir() => move_untracked(from, to, &path, tracked)?,
            Some(_) => {}
        }
    }
    Ok(())
}
