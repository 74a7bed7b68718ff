//! Removing a worktree, and losing nothing by it.
//!
//! First the tombstone, then its directory leaves by a rename, and the caller has an answer. The rest happens behind:
//! whatever differs from the branch moves to the archive, together with the private repository; what git has is deleted.
//! Every step can be repeated, so a crash anywhere is mended by doing it again.

use super::disk;
use super::paths::{WorktreePaths, keep};
use crate::Worktrees;
use crate::home::Home;
use crate::lock;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::WorktreeView;
use flower_core::event::WorktreeRemoved;
use flower_core::policy::{self, Action};
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Command, Worktree};
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

/// Ignored files beyond this are build output far more often than anything precious; they are left out, and said so.
const MOST_IGNORED: u64 = 256 * 1024 * 1024;
/// How long something removed can be brought back.
const KEPT_HOURS: i64 = 30 * 24;
/// How long flower's own work in a worktree may take before its removal is refused.
const OWN_WORK: Duration = Duration::from_secs(5);
/// Enough to see what it is about.
const MOST_LEFT_OUT: usize = 50;
/// Directories with nothing in them that come back; more than any tool makes on purpose.
const MOST_EMPTY: usize = 10_000;

/// What happens to the files of a worktree that goes, written down before the first one moves.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) moved: Vec<OsString>,
    /// Tracked files that had been deleted, to be deleted again.
    pub(super) deleted: Vec<OsString>,
    /// Directories with nothing in them, which git does not know, and their permissions.
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
        // Names only: no path, link or spelling leads to MAIN from here.
        let name = flower_core::worktree::name(name)?;
        let worktree = self.find(choice, &name).await?;
        let place = self.place(&worktree).await?;
        require_own(&self.home, &place)?;
        require_nothing_else(&place)?;
        if let Some(who) = self.still_at_work(&worktree, &place).await {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("{who} is at work in `{name}`"),
                "end it first, or leave its directory",
            ));
        }
        self.require_unclaimed(&worktree).await?;
        if place.seal == Seal::Sealed
            && worktree.stage == Stage::Ready
            && let Err(problem) = self.mirror(&place).await
        {
            // Nothing is lost by it: the private repository goes to the archive as it is.
            tracing::warn!("{name}: {}", problem.message);
        }
        // Until it is moved nobody else finishes the removal, after which the directory could be the next worktree's.
        let lock = self.lock_of(&place.folder);
        let holding = lock.lock().await;
        let events = self.store.execute(caller, Command::RemoveWorktree { number: worktree.number }).await?;
        // Only whoever put up the tombstone moves it.
        if !events.is_empty() && disk::is_dir(&place.tree) {
            let trash = trash(&self.home, worktree.number);
            disk::make_private(&trash)
                .and_then(|()| disk::rename(&place.tree, &trash.join("tree")))
                .map_err(|error| self.home.problem(&place.tree, &error))?;
        }
        drop(holding);
        let mut view = WorktreeView::of(&worktree, place.tree.to_string_lossy().into_owned());
        view.state = "removing".into();
        let (app, number) = (self.clone(), worktree.number);
        tokio::spawn(async move {
            if let Err(problem) = app.finish_removal(worktree).await {
                tracing::warn!("removing worktree {number}: {}; tried again at the next start", problem.message);
            }
        });
        Ok(view)
    }

    /// The same as [`at_work`], but git processes of flower's own get a moment to end: after a landing flower merges inside.
    async fn still_at_work(&self, worktree: &Worktree, place: &WorktreePaths) -> Option<String> {
        let start = Instant::now();
        // Agents are started by this process as well, and do not end by themselves.
        let has_agents = !self.agents_in(worktree).await.is_empty();
        loop {
            let who = at_work(place)?;
            if has_agents || start.elapsed() > OWN_WORK || process_in(&place.tree, is_descendant).is_some() {
                return Some(who);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Nobody holds a claim on work in it, or has reserved paths there.
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

    /// Everything after the tombstone.
    pub(super) async fn finish_removal(&self, worktree: Worktree) -> Result<(), Problem> {
        let place = self.place(&worktree).await?;
        require_own(&self.home, &place)?;
        let lock = self.lock_of(&place.repository.root);
        let _lock = lock.lock().await;
        let inner = self.lock_of(&place.folder);
        let _inner = inner.lock().await;
        let number = worktree.number;
        // Somebody else may have finished it meanwhile.
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
        let plan = match load_plan(&archive) {
            Some(plan) => plan,
            None => {
                let plan = make_plan(&place, &tree).await?;
                save_plan(&archive, &plan).map_err(io)?;
                plan
            }
        };
        for path in &plan.moved {
            if let Some(from) = disk::beneath(&tree, Path::new(path)) {
                disk::move_over(&from, &archive.join("files").join(path)).map_err(io)?;
            }
        }
        // An agent's caches are copies of others, or made anew.
        disk::delete(&place.folder.join("caches")).map_err(io)?;
        disk::delete(&place.tmp()).map_err(io)?;
        if place.leads_elsewhere(&tree) {
            disk::move_over(&tree.join(".git"), &place.displaced()).map_err(io)?;
        }
        disk::move_over(&place.folder, &archive.join("folder")).map_err(io)?;
        let branch = place.repo().tip(&place.full_branch()).await?;
        let tip = branch.clone().map_or_else(|| CommitId::parse(&worktree.base), Ok)?;
        keep_in_archive(&place, number, &tip).await?;
        if let Some(admin) = place.admin() {
            disk::move_over(&admin, &archive.join("admin")).map_err(io)?;
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

    /// A branch goes only when all that is on it is proved to be in MAIN.
    async fn delete_if_in_main(
        &self,
        place: &WorktreePaths,
        project: &str,
        branch: &CommitId,
    ) -> Result<bool, Problem> {
        let Ok(facts) = self.facts_of(project).await else { return Ok(false) };
        let in_main = is_in_main(&place.repository, &facts.main_tip, branch).await?;
        if in_main {
            place.repo().delete_ref(&place.full_branch(), branch).await?;
        }
        Ok(in_main)
    }

    /// Deletes what was kept.
    pub async fn drop_archive(&self, caller: &Caller, number: u64) -> Result<(), Problem> {
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

/// Whether MAIN has all of a branch, as commits or as what they change.
pub(super) async fn is_in_main(repository: &Repository, main: &CommitId, branch: &CommitId) -> Result<bool, Problem> {
    let repo = Repo::main(repository);
    Ok(repo.is_ancestor(branch, main).await? || repo.merge_changes_nothing(main, branch).await?)
}

pub(super) fn trash(home: &Home, number: u64) -> PathBuf {
    home.trash().join(format!("worktree-{number}"))
}

pub(super) fn archive(home: &Home, number: u64) -> PathBuf {
    home.archive().join(number.to_string())
}

pub(super) fn archive_refs(number: u64) -> String {
    format!("refs/flower/archive/{number}/")
}

pub(super) fn load_plan(archive: &Path) -> Option<Plan> {
    serde_json::from_slice(&fs::read(archive.join("plan.json")).ok()?).ok()
}

fn save_plan(archive: &Path, plan: &Plan) -> std::io::Result<()> {
    crate::home::write_private(&archive.join("plan.json"), &serde_json::to_string(plan).expect("plain data"))
}

/// The last guard: what is to go lies among our worktrees, and is neither MAIN nor around it.
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

/// What somebody else put where the worktree was is not ours to move.
fn require_nothing_else(place: &WorktreePaths) -> Result<(), Problem> {
    match fs::symlink_metadata(&place.tree) {
        Ok(found) if !found.is_dir() => Err(Problem::new(
            ProblemKind::Refused,
            format!("{} is no directory any more", place.tree.display()),
            "move away what is there, then remove it again",
        )),
        _ => Ok(()),
    }
}

/// Somebody who works in it right now: in its jail, or with the working directory below it.
pub(crate) fn at_work(place: &WorktreePaths) -> Option<String> {
    // A free lock says more than a list of processes: it also covers those that other users may not see.
    if lock::is_held(&place.lock()) {
        return Some(process_in(&place.tree, is_child).unwrap_or_else(|| "something in its jail".to_owned()));
    }
    // A git of our own that looks at it is not at work there.
    process_in(&place.tree, is_child)
}

/// A process with the working directory below `tree`, except those that `is_own` accepts.
fn process_in(tree: &Path, is_own: fn(u32) -> bool) -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?.flatten();
    processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry))).find_map(|(pid, entry)| {
        let dir = fs::read_link(entry.path().join("cwd")).ok()?;
        if !dir.starts_with(tree) || is_own(pid) {
            return None;
        }
        let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
        Some(format!("process {pid} ({})", name.trim_end()))
    })
}

/// Whether this process started it.
fn is_child(pid: u32) -> bool {
    parent(pid) == Some(std::process::id())
}

/// Whether this process started it or one of its ancestors. What runs in a jail is a grandchild.
fn is_descendant(pid: u32) -> bool {
    let mut ancestors = std::iter::successors(Some(pid), |pid| parent(*pid));
    ancestors.any(|pid| pid == std::process::id())
}

fn parent(pid: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:")?.trim().parse().ok())
}

/// Asks git what of `tree` is not on the branch. A tree that is gone has nothing to keep.
async fn make_plan(place: &WorktreePaths, tree: &Path) -> Result<Plan, Problem> {
    let Some(admin) = place.admin() else {
        // Without git's help everything that is there is kept.
        let all = fs::read_dir(tree).into_iter().flatten().flatten();
        let names = all.map(|entry| entry.file_name()).filter(|name| name != ".git");
        return Ok(measured(tree, Plan { moved: names.collect(), ..Plan::default() }));
    };
    if !tree.exists() {
        return Ok(Plan::default());
    }
    // git would wait for them for ever, and the worktree would never be gone.
    let below = tree.to_owned();
    let deleting = tokio::task::spawn_blocking(move || super::special_files::delete_below(&below));
    deleting
        .await
        .unwrap_or_else(|error| Err(std::io::Error::other(error)))
        .map_err(|error| crate::home::problem(tree, &error))?;
    let linked = Repo::linked(&place.repository, &admin, tree);
    let mut plan = Plan::default();
    let mut ignored = Vec::new();
    for status in linked.uncommitted_and_ignored().await? {
        let path = status.path.as_bytes();
        let path: &Path = Path::new(OsStr::from_bytes(path.strip_suffix(b"/").unwrap_or(path)));
        if status.is_ignored {
            ignored.push(path.to_owned());
        } else if disk::beneath(tree, path).is_some() {
            plan.moved.push(path.into());
        } else {
            plan.deleted.push(path.into());
        }
    }
    plan = measured(tree, plan);
    ignored.extend(filled_submodules(&linked, tree).await?);
    // The smallest first: settings and secrets are small, build output is not.
    let mut sized: Vec<(u64, u64, PathBuf)> = ignored
        .into_iter()
        .map(|path| {
            let (bytes, files) = disk::size(&tree.join(&path), MOST_IGNORED);
            (bytes, files, path)
        })
        .collect();
    sized.sort();
    let mut room = MOST_IGNORED;
    for (bytes, files, path) in sized {
        // Mostly nothing but links to what is shared: not worth counting.
        if path == Path::new(super::setup::FOLDER) {
            plan.moved.push(path.into());
            continue;
        }
        if bytes <= room {
            room -= bytes;
            plan.bytes += bytes;
            plan.files += files;
            plan.moved.push(path.into());
        } else if plan.left_out.len() < MOST_LEFT_OUT {
            plan.left_out.push(path.to_string_lossy().into_owned());
        }
    }
    plan.empty = empty_directories(tree, &plan);
    Ok(plan)
}

/// Those that do not move with what is around them.
fn empty_directories(tree: &Path, plan: &Plan) -> Vec<(OsString, u32)> {
    let left_out = plan.left_out.iter().map(PathBuf::from);
    let elsewhere: HashSet<PathBuf> = plan.moved.iter().map(PathBuf::from).chain(left_out).collect();
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let (Some(path), true) = (waiting.pop(), found.len() < MOST_EMPTY) {
        let dir = tree.join(&path);
        let Ok(entries) = fs::read_dir(&dir) else { continue };
        let mut is_empty = true;
        for entry in entries.flatten() {
            is_empty = false;
            let below = path.join(entry.file_name());
            let is_dir = entry.file_type().is_ok_and(|sort| sort.is_dir());
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

/// What was changed in the files of a submodule is nowhere else, and git does not look into it.
async fn filled_submodules(linked: &Repo, tree: &Path) -> Result<Vec<PathBuf>, Problem> {
    let paths = linked.gitlinks().await?.into_iter().map(|(path, _)| path);
    let is_filled = |path: &Path| fs::read_dir(tree.join(path)).is_ok_and(|mut entries| entries.next().is_some());
    Ok(paths.filter(|path| is_filled(path)).collect())
}

fn measured(tree: &Path, mut plan: Plan) -> Plan {
    for path in &plan.moved {
        let (bytes, files) = disk::size(&tree.join(path), u64::MAX);
        plan.bytes += bytes;
        plan.files += files;
    }
    plan
}

/// Whatever the private repository borrows from MAIN's stays there as long as the archive does.
async fn keep_in_archive(place: &WorktreePaths, number: u64, tip: &CommitId) -> Result<(), Problem> {
    let archive = archive_refs(number);
    let repo = place.repo();
    let mut updates = RefUpdates::new();
    updates.set(&OwnRef::parse(&format!("{archive}{tip}"))?, tip);
    for (name, commit) in repo.own_refs_below(&keep(&place.name)).await? {
        updates.set(&OwnRef::parse(&format!("{archive}{commit}"))?, &commit);
        updates.delete(&name);
    }
    // What was staged is in no commit; its tree is kept.
    if place.seal == Seal::Linked
        && let Some(linked) = place.linked()
        && let Some(staged) = linked.staged_tree().await?
    {
        updates.set(&OwnRef::parse(&format!("{archive}staged"))?, &staged);
    }
    Ok(repo.update_refs(updates).await?)
}
