//! The two ways between a private repository and MAIN's: commits come out as the worktree's branch, MAIN's tip goes in.
//! git on the private side runs inside a jail, always.

use super::gitlinks;
use super::import_error::{ImportError, plain};
use super::incoming;
use super::limits::LONGEST;
use super::observe::is_dirty;
use super::paths::WorktreePaths;
use super::private;
use super::special_files::{self, ASK_TIMEOUT};
use crate::Worktrees;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::SyncView;
use flower_core::event::WorktreeDiverged;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Command, Refusal, Worktree};
use flower_git::{CommitId, GitError, Head, Merge, RefUpdates, Repo};
use flower_store::worktrees;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// How long whoever only looks waits for a mirror that is under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reading everything that was committed once, on a slow disk.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(60);

impl Worktrees {
    /// Brings new commits out and MAIN's tip in, and merges it if nobody is at work there.
    pub async fn sync(&self, choice: &ProjectChoice, name: &str) -> Result<SyncView, Problem> {
        let worktree = self.find(choice, name).await?;
        let place = self.require_ready(&worktree).await?;
        let facts = self.facts_of(&worktree.project).await?;
        if place.seal == Seal::Sealed {
            self.mirror(&place).await?;
            self.hand_in(&place, &facts.main_branch, &facts.main_tip).await?;
        }
        let merged = self.bring_up_to_date(&place, &facts.main_branch, &facts.main_tip).await?;
        let worktree = self.observe(worktree).await?;
        Ok(SyncView { merged: merged.is_none(), reason: merged, worktree })
    }

    /// Ready, and where it should be.
    pub(crate) async fn require_ready(&self, worktree: &Worktree) -> Result<WorktreePaths, Problem> {
        if worktree.stage != Stage::Ready {
            return Err(Refusal::WorktreeStage { name: worktree.name.clone(), stage: worktree.stage }.into());
        }
        let place = self.place(worktree).await?;
        let evidence = match place.look() {
            super::paths::Found::There => return Ok(place),
            super::paths::Found::Missing => format!("{} is gone", place.tree.display()),
            super::paths::Found::Unknown(evidence) => evidence,
        };
        Err(Problem::new(
            ProblemKind::Refused,
            format!("worktree `{}` is not where it should be: {evidence}", worktree.name),
            format!("put it back, or let flower do so: `flower worktree restore {}`", worktree.name),
        ))
    }

    /// Brings the private branch into MAIN's repository, if anything moved there.
    pub(crate) async fn mirror(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let _lock = lock.lock().await;
        self.mirror_locked(place).await
    }

    /// The same for somebody who only looks, and would rather hear that it is still under way than wait for all of it.
    pub(super) async fn mirror_soon(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let Ok(_lock) = tokio::time::timeout(PATIENCE, lock.lock()).await else {
            return Err(still_under_way(place));
        };
        self.mirror_locked(place).await
    }

    async fn mirror_locked(&self, place: &WorktreePaths) -> Result<(), Problem> {
        let now = stamp(place);
        let before = fs::read_to_string(place.mirrored()).unwrap_or_default();
        let (seen, mirrored) = before.split_once('\n').unwrap_or((&before, ""));
        if seen == now {
            return Ok(());
        }
        if let Some(refused) = last_refusal(place).filter(|refused| refused.stamp == now) {
            return Err(refused.problem);
        }
        special_files::require_plain_repository(place)?;
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        self.complete(place).await?;
        let repo = place.repo();
        // Nothing before the first time.
        let mirrored = CommitId::parse(mirrored).ok();
        let old = repo.tip(&place.full_branch()).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let private = Repo::jailed(launcher);
        let new = branch_inside(place, &private).await?;
        let is_new = Some(&new) != mirrored.as_ref();
        if old.as_ref() != Some(&new) && is_new {
            let kept = repo.refs_below(&place.keep()).await?.into_iter();
            let kept = kept.map(|(_, object)| CommitId::of_object(object));
            let has: Vec<CommitId> = kept.chain(old.clone()).collect();
            if let Err(unfit) = incoming::bring(place, &private, &new, &has, old.as_ref()).await {
                return Err(remember(place, now, unfit));
            }
        }
        let branch = place.full_branch();
        let mut updates = RefUpdates::new();
        // What the operator committed here stays, as long as nothing was committed inside meanwhile.
        let operators_turn = old.is_some() && old != mirrored && !is_new;
        let moves = old.as_ref() != Some(&new) && !operators_turn;
        // An earlier daemon may have ended behind that.
        let moved = moves || (old.as_ref() == Some(&new) && is_new);
        if moved {
            self.require_sealed(place, &gitlinks::in_commit(&place.repository, &new).await?)?;
        }
        if moves {
            // Only if it still is where it was: the operator may be committing at this moment.
            match &old {
                Some(old) => updates.swap(&branch, &new, old),
                None => updates.create(&branch, &new),
            }
        }
        if let (true, Some(old)) = (moves, &old)
            && !repo.is_ancestor(old, &new).await?
        {
            // The private repository may have dropped its own copy of whatever MAIN's once had, so that stays.
            let kept_at = place.keeper(old);
            updates.set(&kept_at, old);
            // Before it happens, so that a crash cannot make a secret of it.
            if mirrored.as_ref().is_some_and(|mirrored| mirrored != old) {
                let (operators, inside) = (old.to_string(), new.to_string());
                let diverged =
                    WorktreeDiverged { number: place.number, operators, inside, kept_at: kept_at.to_string() };
                self.store.execute(&Caller::system(), Command::DivergeWorktree(diverged)).await?;
                // It can be merged inside, which is what people are told to do.
                self.provide(place, &[old]).await?;
            }
        }
        repo.update_refs(updates).await?;
        if moved {
            self.move_operators_index(place, &new).await?;
            let before = if moves { old } else { mirrored };
            self.note_commits(place, before.as_ref(), &new).await;
        }
        fs::write(place.mirrored(), format!("{now}\n{new}")).map_err(io)?;
        super::disk::delete(&place.refused()).map_err(io)
    }

    /// Commits of the operator's that the branch went on without, and how to bring each of them back.
    pub(super) async fn displaced(&self, place: &WorktreePaths) -> Result<Vec<String>, Problem> {
        let number = place.number;
        let known = self.store.read(move |conn| worktrees::worktree(conn, number)).await?;
        let mut notes = Vec::new();
        let repo = place.repo();
        for commit in known.map(|worktree| worktree.displaced).unwrap_or_default() {
            let commit = CommitId::parse(&commit)?;
            let kept_at = place.keeper(&commit);
            // Let go, or brought in.
            if repo.tip(&kept_at).await?.is_none() || repo.is_ancestor(&commit, &place.full_branch()).await? {
                continue;
            }
            notes.push(format!(
                "your commit {commit} is not on the branch, because something was committed inside as well; it is kept \
                 at `{kept_at}`. To bring it in, stash what is not committed there and merge it: `flower worktree shell \
                 {} -- git merge --no-edit {commit}`. To let it go: `git update-ref -d {kept_at}`",
                place.name
            ));
        }
        Ok(notes)
    }

    /// The operator's index follows the branch; files and what is known about them stay.
    async fn move_operators_index(&self, place: &WorktreePaths, commit: &CommitId) -> Result<(), Problem> {
        let Some(linked) = place.linked() else { return Ok(()) };
        for path in gitlinks::in_commit(&place.repository, commit).await? {
            gitlinks::set_aside_repository(place, &path).map_err(|error| self.home.problem(&place.tree, &error))?;
        }
        linked.reset_index(&Head).await?;
        // Once here, or every look at the worktree would read all that was committed again.
        match linked.with_deadline(REFRESH_TIMEOUT).refresh_index().await {
            // Then the next look takes longer; a FIFO in place of attributes must not keep commits from coming out.
            Err(GitError::Deadline { .. }) => {}
            refreshed => refreshed?,
        }
        gitlinks::protect_operator(place).await
    }

    /// Lets what runs inside see MAIN's newest commit, as `origin/main`.
    pub(crate) async fn hand_in(&self, place: &WorktreePaths, main: &str, commit: &CommitId) -> Result<(), Problem> {
        let lock = self.lock_of(&place.folder);
        let _lock = lock.lock().await;
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        // MAIN could be rewound; what was handed in once stays.
        place.repo().set_ref(&place.keeper(commit), commit).await?;
        self.provide(place, &[commit]).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        special_files::require_plain_repository(place)?;
        Ok(Repo::jailed(launcher).with_deadline(ASK_TIMEOUT).set_origin(main, commit).await?)
    }

    /// Merges MAIN's tip where nobody is at work. Gives the reason if it did not.
    async fn bring_up_to_date(
        &self,
        place: &WorktreePaths,
        main: &str,
        commit: &CommitId,
    ) -> Result<Option<String>, Problem> {
        if place.repo().is_ancestor(commit, &place.full_branch()).await? {
            return Ok(None);
        }
        if let Some(who) = super::remove::at_work(place) {
            return Ok(Some(format!("{who} is at work there; `origin/{main}` is there to be merged")));
        }
        if is_dirty(place).await? {
            return Ok(Some(format!("it has changes that are not committed; `origin/{main}` is there to be merged")));
        }
        let checkout = match place.seal {
            Seal::Sealed => {
                let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
                let settings = crate::settings::WorktreeSettings::default();
                let mut spec = private::spec(&self.home, place, &settings, None).map_err(io)?;
                self.seal_gitlinks(place, &mut spec).await?;
                spec.network = flower_jail::Network::Closed;
                let launcher = private::launcher(place, &spec, "merge").map_err(io)?;
                Repo::jailed(launcher)
            }
            Seal::Linked => {
                let linked = place.linked().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
                linked.with_operators_settings()
            }
        };
        let Merge::Conflict(conflicts) = checkout.clone().with_deadline(LONGEST).merge(commit).await? else {
            if place.seal == Seal::Sealed {
                self.mirror(place).await?;
            }
            return Ok(None);
        };
        checkout.abort_merge().await?;
        Err(Problem::new(
            ProblemKind::Conflict,
            format!("MAIN's tip does not merge into `{}`: {conflicts}", place.name),
            format!(
                "merge it inside and settle them: `flower worktree shell {} -- git merge origin/{main}`",
                place.name
            ),
        ))
    }
}

pub(super) fn still_under_way(place: &WorktreePaths) -> Problem {
    Problem::new(
        ProblemKind::Timeout,
        "they are still on their way",
        format!("look again later: `flower worktree show {}`", place.name),
    )
}

/// Where the branch stands inside. Whoever works there can rename or delete it; then there is nothing to mirror.
async fn branch_inside(place: &WorktreePaths, private: &Repo) -> Result<CommitId, Problem> {
    let private = private.clone().with_deadline(ASK_TIMEOUT);
    let stderr = match private.tip_or_reason(&place.full_branch()).await {
        Err(GitError::Deadline { .. }) => return Err(special_files::too_slow(place, ASK_TIMEOUT)),
        Err(error) => return Err(error.into()),
        Ok(Ok(commit)) => return Ok(commit),
        Ok(Err(stderr)) => stderr,
    };
    let why = if stderr.is_empty() { String::new() } else { format!(": {}", plain(&stderr)) };
    Err(Problem::new(
        ProblemKind::Refused,
        format!("inside there is no branch `{}` any more{why}", place.branch),
        format!("make it again: `flower worktree shell {} -- git branch {}`", place.name, place.branch),
    ))
}

/// Why the branch was not taken, and for which state of the private repository that was said.
#[derive(Serialize, Deserialize)]
struct LastRefusal {
    stamp: String,
    problem: Problem,
}

fn last_refusal(place: &WorktreePaths) -> Option<LastRefusal> {
    serde_json::from_slice(&fs::read(place.refused()).ok()?).ok()
}

/// What is refused for good is not tried again until something moves inside.
fn remember(place: &WorktreePaths, stamp: String, unfit: ImportError) -> Problem {
    let is_final = unfit.is_final();
    let refusal = LastRefusal { stamp, problem: unfit.problem(&place.name) };
    if is_final && let Err(error) = fs::write(place.refused(), serde_json::to_vec(&refusal).expect("plain data")) {
        tracing::warn!("{}: {error}", place.refused().display());
    }
    refusal.problem
}

/// Notes that a private repository and MAIN's branch are the same, as they are when it was just made.
pub(super) fn note_mirrored(place: &WorktreePaths, commit: &CommitId) -> std::io::Result<()> {
    fs::write(place.mirrored(), format!("{}\n{commit}", stamp(place)))
}

/// What the private repository's branches look like from outside. Whoever is inside can lie about it, and only delays its
/// own mirror.
fn stamp(place: &WorktreePaths) -> String {
    let private = place.private();
    let branch = place.full_branch();
    let files = ["HEAD", "packed-refs", "logs/HEAD", "reftable", branch.as_str()];
    let seen = files.map(|file| {
        fs::symlink_metadata(private.join(file))
            .map_or_else(|_| "-".to_owned(), |f| format!("{}.{}.{}.{}", f.ino(), f.size(), f.mtime(), f.mtime_nsec()))
    });
    seen.join(" ")
}
