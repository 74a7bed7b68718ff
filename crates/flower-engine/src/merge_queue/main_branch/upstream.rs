//! MAIN's remote: its commits pass the queue like all others, and MAIN is pushed after landings if the settings say so.

use crate::MergeQueue;
use crate::failpoint;
use crate::merge_queue::conflicts_with;
use crate::own_refs::UPSTREAM;
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{LandingView, MainView, PullView, SettleView};
use flower_core::landing::{self, Priority, Source, State};
use flower_core::main_branch::Step;
use flower_core::policy::{self, Action, Right};
use flower_core::{Caller, Command, Landing, Main, Worktree};
use flower_git::repository::Repository;
use flower_git::{CommitId, GitError, OwnRef, Push, Repo};
use flower_store::landings;
use std::sync::Arc;
use std::time::Duration;

/// Worktrees of settlements have this name, and a number.
const SETTLE: &str = "settle";
/// A remote that does not answer within this time counts as unreachable.
const REMOTE_TIMEOUT: Duration = Duration::from_secs(120);

impl MergeQueue {
    /// Fetches MAIN's branch from its remote, and queues its new commits.
    pub async fn pull_main(self: &Arc<Self>, caller: &Caller, choice: &ProjectChoice) -> Result<PullView, Problem> {
        policy::require_role(caller, Right::Steer)?;
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        let remote = remote_of(&repository, &main.branch).await?.ok_or_else(|| no_remote(&project))?;
        let commit = fetch(&repository, &remote, &main.branch).await?;
        self.worktrees.fetch_missing(&project, &repository, &[&commit]).await?;
        if Repo::main(&repository).is_ancestor(&commit, &CommitId::parse(&main.tip)?).await? {
            return Ok(PullView { remote, commit: commit.into(), landing: None });
        }
        let landing = self.queue_upstream(caller, &project, &remote, &main, &commit).await?;
        Ok(PullView { remote, commit: commit.into(), landing: Some(landing) })
    }

    /// The newest landing of the remote's commits, if it did not merge and MAIN does not have them since.
    pub(crate) async fn remote_conflict(&self, project: &str, tip: &str) -> Result<Option<Landing>, Problem> {
        let of = project.to_owned();
        let last = self.store.read(move |conn| landings::last_upstream(conn, &of)).await?;
        let is_conflict =
            |landing: &Landing| landing.state == State::Rejected && landing.verdict == Some(landing::Verdict::Conflict);
        let Some(landing) = last.filter(is_conflict) else { return Ok(None) };
        let known = (tip.to_owned(), landing.commit.clone());
        if self.settled_remotes.lock().expect("no panic while held").get(project) == Some(&known) {
            return Ok(None);
        }
        // A repository that cannot be read is reported as a problem of the project.
        let Ok(repository) = self.worktrees.repository(project).await else { return Ok(None) };
        let commit = CommitId::parse(&landing.commit)?;
        if !Repo::main(&repository).is_ancestor(&commit, &CommitId::parse(tip)?).await.unwrap_or(true) {
            return Ok(Some(landing));
        }
        self.settled_remotes.lock().expect("no panic while held").insert(project.to_owned(), known);
        Ok(None)
    }

    /// Makes a worktree that begins at the remote's commit, and merges MAIN there. Conflicts stay open in it; once they are settled
    /// and committed, the worktree lands like any other.
    pub async fn settle_remote(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        name: Option<String>,
    ) -> Result<SettleView, Problem> {
        policy::require_role(caller, Right::Steer)?;
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        let repo = Repo::main(&repository);
        let refused = |message: String, hint: &str| Err(Problem::new(ProblemKind::Refused, message, hint));
        let (remote, commit) = match remote_of(&repository, &main.branch).await? {
            Some(remote) => {
                let kept = kept_at(&main.branch)?;
                (remote, repo.tip(&kept).await?)
            }
            None => return Err(no_remote(&project)),
        };
        let tip = CommitId::parse(&main.tip)?;
        let Some(commit) = commit else {
            return refused(format!("nothing was fetched from {remote} yet"), "fetch it: `flower main pull`");
        };
        if repo.is_ancestor(&commit, &tip).await? {
            return refused(format!("MAIN has all that was fetched from {remote}"), "fetch more: `flower main pull`");
        }
        let paths = conflicts_with(&repository, &tip, &commit, &[]).await?;
        if paths.is_empty() {
            return refused(format!("the commits of {remote} merge with MAIN"), "land them: `flower main pull`");
        }
        let name = match name {
            Some(name) => name,
            None => {
                let live = self.worktrees.live(&project).await?;
                // Others may begin there too, for other work.
                let is_settlement = |name: &str| {
                    name.strip_prefix(SETTLE)
                        .and_then(|rest| rest.strip_prefix('-'))
                        .is_some_and(|n| n.parse::<u32>().is_ok())
                };
                let of_commit =
                    |worktree: &&Worktree| worktree.base == commit.as_str() && is_settlement(&worktree.name);
                if let Some(open) = live.iter().find(of_commit) {
                    // The merge is missing if flower ended just after it had made the worktree.
                    if !self.worktrees.merge_main_and_keep_conflicts(&project, &open.name).await? {
                        return Err(settled_in(&open.name));
                    }
                    let choice = ProjectChoice { name: Some(project), dir: None };
                    let worktree = self.worktrees.show(&choice, &open.name).await?;
                    return Ok(SettleView { worktree, remote, commit: commit.into(), paths });
                }
                self.free_worktree_name(&project, SETTLE).await?
            }
        };
        let wanted = self.worktree_from(name, &commit).await;
        let worktree = self.worktrees.create(caller, &project, wanted).await?;
        failpoint::here("settle.worktree");
        self.worktrees.merge_main_and_keep_conflicts(&project, &worktree.name).await?;
        Ok(SettleView { worktree, remote, commit: commit.into(), paths })
    }

    async fn queue_upstream(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        remote: &str,
        main: &Main,
        commit: &CommitId,
    ) -> Result<LandingView, Problem> {
        let request = landing::Request {
            project: project.to_owned(),
            source: Source::Upstream,
            worktree: None,
            worktree_number: None,
            commit: commit.to_string(),
            title: format!("Merge {remote}/{}", main.branch),
            briefs: Vec::new(),
            priority: Priority::High,
            reverts: None,
        };
        self.enqueue_or_join(caller, request).await
    }

    /// Pushes MAIN if the project's settings say so and the remote does not have its tip yet.
    pub(crate) async fn push_landed(self: &Arc<Self>, project: &str) -> Result<(), Problem> {
        let facts = self.worktrees.facts_of(project).await?;
        let main = self.worktrees.main_of(project).await?;
        let pushed = main.push.as_ref().is_some_and(|push| push.failure.is_none() && push.commit == main.tip);
        if !facts.settings.land.push || pushed || main.alarm.is_some() {
            return Ok(());
        }
        self.push(&Caller::system(), project, &main).await.map(drop)
    }

    /// Pushes MAIN to its remote now, and shows MAIN afterwards.
    pub async fn push_main(self: &Arc<Self>, caller: &Caller, choice: &ProjectChoice) -> Result<MainView, Problem> {
        policy::require_action(caller, Action::PushMain)?;
        let project = self.projects.require(choice).await?;
        let repository = self.worktrees.repository(&project).await?;
        let main = self.worktrees.main_of(&project).await?;
        remote_of(&repository, &main.branch).await?.ok_or_else(|| no_remote(&project))?;
        match self.push(caller, &project, &main).await? {
            None => self.main_view(choice).await,
            Some(failure) => {
                let next = failure.next().unwrap_or("`flower main` shows the state of MAIN");
                Err(Problem::new(ProblemKind::Refused, failure.message(), next))
            }
        }
    }

    /// Pushes MAIN and records the result.
    async fn push(
        self: &Arc<Self>,
        caller: &Caller,
        project: &str,
        main: &Main,
    ) -> Result<Option<PushFailure>, Problem> {
        let repository = self.worktrees.repository(project).await?;
        let Some(remote) = remote_of(&repository, &main.branch).await? else {
            return self.record_push(project, "none", &main.tip, Some(PushFailure::NoRemote)).await;
        };
        let (repo, tip) = (Repo::main(&repository).with_deadline(REMOTE_TIMEOUT), CommitId::parse(&main.tip)?);
        let why = match repo.push(&remote, &tip, &main.branch).await {
            Ok(Push::Done) => return self.record_push(project, &remote, &main.tip, None).await,
            Ok(Push::Refused { is_behind, why }) => {
                if is_behind {
                    // The remote has new commits: they are queued and checked, and their landing pushes everything.
                    let commit = fetch(&repository, &remote, &main.branch).await?;
                    self.worktrees.fetch_missing(project, &repository, &[&commit]).await?;
                    if !Repo::main(&repository).is_ancestor(&commit, &tip).await? {
                        let conflicts = !conflicts_with(&repository, &tip, &commit, &[]).await?.is_empty();
                        let failure = match conflicts {
                            true => PushFailure::Conflicts { remote: remote.clone() },
                            false => PushFailure::Queued { remote: remote.clone() },
                        };
                        let recorded = self.record_push(project, &remote, &main.tip, Some(failure)).await?;
                        let of = project.to_owned();
                        let last = self.store.read(move |conn| landings::last_upstream(conn, &of)).await?;
                        // Commits that conflict are rejected once.
                        if !(conflicts && last.is_some_and(|last| last.commit == commit.as_str())) {
                            self.queue_upstream(caller, project, &remote, main, &commit).await?;
                        }
                        return Ok(recorded);
                    }
                }
                why
            }
            Err(error) => error.to_string(),
        };
        let failure = PushFailure::Refused { remote: remote.clone(), why };
        self.record_push(project, &remote, &main.tip, Some(failure)).await
    }

    async fn record_push(
        &self,
        project: &str,
        remote: &str,
        commit: &str,
        failure: Option<PushFailure>,
    ) -> Result<Option<PushFailure>, Problem> {
        let (remote, commit) = (remote.to_owned(), commit.to_owned());
        let step = match &failure {
            None => Step::Pushed { remote, commit },
            Some(failure) => Step::PushFailed { remote, commit, why: failure.in_words() },
        };
        self.store.execute(&Caller::system(), Command::Main { project: project.to_owned(), step }).await?;
        Ok(failure)
    }
}

/// Why MAIN was not pushed.
enum PushFailure {
    NoRemote,
    /// The remote has commits that do not merge with MAIN.
    Conflicts {
        remote: String,
    },
    /// The remote has commits that MAIN has not. They are queued.
    Queued {
        remote: String,
    },
    Refused {
        remote: String,
        why: String,
    },
}

impl PushFailure {
    fn message(&self) -> String {
        match self {
            PushFailure::NoRemote => "MAIN has no remote".to_owned(),
            PushFailure::Conflicts { remote } => format!("{remote} has commits that do not merge with MAIN"),
            PushFailure::Queued { remote } => {
                format!("{remote} has commits that MAIN has not; they are queued, and pushed with the rest")
            }
            PushFailure::Refused { remote, why } => format!("{remote} did not take it: {why}"),
        }
    }

    /// What the operator can do about it.
    fn next(&self) -> Option<&'static str> {
        match self {
            PushFailure::NoRemote => Some("add one: `git remote add origin ADDRESS`"),
            PushFailure::Conflicts { .. } => Some("settle them: `flower main settle`"),
            PushFailure::Queued { .. } | PushFailure::Refused { .. } => None,
        }
    }

    /// In one line, as it is recorded.
    fn in_words(&self) -> String {
        match self.next() {
            Some(next) => format!("{}; {next}", self.message()),
            None => self.message(),
        }
    }
}

fn settled_in(name: &str) -> Problem {
    Problem {
        kind: ProblemKind::Conflict,
        message: format!("worktree `{name}` already begins at that commit of the remote"),
        hints: vec![
            format!("settle it there: `flower worktree shell {name}`; then land it: `flower land {name}`"),
            "or make another worktree: `flower main settle --as NAME`".to_owned(),
        ],
    }
}

fn no_remote(project: &str) -> Problem {
    Problem::new(
        ProblemKind::Refused,
        format!("MAIN of `{project}` has no remote"),
        "add one: `git remote add origin ADDRESS`",
    )
}

/// The remote that MAIN's branch follows; otherwise `origin`, or the only one there is.
pub(super) async fn remote_of(repository: &Repository, branch: &str) -> Result<Option<String>, Problem> {
    let repo = Repo::main(repository);
    if let Some(named) = repo.remote_of(branch).await? {
        return Ok(Some(named));
    }
    let all = repo.remotes().await?;
    let only = all.first().filter(|_| all.len() == 1);
    Ok(all.iter().find(|name| *name == "origin").or(only).cloned())
}

/// The ref that keeps what was fetched last.
fn kept_at(branch: &str) -> Result<OwnRef, Problem> {
    Ok(OwnRef::parse(&format!("{UPSTREAM}/{branch}"))?)
}

async fn fetch(repository: &Repository, remote: &str, branch: &str) -> Result<CommitId, Problem> {
    let kept = kept_at(branch)?;
    let repo = Repo::main(repository);
    let fetched = repo.clone().with_deadline(REMOTE_TIMEOUT).fetch(remote, branch, &kept).await;
    fetched.map_err(|error| match error {
        GitError::Deadline { seconds, .. } => Problem::new(
            ProblemKind::Timeout,
            format!("{remote} did not answer within {seconds} seconds"),
            "is it within reach? try `git fetch` by hand",
        ),
        GitError::Failed { stderr, .. } => Problem::new(
            ProblemKind::Refused,
            format!("{remote} gives nothing: {stderr}"),
            "try `git fetch` by hand, and mend the remote or your login",
        ),
        other => other.into(),
    })?;
    repo.tip(&kept).await?.ok_or_else(|| Problem::bug("git fetched a branch which is not there"))
}
