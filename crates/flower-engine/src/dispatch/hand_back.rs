//! Hands a dispatch back. Requires that everything is committed and merges with MAIN, and refuses at once otherwise.

use super::{Reservation, late_answer};
use crate::Dispatcher;
use crate::merge_queue::{LandOptions, conflicts_with};
use crate::notify::ChangeHints;
use crate::projects::ProjectChoice;
use crate::settings::Queue;
use crate::worktrees::landed::LandedBefore;
use crate::worktrees::lfs;
use crate::worktrees::observe::{uncommitted, uncommitted_tracked};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::HandBackView;
use flower_core::dispatch::{HandBack, Step};
use flower_core::landing::Priority;
use flower_core::readiness::DispatchKind;
use flower_core::worktree::Seal;
use flower_core::{Caller, Command, Dispatch, DispatchId, Event, Fence, LandingId};
use flower_git::CommitId;

#[derive(Clone, Debug)]
pub struct HandBackRequest {
    pub fence: Fence,
    pub summary: String,
    pub not_done: Option<String>,
    pub failed: bool,
    /// The program of the agent ended with exit code 0, and flower hands back for it. With commits, untracked files may stay in
    /// the worktree: the result names them. It is asked nothing back.
    pub by_exit: bool,
}

/// What the branch has beyond MAIN.
#[derive(Default)]
struct FinishedWork {
    tip: Option<String>,
    /// Oldest first, with their titles.
    commits: Vec<(String, String)>,
    /// Untracked files that stay in the worktree.
    left: Vec<String>,
}

impl Dispatcher {
    #[tracing::instrument(name = "dispatch", skip_all, fields(%number))]
    pub async fn hand_back(
        &self,
        caller: &Caller,
        number: DispatchId,
        request: HandBackRequest,
    ) -> Result<HandBackView, Problem> {
        let dispatch = self.get(number).await?;
        let changes_code = matches!(dispatch.kind, DispatchKind::Build | DispatchKind::Fix);
        let is_holder = caller.token.as_deref().is_none_or(|token| dispatch.was_run_by(token));
        // An answer that the rules will refuse, or that reports a failure, needs no inspection of the worktree.
        let counts = is_holder && request.fence == dispatch.fence && dispatch.is_open() && !request.failed;
        let work = match changes_code && counts {
            true => self.require_finished_work(&dispatch, request.by_exit).await?,
            false => FinishedWork::default(),
        };
        if counts {
            self.hold(caller, &dispatch, &request, changes_code && work.commits.is_empty()).await?;
        }
        let handing_back = Reservation::first(&self.handing_back, &[number]);
        let fence = request.fence;
        let left =
            (!work.left.is_empty()).then(|| format!("not committed, and left in the worktree: {}", listed(&work.left)));
        let summary = match &left {
            Some(left) => format!("{}\n\n{left}", request.summary),
            None => request.summary,
        };
        let handed = HandBack {
            fence,
            summary,
            not_done: request.not_done,
            failed: request.failed,
            tip: work.tip.clone(),
            commits: work.commits.iter().map(|(commit, _)| commit.clone()).collect(),
        };
        let events = self.store.execute(caller, Command::Dispatch { number, step: Step::HandBack(handed) }).await?;
        if events.iter().any(|event| matches!(event.event(), Ok(Event::DispatchLate(_)))) {
            return Err(late_answer(&dispatch, fence));
        }
        let mut notes: Vec<String> = left.into_iter().collect();
        let mut landing = None;
        if !work.commits.is_empty() {
            let step = Step::Commits(work.commits);
            self.store.execute(&Caller::system(), Command::Dispatch { number, step }).await?;
            match self.queue_work(&dispatch).await {
                Ok(Some(queued)) => landing = Some(queued),
                Ok(None) => notes.push("it waits for the operator, who lands it: `flower land`".to_owned()),
                // The dispatch is handed back even if its work cannot be queued.
                Err(problem) => notes.push(format!("it is not in the queue: {}", problem.message)),
            }
        } else if changes_code && !request.failed {
            notes.push("no commit of its own was found; accepted, the brief is done".to_owned());
        }
        // If nothing was queued, no further event tells the page that the result now waits.
        drop(handing_back);
        self.hints.publish(ChangeHints::INBOX);
        Ok(HandBackView { dispatch: self.show(number).await?, landing: landing.map(u64::from), notes })
    }

    /// Fails unless everything is committed and merges with MAIN. Returns the commits.
    async fn require_finished_work(
        &self,
        dispatch: &Dispatch,
        leaves_untracked: bool,
    ) -> Result<FinishedWork, Problem> {
        let (Some(project), Some(name)) = (&dispatch.project, &dispatch.worktree) else {
            return Ok(FinishedWork::default());
        };
        let choice = ProjectChoice { name: Some(project.clone()), dir: None };
        let worktree = self.worktrees.find(&choice, name).await?;
        let place = self.worktrees.require_ready(&worktree).await?;
        if place.seal == Seal::Sealed {
            self.worktrees.mirror(&place).await?;
        }
        let files = uncommitted(&place).await?;
        let not_committed = |files: &[String]| {
            Problem::new(
                ProblemKind::Refused,
                format!("in worktree `{name}` something is not committed: {}", listed(files)),
                "commit it, or leave it out with `.gitignore` or `git restore`, then hand back again",
            )
        };
        let blocking = if leaves_untracked { uncommitted_tracked(&place).await? } else { files.clone() };
        if !blocking.is_empty() {
            return Err(not_committed(&blocking));
        }
        let Some(tip) = place.repo().tip(&place.full_branch()).await? else { return Ok(FinishedWork::default()) };
        let main = self.worktrees.main_of(project).await?;
        let main_tip = CommitId::parse(&main.tip)?;
        let landed = self.worktrees.landed_before(&place.repository, project, Some(worktree.number)).await?;
        let conflicts = conflicts_with(&place.repository, &main_tip, &tip, &landed).await?;
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
        let repo = place.repo();
        let base = repo.merge_base(&main_tip, &tip).await?;
        let changes = repo.diff_trees(base.as_ref().unwrap_or(&main_tip), &tip).await?;
        let raw = lfs::raw_files(&repo, &repo.tree_of(&tip).await?, &changes).await?;
        if !raw.is_empty() {
            let raw: Vec<String> = raw.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            return Err(Problem::new(
                ProblemKind::Refused,
                format!(
                    "these files belong into LFS by .gitattributes, but they are committed as they are: {}",
                    listed(&raw)
                ),
                format!("{}, then hand back again", lfs::way_out()),
            ));
        }
        let known: Vec<&CommitId> = std::iter::once(&main_tip).chain(landed.iter().map(LandedBefore::commit)).collect();
        let commits = crate::worktrees::commits::commits(&place.repository, &known, &tip).await?;
        // Without a commit, the untracked files may be the work itself.
        if commits.is_empty() && !files.is_empty() {
            return Err(not_committed(&files));
        }
        Ok(FinishedWork { tip: Some(tip.into()), commits, left: files })
    }

    /// Queues the work of a dispatch and returns its landing. `None` if the settings leave that to the operator.
    pub(super) async fn queue_work(&self, dispatch: &Dispatch) -> Result<Option<LandingId>, Problem> {
        let (Some(project), Some(name)) = (&dispatch.project, &dispatch.worktree) else { return Ok(None) };
        if self.worktrees.facts_of(project).await?.settings.land.queue == Queue::Operator {
            return Ok(None);
        }
        let choice = ProjectChoice { name: Some(project.clone()), dir: None };
        let title = Some(self.merge_queue.title_of(dispatch.brief).await?);
        let options = LandOptions { briefs: vec![dispatch.brief], title, priority: Priority::Normal, join: false };
        Ok(Some(LandingId(self.merge_queue.land(&Caller::system(), &choice, name, options).await?.id)))
    }
}

/// The first paths, and how many more there are.
fn listed(paths: &[String]) -> String {
    const MAX_LISTED: usize = 8;
    let shown = paths.iter().take(MAX_LISTED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MAX_LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
