//! The work after a landing: worktrees are synced with MAIN or get a note why not, ephemeral ones that have landed are removed, and
//! MAIN is pushed. Each step can be repeated, so after a crash all of them run again.

use crate::MergeQueue;
use crate::passes;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_core::landing::State;
use flower_core::worktree::{Seal, Stage, WorktreeKind};
use flower_core::{Caller, Command, LandingId, Worktree};
use flower_git::CommitId;
use flower_store::landings;
use std::sync::Arc;
use std::time::Duration;

/// Pause before blocked steps are tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(20);

const CLAIMED: &str = "work in it is claimed";

/// The record of a sync with MAIN after a landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyncNote {
    onto: String,
    why_not: Option<String>,
}

impl SyncNote {
    /// The worktree has landed and would be removed, but for this reason.
    fn not_removed(onto: &str, why: &str) -> SyncNote {
        let why_not = Some(format!("it has landed and stays only because {why}"));
        SyncNote { onto: onto.to_owned(), why_not }
    }
}

impl MergeQueue {
    pub(super) async fn after_landing(self: &Arc<Self>, number: LandingId) {
        match self.get(number).await {
            Ok(landing) => {
                self.unpin(&landing).await;
                self.follow_up(&landing.project);
            }
            Err(problem) => tracing::warn!("landing {number}: {}", problem.message),
        }
    }

    /// Pushes and syncs worktrees in the background, while the queue continues. Both are separate tasks, because a remote can be
    /// slow.
    pub(super) fn follow_up(self: &Arc<Self>, project: &str) {
        let (queue, pushed) = (self.clone(), project.to_owned());
        let pass = passes::begin("post_landing", &self.store);
        tokio::spawn(async move {
            let _pass = pass;
            let lock = queue.push_locks.of(pushed.as_str());
            let _one_at_a_time = lock.lock().await;
            if let Err(problem) = queue.push_landed(&pushed).await {
                tracing::warn!("pushing {pushed}: {}", problem.message);
            }
        });
        let (queue, project) = (self.clone(), project.to_owned());
        let mut pass = Some(passes::begin("post_landing", &self.store));
        tokio::spawn(async move {
            while queue.sync_worktrees(&project).await {
                pass.take();
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
        });
    }

    /// Syncs all worktrees of a project. Returns whether a removal is blocked and must be tried again.
    async fn sync_worktrees(self: &Arc<Self>, project: &str) -> bool {
        let mut last_notes = self.sync_notes.lock().await;
        self.worktrees.lend_landed(project).await;
        let worktrees = self.worktrees.live(project).await.unwrap_or_default();
        let mut blocked = false;
        for worktree in worktrees.into_iter().filter(|worktree| worktree.stage == Stage::Ready) {
            match self.sync_or_remove(&worktree).await {
                Ok(None) => {}
                Ok(Some(note)) => {
                    blocked |= note.why_not.is_some() && worktree.kind == WorktreeKind::Ephemeral;
                    // A blocked removal is recorded once, not again for every tip of MAIN.
                    let before = last_notes.insert(worktree.number, note.clone());
                    let known =
                        before.is_some_and(|before| before == note || (blocked && before.why_not == note.why_not));
                    if !known {
                        let SyncNote { onto, why_not } = note;
                        let command = Command::NoteSync { number: worktree.number, onto, why_not };
                        if let Err(problem) = self.store.execute(&Caller::system(), command).await {
                            tracing::debug!("worktree {}: {}", worktree.name, problem.message);
                        }
                    }
                }
                Err(problem) => tracing::debug!("worktree {}: {}", worktree.name, problem.message),
            }
        }
        blocked
    }

    /// Brings one worktree up to date: removes it if it is ephemeral and has landed, or syncs it with MAIN. `None` if there is
    /// nothing to record.
    async fn sync_or_remove(self: &Arc<Self>, worktree: &Worktree) -> Result<Option<SyncNote>, Problem> {
        let place = self.worktrees.require_ready(worktree).await?;
        let main = self.worktrees.main_of(&worktree.project).await?;
        let choice = ProjectChoice { name: Some(worktree.project.clone()), dir: None };
        let (repo, tip) = (place.repo(), CommitId::parse(&main.tip)?);
        let branch = repo.tip(&place.full_branch()).await?;
        // New claims in this worktree wait for the lock; a worktree with a claim is not touched.
        let lock = self.worktrees.work_lock(&worktree.project, &worktree.name);
        let lock = lock.try_lock();
        let worked_in = lock.is_err()
            || self.worktrees.has_claimed_work(&worktree.project, &worktree.name).await?
            || self.worktrees.has_standing_agent(&worktree.project, &worktree.name).await?;
        if worktree.kind == WorktreeKind::Ephemeral && self.is_landed(worktree, branch.as_ref()).await? {
            return match worked_in {
                true => Ok(Some(SyncNote::not_removed(&main.tip, CLAIMED))),
                false => self.remove_landed(worktree, &choice, &main.tip).await,
            };
        }
        // Without a branch there is nothing to merge MAIN into.
        let is_current = match &branch {
            Some(branch) => repo.is_ancestor(&tip, branch).await?,
            None => true,
        };
        if is_current {
            return Ok(None);
        }
        if worktree.kind == WorktreeKind::Ephemeral || worked_in {
            // Only the objects of MAIN's tip are provided, so that work inside can merge it.
            if place.seal == Seal::Sealed {
                self.worktrees.provide_main_tip(&place, &main.branch, &tip).await?;
            }
            let is_lane = worktree.kind == WorktreeKind::Lane;
            return Ok(is_lane.then(|| SyncNote { onto: main.tip, why_not: Some(CLAIMED.to_owned()) }));
        }
        let why_not = match self.worktrees.sync(&choice, &worktree.name).await {
            Ok(synced) => synced.reason,
            Err(problem) => Some(problem.message),
        };
        Ok(Some(SyncNote { onto: main.tip, why_not }))
    }

    /// Whether the tip of the worktree's branch has landed, and no landing of it is open.
    async fn is_landed(&self, worktree: &Worktree, branch: Option<&CommitId>) -> Result<bool, Problem> {
        let of = worktree.project.clone();
        let number = worktree.number;
        let all = self.store.read(move |conn| landings::of_worktree(conn, &of, number)).await?;
        let landed = |commit: &CommitId| all.iter().any(|l| l.state == State::Landed && l.commit == commit.as_str());
        Ok(branch.is_some_and(landed) && !all.iter().any(flower_core::Landing::is_open))
    }

    /// Removes a worktree that has landed, or returns a note why that is not possible.
    async fn remove_landed(
        self: &Arc<Self>,
        worktree: &Worktree,
        choice: &ProjectChoice,
        main: &str,
    ) -> Result<Option<SyncNote>, Problem> {
        let place = self.worktrees.paths(worktree).await?;
        let why_not = if crate::worktrees::observe::is_dirty(&place).await? {
            Some("it has changes that are not committed".to_owned())
        } else {
            self.worktrees.remove(&Caller::system(), choice, &worktree.name).await.err().map(|problem| problem.message)
        };
        Ok(why_not.map(|why| SyncNote::not_removed(main, &why)))
    }
}
