//! What follows a landing: worktrees are brought up to date or told why not, those whose work is in MAIN go, and the remote
//! hears of it. All of it can be repeated, so after a crash it simply is.

use crate::MergeQueue;
use crate::passes;
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_core::landing::State;
use flower_core::worktree::{Seal, Stage, WorktreeKind};
use flower_core::{Caller, Command, Worktree};
use flower_git::CommitId;
use flower_store::landings;
use std::sync::Arc;
use std::time::Duration;

/// Whatever stands in the way may have gone by then.
const AGAIN: Duration = Duration::from_secs(20);

const WORKED_IN: &str = "somebody has claimed work in it";

/// What a worktree is told after a landing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Note {
    onto: String,
    why_not: Option<String>,
}

impl Note {
    fn stays(onto: &str, why: &str) -> Note {
        let why_not = Some(format!("it has landed and stays only because {why}"));
        Note { onto: onto.to_owned(), why_not }
    }
}

impl MergeQueue {
    pub(super) async fn after_landing(self: &Arc<Self>, number: u64) {
        match self.get(number).await {
            Ok(landing) => {
                self.unpin(&landing).await;
                self.follow_up(&landing.project);
            }
            Err(problem) => tracing::warn!("landing {number}: {}", problem.message),
        }
    }

    /// Behind everybody's back: the queue goes on meanwhile. What something stands in the way of is tried again. A remote may
    /// let wait for long, and no worktree waits for it.
    pub(super) fn follow_up(self: &Arc<Self>, project: &str) {
        let (app, pushed) = (self.clone(), project.to_owned());
        let pass = passes::begin("post_landing", &self.store);
        tokio::spawn(async move {
            let _pass = pass;
            let lock = app.push_locks.of(pushed.as_str());
            let _one_at_a_time = lock.lock().await;
            if let Err(problem) = app.push_landed(&pushed).await {
                tracing::warn!("pushing {pushed}: {}", problem.message);
            }
        });
        let (app, project) = (self.clone(), project.to_owned());
        let mut pass = Some(passes::begin("post_landing", &self.store));
        tokio::spawn(async move {
            while app.follow(&project).await {
                pass.take();
                tokio::time::sleep(AGAIN).await;
            }
        });
    }

    /// Whether something is left to be done.
    async fn follow(self: &Arc<Self>, project: &str) -> bool {
        let mut said = self.following.lock().await;
        self.worktrees.lend_landed(project).await;
        let worktrees = self.worktrees.live(project).await.unwrap_or_default();
        let mut blocked = false;
        for worktree in worktrees.into_iter().filter(|worktree| worktree.stage == Stage::Ready) {
            match self.catch_up(&worktree).await {
                Ok(None) => {}
                Ok(Some(note)) => {
                    blocked |= note.why_not.is_some() && worktree.kind == WorktreeKind::Ephemeral;
                    // Once is enough: what stands in the way of going is the same after every landing.
                    let before = said.insert(worktree.number, note.clone());
                    let known =
                        before.is_some_and(|before| before == note || (blocked && before.why_not == note.why_not));
                    if !known {
                        let Note { onto, why_not } = note;
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

    async fn catch_up(self: &Arc<Self>, worktree: &Worktree) -> Result<Option<Note>, Problem> {
        let place = self.worktrees.require_ready(worktree).await?;
        let main = self.worktrees.main_of(&worktree.project).await?;
        let choice = ProjectChoice { name: Some(worktree.project.clone()), dir: None };
        let (repo, tip) = (place.repo(), CommitId::parse(&main.tip)?);
        let branch = repo.tip(&place.full_branch()).await?;
        // Whoever claims something there from here on waits; whoever has done so is let be.
        let lock = self.worktrees.work_lock(&worktree.project, &worktree.name);
        let lock = lock.try_lock();
        let worked_in = lock.is_err()
            || self.worktrees.is_worked_in(&worktree.project, &worktree.name).await?
            || self.worktrees.is_stayed_in(&worktree.project, &worktree.name).await?;
        if worktree.kind == WorktreeKind::Ephemeral && self.is_landed(worktree, branch.as_ref()).await? {
            return match worked_in {
                true => Ok(Some(Note::stays(&main.tip, WORKED_IN))),
                false => self.retire(worktree, &choice, &main.tip).await,
            };
        }
        let known = match &branch {
            Some(branch) => repo.is_ancestor(&tip, branch).await?,
            None => true,
        };
        if known {
            return Ok(None);
        }
        if worktree.kind == WorktreeKind::Ephemeral || worked_in {
            // It is let be; MAIN's tip is there to be merged.
            if place.seal == Seal::Sealed {
                self.worktrees.hand_in(&place, &main.branch, &tip).await?;
            }
            let told = worktree.kind == WorktreeKind::Lane;
            return Ok(told.then(|| Note { onto: main.tip, why_not: Some(WORKED_IN.to_owned()) }));
        }
        let why_not = match self.worktrees.sync(&choice, &worktree.name).await {
            Ok(synced) => synced.reason,
            Err(problem) => Some(problem.message),
        };
        Ok(Some(Note { onto: main.tip, why_not }))
    }

    /// Whether everything that is committed in it has landed.
    async fn is_landed(&self, worktree: &Worktree, branch: Option<&CommitId>) -> Result<bool, Problem> {
        let of = worktree.project.clone();
        let number = worktree.number;
        let all = self.store.read(move |conn| landings::of_worktree(conn, &of, number)).await?;
        let landed = |commit: &CommitId| all.iter().any(|l| l.state == State::Landed && l.commit == commit.as_str());
        Ok(branch.is_some_and(landed) && !all.iter().any(flower_core::Landing::is_open))
    }

    /// Removed, with everything kept; or a word about what stands in the way.
    async fn retire(
        self: &Arc<Self>,
        worktree: &Worktree,
        choice: &ProjectChoice,
        main: &str,
    ) -> Result<Option<Note>, Problem> {
        let place = self.worktrees.place(worktree).await?;
        let why_not = if crate::worktrees::observe::is_dirty(&place).await? {
            Some("it has changes that are not committed".to_owned())
        } else {
            self.worktrees.remove(&Caller::system(), choice, &worktree.name).await.err().map(|problem| problem.message)
        };
        Ok(why_not.map(|why| Note::stays(main, &why)))
    }
}
