//! Removes a worktree without losing anything.
//!
//! `worktree_removing` is recorded, the directory is renamed, and the caller gets an answer. The rest happens in the background:
//! files that differ from the branch move to the archive, together with the private repository; files that git has are deleted.
//! Each step can be repeated, so after a crash the removal runs again from the beginning.

use super::disk;
use super::landed::LandedBefore;
use super::paths::{WorktreePaths, keep};
use crate::Worktrees;
use crate::home::Home;
use crate::lock;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{WorktreeState, WorktreeView};
use flower_core::event::WorktreeRemoved;
use flower_core::policy::{self, Action};
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Command, Worktree, WorktreeId};
use flower_git::repository::Repository;
use flower_git::{CommitId, OwnRef, RefUpdates, Repo};
use flower_store::dispatches;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ignored files beyond this size are left out of the archive, and listed: they are nearly always build output.
const MAX_IGNORED_BYTES: u64 = 256 * 1024 * 1024;
/// How long a removed worktree can be restored.
const KEPT_HOURS: i64 = 30 * 24;
/// How long a removal waits for flower's own processes in the worktree.
const OWN_PROCESS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the removal of a project waits for those of its worktrees.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);
/// Paths that are listed as left out.
const MAX_LEFT_OUT: usize = 50;
/// Empty directories that are restored; more than any tool makes on purpose.
const MAX_EMPTY_DIRS: usize = 10_000;

/// What happens to the files of a removed worktree. Saved before the first file moves.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ArchivePlan {
    pub(super) moved: Vec<OsString>,
    /// Tracked files that were deleted in the worktree; a restore deletes them again.
    pub(super) deleted: Vec<OsString>,
    /// Empty directories, which git does not track, and their permissions.
    #[serde(default)]
    pub(super) empty: Vec<(OsString, u32)>,
    left_out: Vec<String>,
    files: u64,
    bytes: u64,
}

impl Worktrees {
    pub async fn remove(
        self: &Arc<Self>,
        caller: &Caller,
        choice: &ProjectChoice,
        name: &str,
    ) -> Result<WorktreeView, Problem> {
        policy::require_action(caller, Action::RemoveWorktree)?;
        // A plain name cannot be a path that leads to MAIN.
        let name = flower_core::worktree::name(name)?;
        let worktree = self.find(choice, &name).await?;
        let place = self.paths(&worktree).await?;
        require_own(&self.home, &place)?;
        require_directory(&place)?;
        if let Some(process) = self.busy_process_after_wait(&worktree, &place).await {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{process} is at work in `{name}`"),
                "end it first, or leave its directory",
            ));
        }
        self.require_unclaimed(&worktree).await?;
        if place.seal == Seal::Sealed
            && worktree.stage == Stage::Ready
            && let Err(problem) = self.mirror(&place).await
        {
            // Nothing is lost: the archive gets the whole private repository.
            tracing::warn!("{name}: {}", problem.message);
        }
        // Without the lock another task could finish the removal between the record and the rename, and a new worktree of this
        // name would be renamed instead.
        let lock = self.lock_of(&place.folder);
        let holding = lock.lock().await;
        let events = self.store.execute(caller, Command::RemoveWorktree { number: worktree.number }).await?;
        // Empty if the removal was recorded before: then the request that recorded it moves the directory.
        if !events.is_empty() && disk::is_dir(&place.tree) {
            let trash = trash(&self.home, worktree.number);
            disk::make_private(&trash)
                .and_then(|()| disk::rename(&place.tree, &trash.join("tree")))
                .map_err(|error| self.home.problem(&place.tree, &error))?;
        }
        drop(holding);
        let mut view = WorktreeView::of(&worktree, place.tree.to_string_lossy().into_owned());
        view.state = WorktreeState::Removing;
        let (worktrees, number) = (self.clone(), worktree.number);
        tokio::spawn(async move {
            if let Err(problem) = worktrees.finish_removal(worktree).await {
                tracing::warn!("removing worktree {number}: {}; tried again at the next start", problem.message);
            }
        });
        Ok(view)
    }

    /// Waits until no removal of a worktree is under way in this project, for a minute at most.
    pub(crate) async fn wait_for_removals(&self, project: &str) -> Result<(), Problem> {
        let start = Instant::now();
        while start.elapsed() < REMOVAL_TIMEOUT {
            if !self.live(project).await?.iter().any(|worktree| worktree.stage == Stage::Removing) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Like [`busy_process`], but gives flower's own git processes a moment to end: after a landing flower merges inside.
    async fn busy_process_after_wait(&self, worktree: &Worktree, place: &WorktreePaths) -> Option<String> {
        let start = Instant::now();
        // Agents are descendants of this process too, but do not end within a moment.
        let has_agents = !self.agents_in(worktree).await.is_empty();
        loop {
            let process = busy_process(place)?;
            if has_agents || start.elapsed() > OWN_PROCESS_TIMEOUT || process_in(&place.tree, is_descendant).is_some() {
                return Some(process);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Fails if work in the worktree is claimed, or paths in it are reserved.
    async fn require_unclaimed(&self, worktree: &Worktree) -> Result<(), Problem> {
        let (project, name) = (worktree.project.clone(), worktree.name.clone());
        let read = self.store.read(move |conn| {
            let open = dispatches::in_worktree(conn, &project, &name)?;
            Ok((open, dispatches::leases(conn, Some((&project, &name)))?))
        });
        let (open, leases) = read.await?;
        let moment = self.clock.moment();
        let claim = open.iter().find_map(|dispatch| Some((dispatch.number, dispatch.claim.as_ref()?)));
        let (message, hint) = match (claim, leases.iter().find(|lease| !lease.is_over(&moment))) {
            (Some((number, claim)), _) => (
                format!("`{}` works on dispatch {number} in `{}`", claim.holder, worktree.name),
                format!("wait for it, or take it back: `flower dispatch cancel {number}`"),
            ),
            (None, Some(lease)) => (
                format!("`{}` has reserved paths in `{}`", lease.holder, worktree.name),
                format!("wait for it, or give them back: `flower lease release {}`", lease.number),
            ),
            (None, None) => return Ok(()),
        };
        Err(Problem::new(ProblemKind::Refused, message, hint))
    }

    /// Archives and deletes a worktree whose removal is recorded.
    pub(super) async fn finish_removal(&self, worktree: Worktree) -> Result<(), Problem> {
        let place = self.paths(&worktree).await?;
        require_own(&self.home, &place)?;
        let lock = self.lock_of(&place.repository.root);
        let _lock = lock.lock().await;
        let inner = self.lock_of(&place.folder);
        let _inner = inner.lock().await;
        let number = worktree.number;
        // Another task may have finished the removal while this one waited for the locks.
        let now = self.store.read(move |conn| flower_store::worktrees::worktree(conn, number)).await?;
        if now.is_none_or(|now| now.stage != Stage::Removing) {
            return Ok(());
        }
        let (trash, archive) = (trash(&self.home, number), archive(&self.home, number));
        let io = |error: std::io::Error| self.home.problem(&archive, &error);
        disk::make_private(&trash).map_err(io)?;
        disk::make_private(&archive).map_err(io)?;
        let tree = trash.join("tree");
        if disk::is_dir(&place.tree) && !tree.exists() {
            disk::rename(&place.tree, &tree).map_err(io)?;
        }
        // After a crash the saved plan counts: files that have moved already would be missing in a new one.
        let plan = match load_plan(&archive) {
            Some(plan) => plan,
            None => {
                let plan = make_plan(&place, &tree).await?;
                save_plan(&archive, &plan).map_err(io)?;
                plan
            }
        };
        for path in &plan.moved {
            if let Some(from) = disk::existing_beneath(&tree, Path::new(path)) {
                disk::move_replacing(&from, &archive.join("files").join(path)).map_err(io)?;
            }
        }
        // Caches of agents are copies, or can be made again.
        disk::delete(&place.folder.join("caches")).map_err(io)?;
        disk::delete(&place.tmp()).map_err(io)?;
        if place.leads_elsewhere(&tree) {
            disk::move_replacing(&tree.join(".git"), &place.displaced()).map_err(io)?;
        }
        disk::move_replacing(&place.folder, &archive.join("folder")).map_err(io)?;
        // Refs protect the archived commits before the branch may be deleted.
        let branch = place.repo().tip(&place.full_branch()).await?;
        let tip = branch.clone().map_or_else(|| CommitId::parse(&worktree.base), Ok)?;
        keep_in_archive(&place, number, &tip).await?;
        if let Some(admin) = place.admin() {
            disk::move_replacing(&admin, &archive.join("admin")).map_err(io)?;
        }
        let branch_kept = match branch {
            Some(branch) => !self.delete_if_in_main(&place, &worktree.project, &branch).await?,
            None => false,
        };
        let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(KEPT_HOURS);
        let gone = WorktreeRemoved {
            number,
            tip: tip.into(),
            branch_kept,
            files: plan.files,
            bytes: plan.bytes,
            left_out: plan.left_out,
            until: until.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        };
        self.store.execute(&Caller::system(), Command::WorktreeGone(gone)).await?;
        super::reclaim(&self.home, &trash);
        Ok(())
    }

    /// Deletes the branch if MAIN has all of it. Returns whether it was deleted.
    async fn delete_if_in_main(
        &self,
        place: &WorktreePaths,
        project: &str,
        branch: &CommitId,
    ) -> Result<bool, Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(false) };
        let landed = self.landed_before(&place.repository, project, place.number).await?;
        let in_main = is_in_main(&place.repository, &facts.main_tip, branch, &landed).await?;
        if in_main {
            place.repo().delete_ref(&place.full_branch(), branch).await?;
        }
        Ok(in_main)
    }

    /// Deletes the archive of a removed worktree.
    pub async fn drop_archive(&self, caller: &Caller, number: WorktreeId) -> Result<(), Problem> {
        let worktree = self.store.read(move |conn| flower_store::worktrees::worktree(conn, number)).await?;
        self.store.execute(caller, Command::DropArchive { number }).await?;
        if let Some(worktree) = worktree
            && let Ok(repository) = self.repository(&worktree.project).await
        {
            let repo = Repo::main(&repository);
            let mut updates = RefUpdates::new();
            repo.own_refs_below(&archive_refs(number)).await?.iter().for_each(|(name, _)| updates.delete(name));
            repo.update_refs(updates).await?;
        }
        super::reclaim(&self.home, &archive(&self.home, number));
        Ok(())
    }
}

/// Whether MAIN has all commits of a branch, or all of their changes.
pub(super) async fn is_in_main(
    repository: &Repository,
    main: &CommitId,
    branch: &CommitId,
    landed: &[LandedBefore],
) -> Result<bool, Problem> {
    Ok(Repo::main(repository).is_ancestor(branch, main).await?
        || LandedBefore::adds_nothing(landed, repository, main, branch).await?)
}

pub(super) fn trash(home: &Home, number: WorktreeId) -> PathBuf {
    home.trash().join(format!("worktree-{number}"))
}

pub(super) fn archive(home: &Home, number: WorktreeId) -> PathBuf {
    home.archive().join(number.to_string())
}

pub(super) fn archive_refs(number: WorktreeId) -> String {
    format!("refs/flower/archive/{number}/")
}

pub(super) fn load_plan(archive: &Path) -> Option<ArchivePlan> {
    serde_json::from_slice(&fs::read(archive.join("plan.json")).ok()?).ok()
}

fn save_plan(archive: &Path, plan: &ArchivePlan) -> std::io::Result<()> {
    crate::home::write_private(&archive.join("plan.json"), &serde_json::to_string(plan).expect("plain data"))
}

/// Fails unless the directory lies below FLOWER_HOME's worktrees, and is neither MAIN nor one of its parents.
fn require_own(home: &Home, place: &WorktreePaths) -> Result<(), Problem> {
    let worktrees = home.worktrees().canonicalize().map_err(|error| home.problem(&home.worktrees(), &error))?;
    let inside = place.tree.starts_with(&worktrees) && place.tree != worktrees;
    if inside && !place.repository.root.starts_with(&place.tree) {
        return Ok(());
    }
    Err(Problem::new(
        ProblemKind::Refused,
        format!("{} is no worktree of flower's", place.tree.display()),
        "MAIN is never removed",
    ))
}

/// Fails if something other than a directory is in place of the worktree: it is not flower's.
fn require_directory(place: &WorktreePaths) -> Result<(), Problem> {
    match fs::symlink_metadata(&place.tree) {
        Ok(found) if !found.is_dir() => Err(Problem::new(
            ProblemKind::Refused,
            format!("{} is no directory any more", place.tree.display()),
            "move away what is there, then remove it again",
        )),
        _ => Ok(()),
    }
}

/// A process that works in the worktree: in its jail, or with a working directory below it. Commands of flower do not count.
pub(crate) fn busy_process(place: &WorktreePaths) -> Option<String> {
    // flower's own git processes only read.
    busy_process_except(place, |pid| is_child(pid) || is_flower(pid))
}

/// Like [`busy_process`], but a shell in which `flower worktree sync` runs does not count: it waits for that command. Other commands
/// prove nothing: an agent is at work while its `flower mcp` runs.
pub(crate) fn busy_process_besides_waiting_shells(place: &WorktreePaths) -> Option<String> {
    let commands = pids_in(&place.tree).filter(|pid| is_flower(*pid) && has_argument(*pid, b"sync"));
    let waiting: HashSet<u32> = commands.flat_map(ancestors).collect();
    busy_process_except(place, |pid| is_child(pid) || is_flower(pid) || waiting.contains(&pid))
}

fn busy_process_except(place: &WorktreePaths, is_excepted: impl Fn(u32) -> bool) -> Option<String> {
    // The lock also covers processes that this user cannot list.
    let is_jailed = lock::is_held(&place.lock());
    process_in(&place.tree, is_excepted).or_else(|| is_jailed.then(|| "something in its jail".to_owned()))
}

/// A process with the working directory below `tree`, except those that `is_excepted` accepts.
fn process_in(tree: &Path, is_excepted: impl Fn(u32) -> bool) -> Option<String> {
    let pid = pids_in(tree).find(|pid| !is_excepted(*pid))?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim_end()))
}

fn pids_in(tree: &Path) -> impl Iterator<Item = u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(move |pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|dir| dir.starts_with(tree)))
}

/// Whether a process is a command of flower, such as the one that asks.
fn is_flower(pid: u32) -> bool {
    let program = |pid: &str| fs::read_link(format!("/proc/{pid}/exe")).ok();
    program("self").is_some_and(|own| program(&pid.to_string()) == Some(own))
}

fn has_argument(pid: u32, argument: &[u8]) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    line.split(|&byte| byte == 0).any(|word| word == argument)
}

/// Whether this process started `pid`.
fn is_child(pid: u32) -> bool {
    parent(pid) == Some(std::process::id())
}

/// Whether this process started `pid` or one of its ancestors. A program in a jail is a grandchild.
fn is_descendant(pid: u32) -> bool {
    ancestors(pid).any(|pid| pid == std::process::id())
}

/// A process, its parent, and so on.
fn ancestors(pid: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(pid), |pid| parent(*pid))
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// Finds what of `tree` is not on the branch. Empty if the directory does not exist.
async fn make_plan(place: &WorktreePaths, tree: &Path) -> Result<ArchivePlan, Problem> {
    let Some(admin) = place.admin() else {
        // git does not list the worktree, so all files are archived.
        let all = fs::read_dir(tree).into_iter().flatten().flatten();
        let names = all.map(|entry| entry.file_name()).filter(|name| name != ".git");
        return Ok(measured(tree, ArchivePlan { moved: names.collect(), ..ArchivePlan::default() }));
    };
    if !tree.exists() {
        return Ok(ArchivePlan::default());
    }
    // git would block on FIFOs named like its own files, and the removal would never end.
    let below = tree.to_owned();
    let deleting = tokio::task::spawn_blocking(move || super::special_files::delete_below(&below));
    deleting
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| crate::home::problem(tree, &error))?;
    let linked = Repo::linked(&place.repository, &admin, tree);
    let mut plan = ArchivePlan::default();
    let mut ignored = Vec::new();
    for status in linked.uncommitted_and_ignored().await? {
        let path = status.path.as_bytes();
        let path: &Path = Path::new(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path)));
        if status.is_ignored {
            ignored.push(path.to_owned());
        } else if disk::existing_beneath(tree, path).is_some() {
            plan.moved.push(path.into());
        } else {
            plan.deleted.push(path.into());
        }
    }
    plan = measured(tree, plan);
    ignored.extend(filled_submodules(&linked, tree).await?);
    // The smallest first: settings and secrets are small, build output is large.
    let mut sized: Vec<(u64, u64, PathBuf)> = ignored
        .into_iter()
        .map(|path| {
            let (bytes, files) = disk::size(&tree.join(&path), MAX_IGNORED_BYTES);
            (bytes, files, path)
        })
        .collect();
    sized.sort();
    let mut room = MAX_IGNORED_BYTES;
    for (bytes, files, path) in sized {
        // This folder has mostly links to shared files: its size does not count.
        if path == Path::new(super::setup::FOLDER) {
            plan.moved.push(path.into());
            continue;
        }
        if bytes <= room {
            room -= bytes;
            plan.bytes += bytes;
            plan.files += files;
            plan.moved.push(path.into());
        } else if plan.left_out.len() < MAX_LEFT_OUT {
            plan.left_out.push(path.to_string_lossy().into_owned());
        }
    }
    plan.empty = empty_directories(tree, &plan);
    Ok(plan)
}

/// Empty directories that do not move together with a parent.
fn empty_directories(tree: &Path, plan: &ArchivePlan) -> Vec<(OsString, u32)> {
    let left_out = plan.left_out.iter().map(PathBuf::from);
    let elsewhere: HashSet<PathBuf> = plan.moved.iter().map(PathBuf::from).chain(left_out).collect();
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let (Some(path), true) = (waiting.pop(), found.len() < MAX_EMPTY_DIRS) {
        let dir = tree.join(&path);
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        let mut is_empty = true;
        for entry in entries.flatten() {
            is_empty = false;
            let below = path.join(entry.file_name());
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_dir && below != Path::new(".git") && !elsewhere.contains(&below) {
                waiting.push(below);
            }
        }
        if is_empty && let Ok(dir) = fs::symlink_metadata(&dir) {
            found.push((path.into(), dir.permissions().mode()));
        }
    }
    found
}

/// Submodules that have files. `git status` does not report changes in them, so all of their files are archived.
async fn filled_submodules(linked: &Repo, tree: &Path) -> Result<Vec<PathBuf>, Problem> {
    let paths = linked.gitlinks().await?.into_iter().map(|(path, _)| path);
    let is_filled = |path: &Path| fs::read_dir(tree.join(path)).is_ok_and(|mut entries| entries.next().is_some());
    Ok(paths.filter(|path| is_filled(path)).collect())
}

fn measured(tree: &Path, mut plan: ArchivePlan) -> ArchivePlan {
    for path in &plan.moved {
        let (bytes, files) = disk::size(&tree.join(path), u64::MAX);
        plan.bytes += bytes;
        plan.files += files;
    }
    plan
}

/// Moves the refs that protect borrowed commits from the worktree to the archive, and protects the tip and the staged tree.
async fn keep_in_archive(place: &WorktreePaths, number: WorktreeId, tip: &CommitId) -> Result<(), Problem> {
    let archive = archive_refs(number);
    let repo = place.repo();
    let mut updates = RefUpdates::new();
    updates.set(&OwnRef::parse(&format!("{archive}{tip}"))?, tip);
    for (name, commit) in repo.own_refs_below(&keep(&place.name)).await? {
        updates.set(&OwnRef::parse(&format!("{archive}{commit}"))?, &commit);
        updates.delete(&name);
    }
    // Staged changes are in no commit.
    if place.seal == Seal::Linked
        && let Some(linked) = place.linked()
        && let Some(staged) = linked.staged_tree().await?
    {
        updates.set(&OwnRef::parse(&format!("{archive}staged"))?, &staged);
    }
    Ok(repo.update_refs(updates).await?)
}
