//! The two ways between a private repository and MAIN's: commits come out as the worktree's branch, MAIN's tip goes in.
//! git on the private side runs inside a jail, always.

use super::gitlinks;
use super::incoming;
use super::limits::LONGEST;
use super::observe::is_dirty;
use super::place::Place;
use super::private;
use super::refs::{refs_below, tip, update_refs};
use super::special_files::{self, ASK_TIMEOUT};
use super::unfit::{Unfit, plain};
use crate::App;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::SyncView;
use flower_core::event::WorktreeDiverged;
use flower_core::worktree::{Seal, Stage};
use flower_core::{Caller, Command, Refusal, Worktree};
use flower_git::{self, GitError};
use flower_store::worktrees;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

/// How long whoever only looks waits for a mirror that is under way.
const PATIENCE: Duration = Duration::from_secs(5);

/// Reading everything that was committed once, on a slow disk.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(60);

impl App {
    /// Brings new commits out and MAIN's tip in, and merges it if nobody is at work there.
    pub async fn sync_worktree(&self, choice: &ProjectChoice, name: &str) -> Result<SyncView, Problem> {
        let worktree = self.worktree(choice, name).await?;
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
    pub(crate) async fn require_ready(&self, worktree: &Worktree) -> Result<Place, Problem> {
        if worktree.stage != Stage::Ready {
            return Err(Refusal::WorktreeStage { name: worktree.name.clone(), stage: worktree.stage }.into());
        }
        let place = self.place(worktree).await?;
        let evidence = match place.look() {
            super::place::Found::There => return Ok(place),
            super::place::Found::Missing => format!("{} is gone", place.tree.display()),
            super::place::Found::Unknown(evidence) => evidence,
        };
        Err(Problem::new(
            ProblemKind::Refused,
            format!("worktree `{}` is not where it should be: {evidence}", worktree.name),
            format!("put it back, or let flower do so: `flower worktree restore {}`", worktree.name),
        ))
    }

    /// Brings the private branch into MAIN's repository, if anything moved there.
    pub(crate) async fn mirror(&self, place: &Place) -> Result<(), Problem> {
        let turn = self.worktrees.turn(&place.folder);
        let _turn = turn.lock().await;
        self.mirror_in_turn(place).await
    }

    /// The same for somebody who only looks, and would rather hear that it is still under way than wait for all of it.
    pub(super) async fn mirror_soon(&self, place: &Place) -> Result<(), Problem> {
        let turn = self.worktrees.turn(&place.folder);
        let Ok(_turn) = tokio::time::timeout(PATIENCE, turn.lock()).await else {
            return Err(still_under_way(place));
        };
        self.mirror_in_turn(place).await
    }

    async fn mirror_in_turn(&self, place: &Place) -> Result<(), Problem> {
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
        let old = tip(&place.repository, &place.full_branch()).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        let new = branch_inside(place, launcher.clone()).await?;
        if old.as_deref() != Some(new.as_str()) && new != mirrored {
            let kept = refs_below(&place.repository, &place.keep()).await?;
            let has: Vec<String> = kept.into_iter().map(|(_, commit)| commit).chain(old.clone()).collect();
            if let Err(unfit) = incoming::bring(place, launcher, &new, &has, old.as_deref()).await {
                return Err(remember(place, now, unfit));
            }
        }
        let branch = place.full_branch();
        let mut lines = Vec::new();
        // What the operator committed here stays, as long as nothing was committed inside meanwhile.
        let operators_turn = old.as_deref().is_some_and(|old| old != mirrored) && new == mirrored;
        let moves = old.as_deref() != Some(new.as_str()) && !operators_turn;
        // An earlier daemon may have ended behind that.
        let moved = moves || (old.as_deref() == Some(new.as_str()) && new != mirrored);
        if moved {
            self.require_sealed(place, &gitlinks::in_commit(&place.repository, &new).await?)?;
        }
        if moves {
            // Only if it still is where it was: the operator may be committing at this moment.
            lines.push(match &old {
                Some(old) => format!("update {branch} {new} {old}"),
                None => format!("create {branch} {new}"),
            });
        }
        if let (true, Some(old)) = (moves, &old)
            && !is_ancestor(place, old, &new).await?
        {
            // The private repository may have dropped its own copy of whatever MAIN's once had, so that stays.
            let kept_at = format!("{}{old}", place.keep());
            lines.push(format!("update {kept_at} {old}"));
            // Before it happens, so that a crash cannot make a secret of it.
            if old != mirrored && !mirrored.is_empty() {
                let diverged =
                    WorktreeDiverged { number: place.number, operators: old.clone(), inside: new.clone(), kept_at };
                self.submit(&Caller::system(), Command::DivergeWorktree(diverged)).await?;
                // It can be merged inside, which is what people are told to do.
                self.provide(place, &[old]).await?;
            }
        }
        update_refs(&place.repository, lines).await?;
        if moved {
            self.move_operators_index(place, &new).await?;
            let before = if moves { old.as_deref() } else { Some(mirrored).filter(|commit| !commit.is_empty()) };
            self.note_commits(place, before, &new).await;
        }
        fs::write(place.mirrored(), format!("{now}\n{new}")).map_err(io)?;
        super::disk::delete(&place.refused()).map_err(io)
    }

    /// Commits of the operator's that the branch went on without, and how to bring each of them back.
    pub(super) async fn displaced(&self, place: &Place) -> Result<Vec<String>, Problem> {
        let number = place.number;
        let known = self.store.read(move |conn| worktrees::worktree(conn, number)).await?;
        let mut notes = Vec::new();
        for commit in known.map(|worktree| worktree.displaced).unwrap_or_default() {
            let kept_at = format!("{}{commit}", place.keep());
            // Let go, or brought in.
            if tip(&place.repository, &kept_at).await?.is_none()
                || is_ancestor(place, &commit, &place.full_branch()).await?
            {
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
    async fn move_operators_index(&self, place: &Place, commit: &str) -> Result<(), Problem> {
        let Some(admin) = place.admin() else { return Ok(()) };
        for path in gitlinks::in_commit(&place.repository, commit).await? {
            gitlinks::set_aside_repository(place, &path).map_err(|error| self.home.problem(&place.tree, &error))?;
        }
        let git = || flower_git::in_linked(&place.repository, &admin, &place.tree);
        git().args(["read-tree", "--reset", "HEAD"]).run().await?;
        // Once here, or every look at the worktree would read all that was committed again. It says by its exit code that something
        // differs, which is no failure.
        match git().args(["update-index", "-q", "--refresh"]).deadline(REFRESH_TIMEOUT).output().await {
            // Then the next look takes longer; a FIFO in place of attributes must not keep commits from coming out.
            Err(GitError::Deadline { .. }) => {}
            refreshed => drop(refreshed?),
        }
        gitlinks::protect_operator(place).await
    }

    /// Lets what runs inside see MAIN's newest commit, as `origin/main`.
    pub(crate) async fn hand_in(&self, place: &Place, main: &str, commit: &str) -> Result<(), Problem> {
        let turn = self.worktrees.turn(&place.folder);
        let _turn = turn.lock().await;
        let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
        // MAIN could be rewound; what was handed in once stays.
        let keep = format!("{}{commit}", place.keep());
        flower_git::in_main(&place.repository).args(["update-ref", &keep, commit]).run().await?;
        self.provide(place, &[commit]).await?;
        let launcher = private::launcher(place, &private::spec_for_git(place).map_err(io)?, "git").map_err(io)?;
        special_files::require_plain_repository(place)?;
        let update = ["update-ref", &format!("refs/remotes/origin/{main}"), commit];
        flower_git::in_jail(launcher).args(update).deadline(ASK_TIMEOUT).run().await?;
        Ok(())
    }

    /// Merges MAIN's tip where nobody is at work. Gives the reason if it did not.
    async fn bring_up_to_date(&self, place: &Place, main: &str, commit: &str) -> Result<Option<String>, Problem> {
        if is_ancestor(place, commit, &place.full_branch()).await? {
            return Ok(None);
        }
        if let Some(who) = super::remove::at_work(place) {
            return Ok(Some(format!("{who} is at work there; `origin/{main}` is there to be merged")));
        }
        if is_dirty(place).await? {
            return Ok(Some(format!("it has changes that are not committed; `origin/{main}` is there to be merged")));
        }
        let (merge, abort) = match place.seal {
            Seal::Sealed => {
                let io = |error: std::io::Error| self.home.problem(&place.folder, &error);
                let settings = crate::settings::WorktreeSettings::default();
                let mut spec = private::spec(&self.home, place, &settings, None).map_err(io)?;
                self.seal_gitlinks(place, &mut spec).await?;
                spec.network = flower_jail::Network::Closed;
                let launcher = private::launcher(place, &spec, "merge").map_err(io)?;
                (flower_git::in_jail(launcher.clone()), flower_git::in_jail(launcher))
            }
            Seal::Linked => {
                let admin = place.admin().ok_or_else(|| Problem::bug("a worktree that git does not know"))?;
                let linked = || flower_git::in_linked(&place.repository, &admin, &place.tree).with_operators_settings();
                (linked(), linked())
            }
        };
        let merged = merge.args(["merge", "--no-edit", "--quiet", commit]).deadline(LONGEST).output().await?;
        if merged.code == 0 {
            if place.seal == Seal::Sealed {
                self.mirror(place).await?;
            }
            return Ok(None);
        }
        abort.args(["merge", "--abort"]).output().await?;
        Err(Problem::new(
            ProblemKind::Conflict,
            format!("MAIN's tip does not merge into `{}`: {}", place.name, conflicts(&merged)),
            format!(
                "merge it inside and settle them: `flower worktree shell {} -- git merge origin/{main}`",
                place.name
            ),
        ))
    }
}

pub(super) fn still_under_way(place: &Place) -> Problem {
    Problem::new(
        ProblemKind::Timeout,
        "they are still on their way",
        format!("look again later: `flower worktree show {}`", place.name),
    )
}

/// Whether all of `old` is part of `new`.
async fn is_ancestor(place: &Place, old: &str, new: &str) -> Result<bool, Problem> {
    Ok(flower_git::in_main(&place.repository).args(["merge-base", "--is-ancestor", old, new]).succeeds().await?)
}

/// Where the branch stands inside. Whoever works there can rename or delete it; then there is nothing to mirror.
async fn branch_inside(place: &Place, launcher: Vec<OsString>) -> Result<String, Problem> {
    let branch = place.full_branch();
    let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &branch];
    let output = match flower_git::in_jail(launcher).args(args).deadline(ASK_TIMEOUT).output().await {
        Err(GitError::Deadline { .. }) => return Err(special_files::too_slow(place, ASK_TIMEOUT)),
        output => output?,
    };
    let name = output.line();
    if output.code == 0 && name.len() <= 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(name);
    }
    let why = if output.stderr.is_empty() { String::new() } else { format!(": {}", plain(&output.stderr)) };
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

fn last_refusal(place: &Place) -> Option<LastRefusal> {
    serde_json::from_slice(&fs::read(place.refused()).ok()?).ok()
}

/// What is refused for good is not tried again until something moves inside.
fn remember(place: &Place, stamp: String, unfit: Unfit) -> Problem {
    let is_final = unfit.is_final();
    let refusal = LastRefusal { stamp, problem: unfit.problem(&place.name) };
    if is_final && let Err(error) = fs::write(place.refused(), serde_json::to_vec(&refusal).expect("plain data")) {
        tracing::warn!("{}: {error}", place.refused().display());
    }
    refusal.problem
}

/// Notes that a private repository and MAIN's branch are the same, as they are when it was just made.
pub(super) fn note_mirrored(place: &Place, commit: &str) -> std::io::Result<()> {
    fs::write(place.mirrored(), format!("{}\n{commit}", stamp(place)))
}

/// The lines in which git names what does not merge.
fn conflicts(output: &flower_git::Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("CONFLICT")).take(10).collect();
    if lines.is_empty() { output.stderr.clone() } else { lines.join("; ") }
}

/// What the private repository's branches look like from outside. Whoever is inside can lie about it, and only delays its
/// own mirror.
fn stamp(place: &Place) -> String {
    let private = place.private();
    let files = ["HEAD", "packed-refs", "logs/HEAD", "reftable", &place.full_branch()];
    let seen = files.map(|file| {
        fs::symlink_metadata(private.join(file))
            .map_or_else(|_| "-".to_owned(), |f| format!("{}.{}.{}.{}", f.ino(), f.size(), f.mtime(), f.mtime_nsec()))
    });
    seen.join(" ")
}
