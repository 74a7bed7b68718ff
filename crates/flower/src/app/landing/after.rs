//! What follows a landing: worktrees are brought up to date or told why not, those whose work is in MAIN go, and the remote
//! hears of it. All of it can be repeated, so after a crash it simply is.

use crate::app::App;
use crate::app::projects::ProjectChoice;
use crate::app::worktrees::refs::tip;
use crate::error::Problem;
use crate::store::landings;
use flower_core::landing::State;
use flower_core::worktree::{Seal, Sort, Stage};
use flower_core::{Caller, Command, Worktree};
use std::sync::Arc;

impl App {
    pub(super) async fn after_landing(self: &Arc<Self>, number: u64) {
        match self.landing(number).await {
            Ok(landing) => {
                self.unpin(&landing).await;
                self.follow_up(&landing.project);
            }
            Err(problem) => tracing::warn!("landing {number}: {}", problem.message),
        }
    }

    /// Behind everybody's back: the queue goes on meanwhile.
    pub(super) fn follow_up(self: &Arc<Self>, project: &str) {
        let (app, project) = (self.clone(), project.to_owned());
        tokio::spawn(async move {
            let _one = app.landings.following.lock().await;
            if let Err(problem) = app.push_landed(&project).await {
                tracing::warn!("pushing {project}: {}", problem.message);
            }
            let worktrees = match app.live_worktrees(&project).await {
                Ok(worktrees) => worktrees,
                Err(problem) => return tracing::warn!("{project}: {}", problem.message),
            };
            for worktree in worktrees.into_iter().filter(|worktree| worktree.stage == Stage::Ready) {
                if let Err(problem) = app.catch_up(&worktree).await {
                    tracing::debug!("worktree {}: {}", worktree.name, problem.message);
                }
            }
        });
    }

    async fn catch_up(self: &Arc<Self>, worktree: &Worktree) -> Result<(), Problem> {
        let place = self.require_ready(worktree).await?;
        let main = self.main_of(&worktree.project).await?;
        let choice = ProjectChoice { name: Some(worktree.project.clone()), dir: None };
        let branch = tip(&place.repository, &place.full_branch()).await?;
        if worktree.sort == Sort::Ephemeral && self.is_landed(worktree, branch.as_deref()).await? {
            return self.retire(worktree, &choice, &main.tip).await;
        }
        let known = match &branch {
            Some(branch) => super::is_ancestor(&place.repository, &main.tip, branch).await?,
            None => true,
        };
        if known {
            return Ok(());
        }
        if worktree.sort == Sort::Ephemeral {
            // It is let be; MAIN's tip is there to be merged.
            if place.seal == Seal::Sealed {
                self.hand_in(&place, &main.branch, &main.tip).await?;
            }
            return Ok(());
        }
        let why_not = match self.sync_worktree(&choice, &worktree.name).await {
            Ok(synced) => synced.reason,
            Err(problem) => Some(problem.message),
        };
        self.note_sync(worktree, &main.tip, why_not).await
    }

    /// Whether everything that is committed in it has landed.
    async fn is_landed(&self, worktree: &Worktree, branch: Option<&str>) -> Result<bool, Problem> {
        let of = worktree.project.clone();
        let number = worktree.number;
        let all = self.store.read(move |conn| landings::of_worktree(conn, &of, number)).await?;
        let landed = |commit: &str| all.iter().any(|l| l.state == State::Landed && l.commit == commit);
        Ok(branch.is_some_and(landed) && !all.iter().any(flower_core::Landing::is_open))
    }

    /// Removed, with everything kept; or a word about what stands in the way.
    async fn retire(self: &Arc<Self>, worktree: &Worktree, choice: &ProjectChoice, main: &str) -> Result<(), Problem> {
        let place = self.place(worktree).await?;
        let why_not = if crate::app::worktrees::observe::is_dirty(&place).await? {
            Some("it has changes that are not committed".to_owned())
        } else {
            self.remove_worktree(&Caller::system(), choice, &worktree.name).await.err().map(|problem| problem.message)
        };
        match why_not {
            None => Ok(()),
            Some(why) => {
                let why = format!("it has landed and stays only because {why}");
                self.note_sync(worktree, main, Some(why)).await
            }
        }
    }

    async fn note_sync(&self, worktree: &Worktree, onto: &str, why_not: Option<String>) -> Result<(), Problem> {
        let note = Command::NoteSync { number: worktree.number, onto: onto.to_owned(), why_not };
        self.submit(&Caller::system(), note).await.map(|_| ())
    }
}
