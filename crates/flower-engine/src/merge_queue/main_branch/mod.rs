//! MAIN's branch and checkout: compares them with the log, raises alarms, and moves them.

pub(crate) mod checkout;
mod history;
pub(crate) mod hook;
mod last_move;
mod lfs;
mod open_merge;
mod put_back;
mod recovery;
mod update;
mod upstream;
mod verify;
mod watch;

pub(crate) use update::{MainLock, MainUpdate, RecoveryCause, UpdateTarget};
pub(super) use watch::MainWatch;

use crate::MergeQueue;
use crate::projects::ProjectChoice;
use crate::settings::{Objects, Settings};
use crate::worktrees::facts::SettingsProblem;
use crate::worktrees::observe::READS_EVERYTHING;
use flower_contract::error::Problem;
use flower_contract::view::{AlarmView, MainState, MainSummary, MainView, ProtectionLevel, PushView};
use flower_core::main_branch::{Alarm, MAX_FILES, PutBack, Settlement, Step};
use flower_core::policy::{self, Right};
use flower_core::{Caller, Command, Main};
use flower_git::lfs::Lfs;
use flower_git::repository::Repository;
use flower_git::{CommitId, RefName, Repo};
use std::sync::Arc;
use std::time::Duration;

/// Enough for a very large checkout.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// MAIN's repository as it is now.
#[derive(Clone, Debug)]
pub(crate) struct MainStatus {
    /// The tip of MAIN's branch; `None` if the branch does not exist.
    pub(crate) tip: Option<CommitId>,
    /// The branch that is checked out.
    pub(crate) head: Option<String>,
    /// Tracked files that differ from the branch. Untracked files do not matter: no landing overwrites them.
    pub(crate) dirty: Vec<String>,
    /// The command of git that has moved the branch to its tip, if the reflog names one.
    pub(crate) moved_by: Option<&'static str>,
    /// Whether a rebase of the branch is open.
    pub(crate) is_rebasing: bool,
}

impl MainStatus {
    pub(crate) async fn read(repository: &Repository, branch: &str) -> Result<MainStatus, Problem> {
        let (repo, full) = (Repo::main(repository), RefName::branch(branch)?);
        // A content of LFS that is that of its pointer is no change.
        let for_status = repo.clone().with_lfs(Lfs::Pointers).with_deadline(STATUS_TIMEOUT);
        let (paths, tip) = tokio::join!(for_status.changed(), repo.tip(&full));
        let tip = tip?;
        let dirty = paths?.iter().take(MAX_FILES + 1).map(|path| path.to_string_lossy().into_owned()).collect();
        Ok(MainStatus {
            head: crate::worktrees::facts::head_branch(repository),
            dirty,
            moved_by: tip.as_ref().and_then(|tip| last_move::command(repository, branch, tip)),
            is_rebasing: open_merge::rebase(repository, branch).is_some(),
            tip,
        })
    }

    /// How MAIN differs from the log, if it does, with a description.
    pub(crate) fn alarm(&self, main: &Main) -> Option<(Alarm, String)> {
        let branch = &main.branch;
        match &self.tip {
            None => return Some((Alarm::Gone, format!("MAIN's branch `{branch}` is gone"))),
            Some(tip) if tip.as_str() != main.tip => {
                let from = main.tip.get(..12).unwrap_or(&main.tip);
                let by = self.moved_by.map_or_else(String::new, |command| format!(" (`git {command}`)"));
                let pulled = "; commits of the remote: `flower main restore`, then `flower main pull`";
                let next = if self.moved_by == Some("pull") { pulled } else { "" };
                let text = format!("MAIN's branch was moved by hand from {from} to {}{by}{next}", tip.short());
                return Some((Alarm::Moved, text));
            }
            Some(_) => {}
        }
        if self.head.is_none() && self.is_rebasing {
            let text = format!(
                "a rebase of `{branch}` is open in MAIN; `git rebase --abort` ends it and brings back files that git has \
                 put aside"
            );
            return Some((Alarm::Detached, text));
        }
        if self.head.as_ref() != Some(branch) {
            let on = self.head.as_ref().map_or_else(|| "no branch".to_owned(), |head| format!("`{head}`"));
            return Some((Alarm::Detached, format!("MAIN's checkout is on {on}, not on `{branch}`")));
        }
        match self.dirty.as_slice() {
            [] => None,
            [one] => Some((Alarm::Dirty, format!("`{one}` was changed in MAIN by hand"))),
            [one, rest @ ..] => {
                let more = if rest.len() >= MAX_FILES { "many".to_owned() } else { rest.len().to_string() };
                Some((Alarm::Dirty, format!("`{one}` and {more} more were changed in MAIN by hand")))
            }
        }
    }
}

/// MAIN's `flower.toml` as it is in force.
#[derive(Debug)]
pub(crate) struct Rules {
    /// MAIN's tip when they were read.
    tip: String,
    pub(crate) settings: Settings,
    pub(crate) problem: Option<SettingsProblem>,
}

impl MergeQueue {
    /// Records MAIN's branch and tip if the log does not have them yet, and installs the hooks.
    pub(crate) async fn record_main(&self, project: &str) -> Result<(), Problem> {
        if self.worktrees.recorded_main(project).await?.is_some() {
            return Ok(());
        }
        let main = self.worktrees.main_of(project).await?;
        let step = Step::Record { branch: main.branch.clone(), tip: main.tip };
        self.store.execute(&Caller::system(), Command::Main { project: project.to_owned(), step }).await?;
        // Registration could not install them in a repository without commits.
        if let Err(problem) = hook::install(&self.worktrees.repository(project).await?, &main.branch) {
            tracing::warn!("{project}: {}", problem.message);
        }
        Ok(())
    }

    /// The rules that MAIN's `flower.toml` sets. `None` if the repository cannot be read, which is reported as a problem of the
    /// project.
    pub(crate) async fn rules_of(&self, project: &str, tip: &str) -> Option<Arc<Rules>> {
        if let Some(known) = self.rules.lock().expect("no panic while held").get(project)
            && known.tip == tip
        {
            return Some(known.clone());
        }
        let facts = self.worktrees.facts_of(project).await.ok()?;
        let rules = Rules { tip: tip.to_owned(), settings: facts.settings, problem: facts.settings_problem };
        let rules = Arc::new(rules);
        self.rules.lock().expect("no panic while held").insert(project.to_owned(), rules.clone());
        Some(rules)
    }

    /// What is wrong with MAIN's `flower.toml`.
    pub(crate) async fn settings_problem(&self, project: &str, tip: &str) -> Option<SettingsProblem> {
        self.rules_of(project, tip).await?.problem.clone()
    }

    /// Whether MAIN's `flower.toml` has no checks.
    pub(crate) async fn lacks_checks(&self, project: &str, tip: &str) -> bool {
        self.rules_of(project, tip).await.is_some_and(|rules| rules.settings.checks.list.is_empty())
    }

    /// Compares MAIN with the log, and raises or ends an alarm.
    pub(crate) async fn check_main(&self, lock: &MainLock) -> Result<(Main, MainStatus), Problem> {
        self.record_main(&lock.project).await?;
        let main = self.worktrees.main_of(&lock.project).await?;
        let status = MainStatus::read(&lock.repository, &main.branch).await?;
        // An unfinished update by flower itself is no alarm; recovery finishes it.
        if self.has_journal(&lock.project) {
            return Ok((main, status));
        }
        let status = match main.alarm {
            None => put_back::after_git(&lock.repository, &main.branch, status).await?,
            Some(_) => status,
        };
        let (main, status) = self.put_back_tried(lock, main, status).await?;
        let step = match (status.alarm(&main), &main.alarm) {
            (Some((what, text)), _) => {
                let found = if what == Alarm::Dirty { None } else { status.tip.clone().map(String::from) };
                Step::Alarm { what, found, text, files: status.dirty.clone() }
            }
            // Edits that were undone end their alarm. A branch that moved stays an alarm until the operator settles it.
            (None, Some(raised)) if matches!(raised.what, Alarm::Dirty | Alarm::Detached) => {
                Step::Settle { how: Settlement::Undone, tip: main.tip.clone(), worktree: None }
            }
            (None, _) => return Ok((main, status)),
        };
        self.store.execute(&Caller::system(), Command::Main { project: lock.project.clone(), step }).await?;
        self.wake();
        Ok((self.worktrees.main_of(&lock.project).await?, status))
    }

    /// Brings the log's view of MAIN up to date, unless that takes longer or MAIN cannot be read.
    pub(crate) async fn examine_within(self: &Arc<Self>, project: &str, timeout: Duration) {
        let (queue, of) = (self.clone(), project.to_owned());
        // A task of its own, so that the examination ends also if the caller does not wait for it.
        let examine = tokio::spawn(async move {
            let lock = queue.lock_main(&of).await?;
            queue.check_main(&lock).await
        });
        match tokio::time::timeout(timeout, examine).await {
            Ok(Ok(Err(problem))) => tracing::debug!("MAIN of {project}: {}", problem.message),
            Ok(_) => {}
            Err(_) => tracing::debug!("MAIN of {project} was not examined within {timeout:?}"),
        }
    }

    /// MAIN's state, read from its repository now.
    pub async fn main_view(&self, choice: &ProjectChoice) -> Result<MainView, Problem> {
        let project = self.projects.require(choice).await?;
        let lock = self.lock_main(&project).await?;
        let (main, status) = self.check_main(&lock).await?;
        self.view_main(&lock, main, status).await
    }

    async fn view_main(&self, lock: &MainLock, main: Main, status: MainStatus) -> Result<MainView, Problem> {
        let state = self.state_of(&lock.project, &main);
        let protection = self.worktrees.protection().await;
        let mut unchecked = false;
        let mut notes = Vec::new();
        if let Ok(facts) = self.worktrees.facts_of(&lock.project).await {
            match facts.settings_problem {
                Some(problem) => notes.push(problem.in_words()),
                None if facts.settings.checks.list.is_empty() => {
                    unchecked = true;
                    notes.push(
                        "no checks are configured, so every landing that merges reaches MAIN untested; `flower init` proposes some".to_owned(),
                    );
                }
                None => {}
            }
            if facts.settings.worktree.objects == Objects::All {
                notes.push(format!("{READS_EVERYTHING}: flower.toml says `objects = \"all\"`"));
            }
        }
        notes.extend(main.put_back.as_ref().map(PutBack::note));
        notes.extend(self.worktrees.lending_note(&lock.project));
        let hook = hook::state(&lock.repository);
        notes.extend(hook.note());
        Ok(MainView {
            project: lock.project.clone(),
            branch: main.branch,
            tip: status.tip.map(String::from),
            recorded_tip: main.tip,
            state,
            reason: main.alarm.as_ref().map(|alarm| alarm.text.clone()).or_else(|| main.frozen.clone()),
            protection: if protection.missing.is_empty() { ProtectionLevel::Kernel } else { ProtectionLevel::Watched },
            hook: hook.view(),
            served: "in_place".to_owned(),
            since: main.since,
            alarm: main.alarm.map(|alarm| AlarmView {
                next: alarm.what.way_out().to_owned(),
                what: alarm.what,
                text: alarm.text,
                files: alarm.files,
                at: alarm.at,
            }),
            frozen: main.frozen,
            push: main.push.map(|push| PushView {
                remote: push.remote,
                commit: push.commit,
                failure: push.failure,
                at: push.at,
            }),
            unchecked,
            notes,
        })
    }

    fn state_of(&self, project: &str, main: &Main) -> MainState {
        match (main.alarm.as_ref().map(|alarm| alarm.what), &main.frozen) {
            (Some(Alarm::Dirty), _) => MainState::Dirty,
            (Some(Alarm::Moved | Alarm::Detached | Alarm::Gone), _) => MainState::Moved,
            (None, Some(_)) => MainState::Frozen,
            (None, None) if self.has_journal(project) => MainState::Unknown,
            (None, None) => MainState::Stable,
        }
    }

    /// A short form of MAIN as the log has it, without reading the repository.
    pub(crate) fn summary_of(&self, project: &str, main: Main) -> MainSummary {
        let frozen = main.frozen.as_ref().map(|_| "let landings go on: `flower thaw`".to_owned());
        MainSummary {
            state: self.state_of(project, &main),
            next: main.alarm.as_ref().map(|alarm| alarm.what.way_out().to_owned()).or(frozen),
            reason: main.alarm.map(|alarm| alarm.text).or(main.frozen),
            branch: main.branch,
            recorded_tip: main.tip,
            settings: None,
            unchecked: false,
        }
    }

    pub async fn freeze(
        &self,
        caller: &Caller,
        choice: &ProjectChoice,
        why: Option<String>,
    ) -> Result<MainView, Problem> {
        policy::require_role(caller, Right::Steer)?;
        let project = self.projects.require(choice).await?;
        self.record_main(&project).await?;
        self.store.execute(caller, Command::Main { project: project.clone(), step: Step::Freeze { why } }).await?;
        self.main_view(&ProjectChoice { name: Some(project), dir: None }).await
    }

    /// Resumes the landings of a project. If `flower halt` has stopped it, the halt is lifted in all projects.
    pub async fn thaw(&self, caller: &Caller, choice: &ProjectChoice) -> Result<MainView, Problem> {
        policy::require_role(caller, Right::Own)?;
        let project = self.projects.require(choice).await.map_err(|mut problem| {
            problem.hints.push("to resume all projects: `flower thaw --all`".to_owned());
            problem
        })?;
        self.record_main(&project).await?;
        self.store.execute(caller, Command::Main { project: project.clone(), step: Step::Thaw }).await?;
        let others = self.thaw_where(caller, |main| main.halted).await?;
        let mut view = self.main_view(&ProjectChoice { name: Some(project), dir: None }).await?;
        if !others.is_empty() {
            view.notes.push(format!("the halt is lifted in {}, too", others.join(", ")));
        }
        Ok(view)
    }

    /// Resumes the landings of all projects, and returns the projects that were frozen.
    pub async fn thaw_all(&self, caller: &Caller) -> Result<Vec<String>, Problem> {
        policy::require_role(caller, Right::Own)?;
        self.thaw_where(caller, |main| main.frozen.is_some()).await
    }

    async fn thaw_where(&self, caller: &Caller, is_meant: impl Fn(&Main) -> bool) -> Result<Vec<String>, Problem> {
        let mains = self.store.read(flower_store::landings::mains).await?;
        let projects: Vec<String> =
            mains.into_iter().filter(|(_, main)| is_meant(main)).map(|(name, _)| name).collect();
        for project in &projects {
            self.store.execute(caller, Command::Main { project: project.clone(), step: Step::Thaw }).await?;
        }
        self.wake();
        Ok(projects)
    }
}
