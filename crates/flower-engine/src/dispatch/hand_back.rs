//! Handing back: what was promised is looked at, and said at once if it does not hold.

use super::late;
use crate::Dispatcher;
use crate::merge_queue::{LandOptions, conflicts_with};
use crate::projects::ProjectChoice;
use crate::settings::Queue;
use crate::worktrees::observe::uncommitted;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::HandBackView;
use flower_core::dispatch::{HandBack, Step};
use flower_core::landing::Priority;
use flower_core::readiness::DispatchKind;
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Dispatch, Event};
use flower_git::CommitId;

/// What somebody hands back.
#[derive(Clone, Debug)]
pub struct HandBackRequest {
    pub fence: u64,
    pub summary: String,
    pub not_done: Option<String>,
    pub failed: bool,
}

/// What was found on the branch.
#[derive(Default)]
struct Work {
    tip: Option<String>,
    /// Oldest first, with their titles.
    commits: Vec<(String, String)>,
}

impl Dispatcher {
    #[tracing::instrument(name = "dispatch", skip(self, caller, back))]
    pub async fn hand_back(
        &self,
        caller: &Caller,
        number: u64,
        back: HandBackRequest,
    ) -> Result<HandBackView, Problem> {
        let dispatch = self.get(number).await?;
        let changes_code = matches!(dispatch.kind, DispatchKind::Build | DispatchKind::Fix);
        let theirs = caller.token.as_deref().is_none_or(|token| dispatch.was_run_by(token));
        // What will be refused anyway is not worth a look.
        let counts = theirs && back.fence == dispatch.fence && dispatch.is_open() && !back.failed;
        let work = if changes_code && counts { self.look_at_work(&dispatch).await? } else { Work::default() };
        let fence = back.fence;
        let handed = HandBack {
            fence,
            summary: back.summary,
            not_done: back.not_done,
            failed: back.failed,
            tip: work.tip.clone(),
            commits: work.commits.iter().map(|(commit, _)| commit.clone()).collect(),
        };
        let events = self.store.execute(caller, Command::Dispatch { number, step: Step::HandBack(handed) }).await?;
        if events.iter().any(|event| matches!(event.event(), Ok(Event::DispatchLate(_)))) {
            return Err(late(&dispatch, fence));
        }
        let mut notes = Vec::new();
        let mut landing = None;
        if !work.commits.is_empty() {
            let step = Step::Commits(work.commits);
            self.store.execute(&Caller::system(), Command::Dispatch { number, step }).await?;
            match self.queue_work(&dispatch).await {
                Ok(Some(queued)) => landing = Some(queued),
                Ok(None) => notes.push("it waits for the operator, who lands it: `flower land`".to_owned()),
                // The work is handed back all the same.
                Err(problem) => notes.push(format!("it is not in the queue: {}", problem.message)),
            }
        } else if changes_code && !back.failed {
            notes.push("no commit of its own was found; accepted, the brief is done".to_owned());
        }
        Ok(HandBackView { dispatch: self.show(number).await?, landing, notes })
    }

    /// Everything is committed, and merges with MAIN as it stands.
    async fn look_at_work(&self, dispatch: &Dispatch) -> Result<Work, Problem> {
        let (Some(project), Some(name)) = (&dispatch.project, &dispatch.worktree) else { return Ok(Work::default()) };
        let choice = ProjectChoice { name: Some(project.clone()), dir: None };
        let worktree = self.worktrees.find(&choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.worktrees.mirror(&place).await?;
        }
        let files = uncommitted(&place).await?;
        if !files.is_empty() {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("in worktree `{name}` something is not committed: {}", listed(&files)),
                "commit it, or leave it out with `.gitignore` or `git restore`, then hand back again",
            ));
        }
        let Some(tip) = place.repo().tip(&place.full_branch()).await? else { return Ok(Work::default()) };
        let main = self.worktrees.main_of(project).await?;
        let main_tip = CommitId::parse(&main.tip)?;
        let conflicts = conflicts_with(&place.repository, &main_tip, &tip).await?;
        if !conflicts.is_empty() {
            if place.seal == Seal::Sealed {
                self.worktrees.provide_main_tip(&place, &main.branch, &main_tip).await?;
            }
            return Err(Problem::new(
                ProblemKind::Conflict,
                format!("it does not merge with MAIN as it stands: {}", listed(&conflicts)),
                format!("`git merge origin/{}`, resolve, commit, then hand back again", main.branch),
            ));
        }
        let commits = crate::worktrees::commits::commits(&place.repository, &[&main_tip], &tip).await?;
        Ok(Work { tip: Some(tip.into()), commits })
    }

    /// The landing that it is on its way with, unless the operator wants to say so each time.
    pub(super) async fn queue_work(&self, dispatch: &Dispatch) -> Result<Option<u64>, Problem> {
        let (Some(project), Some(name)) = (&dispatch.project, &dispatch.worktree) else { return Ok(None) };
        if self.worktrees.facts_of(project).await?.settings.land.queue == Queue::Operator {
            return Ok(None);
        }
        let choice = ProjectChoice { name: Some(project.clone()), dir: None };
        let title = Some(self.merge_queue.title_of(dispatch.brief).await?);
        let wish = LandOptions { briefs: vec![dispatch.brief], title, priority: Priority::Normal };
        Ok(Some(self.merge_queue.land(&Caller::system(), &choice, name, wish).await?.id))
    }
}

/// A few of them, and how many more.
fn listed(paths: &[String]) -> String {
    const MOST: usize = 8;
    let shown = paths.iter().take(MOST).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MOST) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
