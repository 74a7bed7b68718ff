//! Which checks a run of `flower check` has, and on which commits: those that a landing would have.

use super::MAX_PATHS;
use super::run::Report;
use crate::merge_queue::MergeQueue;
use crate::merge_queue::checks::{self, NO_CHECKS_NOTE};
use crate::merge_queue::merge::{self, Merged, NotMerged};
use crate::merge_queue::runner::{Attempt, merged_settings};
use crate::settings::{CheckSettings, Settings};
use crate::worktrees::facts::Facts;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CheckRunState, HoldView, NotApproved};
use flower_core::landing::{self, Priority, Source};
use flower_core::{Landing, LandingId, Worktree};
use flower_git::repository::Repository;
use flower_git::{Change, CommitId, Repo};

/// The checks of a run, and the commits that they run on.
pub(super) struct CheckPlan {
    pub(super) repository: Repository,
    pub(super) facts: Facts,
    pub(super) settings: Settings,
    pub(super) checks: Vec<(String, CheckSettings)>,
    pub(super) commits: Vec<CommitId>,
    /// As in [`Series`](crate::merge_queue::series::Series).
    pub(super) changes: Option<Vec<Change>>,
    pub(super) onto: CommitId,
}

impl MergeQueue {
    /// Merges a worktree with MAIN and lets the gate examine it, as a landing would. No plan if that ends it.
    pub(super) async fn plan_check(
        &self,
        worktree: &Worktree,
        commit: &CommitId,
        only: Option<&str>,
    ) -> Result<(Report, Option<CheckPlan>), Problem> {
        let project = worktree.project.as_str();
        self.record_main(project).await?;
        let repository = self.worktrees.repository(project).await?;
        let main = self.worktrees.main_of(project).await?;
        let onto = CommitId::parse(&main.tip)?;
        let repo = Repo::main(&repository);
        let landing = as_landing(worktree, commit);
        let landed_before = self.worktrees.landed_before(&repository, project, landing.worktree_number).await?;
        let (merged, new, facts, committer) = tokio::join!(
            merge::merge_onto(&repository, &onto, &landing, &landed_before, &main.branch),
            self.scan_new_objects(&repository, &onto, commit),
            self.worktrees.facts_of(project),
            repo.identity(),
        );
        let (new, facts, committer) = (new?, facts?, committer?);
        let mut report = Report::new(&onto);
        let (merged, is_new) = match merged? {
            Ok(merged) => (merged, true),
            Err(NotMerged::NothingNew) => {
                report.notes.push("it has nothing that MAIN does not have, so MAIN itself is checked".to_owned());
                (Merged { tree: repo.tree_of(&onto).await?, changes: Vec::new(), brings_upstream: false }, false)
            }
            Err(not_merged) => return Ok((not_merged_report(report, not_merged), None)),
        };
        report.merge.changes = merged.changes.len() as u64;
        report.merge.changed = merged.changes.iter().take(MAX_PATHS).map(Change::name).collect();
        let settings = match merged_settings(&repository, &merged, &facts).await {
            Ok(settings) => settings,
            Err(problem) => {
                report.end(CheckRunState::Failed, Some(problem.message));
                return Ok((report, None));
            }
        };
        let tip = onto.clone();
        let attempt =
            Attempt { landing, repository, main, onto, tip, merged, new, landed_before, facts, settings, committer };
        if is_new {
            let decision = self.gate(&attempt).await?;
            report.held = decision.held.into_iter().map(HoldView::from).collect();
            if !decision.refused.is_empty() {
                let why = format!("its landing would be refused: {}", decision.refused.join("; "));
                report.end(CheckRunState::Failed, Some(why));
                return Ok((report, None));
            }
        }
        let commits = match is_new {
            false => vec![attempt.onto.clone()],
            true => match merge::make_commits(&attempt, &self.worker_of(&attempt.landing).await?).await? {
                Ok(history) => history.commits,
                Err(not_merged) => return Ok((not_merged_report(report, not_merged), None)),
            },
        };
        let (settings, checks) = self.settings_to_run(&attempt, &mut report).await?;
        let checks = only_named(checks, only)?;
        if checks.is_empty() {
            let (state, reason) = match report.not_approved {
                Some(_) => {
                    let why = "no check has run: MAIN has none, and the commands of its flower.toml are not approved";
                    (CheckRunState::Failed, why)
                }
                None => (CheckRunState::Passed, NO_CHECKS_NOTE),
            };
            report.end(state, Some(reason.to_owned()));
            return Ok((report, None));
        }
        let Attempt { repository, facts, onto, merged, .. } = attempt;
        // Nothing is changed, but MAIN itself is meant.
        let changes = is_new.then_some(merged.changes);
        Ok((report, Some(CheckPlan { repository, facts, settings, checks, commits, changes, onto })))
    }

    /// The settings of the merge if their commands are approved, or else those of MAIN, with their checks.
    async fn settings_to_run(
        &self,
        attempt: &Attempt,
        report: &mut Report,
    ) -> Result<(Settings, Vec<(String, CheckSettings)>), Problem> {
        let (project, merged, main) = (&attempt.landing.project, &attempt.settings, &attempt.facts.settings);
        if self.may_run(project, merged).await? {
            let checks = checks::planned_checks(merged, merged.dropped_checks(main));
            return Ok((merged.clone(), checks));
        }
        let (commands, sha256) = (merged.commands(), merged.commands_sha256());
        if sha256 == main.commands_sha256() || !self.may_run(project, main).await? {
            return Err(Problem::new(
                ProblemKind::Refused,
                format!("what `{project}`'s flower.toml runs and opens is not approved, or has changed since"),
                format!("read and approve it: `flower project approve {project}`"),
            ));
        }
        report.notes.push("the commands of its flower.toml are not approved, so MAIN's checks run".to_owned());
        report.not_approved = Some(NotApproved { commands, sha256 });
        Ok((main.clone(), checks::planned_checks(main, Vec::new())))
    }

    async fn may_run(&self, project: &str, settings: &Settings) -> Result<bool, Problem> {
        Ok(settings.commands().is_empty() || self.worktrees.is_approved(project, &settings.commands_sha256()).await?)
    }
}

/// The checks to run: all of them, or the one that was asked for.
pub(super) fn only_named(
    checks: Vec<(String, CheckSettings)>,
    only: Option<&str>,
) -> Result<Vec<(String, CheckSettings)>, Problem> {
    let Some(only) = only else { return Ok(checks) };
    let known: Vec<String> = checks.iter().map(|(name, _)| format!("`{name}`")).collect();
    let found: Vec<_> = checks.into_iter().filter(|(name, _)| name == only).collect();
    if found.is_empty() {
        let hint = match known.is_empty() {
            true => NO_CHECKS_NOTE.to_owned(),
            false => format!("flower.toml has: {}", known.join(", ")),
        };
        return Err(Problem::new(ProblemKind::NotFound, format!("there is no check `{only}`"), hint));
    }
    Ok(found)
}

fn not_merged_report(mut report: Report, not_merged: NotMerged) -> Report {
    match not_merged {
        NotMerged::Conflict { paths, .. } => {
            let paths: Vec<String> = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            let named: Vec<&str> = paths.iter().take(5).map(String::as_str).collect();
            let more = paths.len().saturating_sub(named.len());
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let why = format!("it does not merge with MAIN in {}{more}", named.join(", "));
            report.merge.ok = false;
            report.merge.paths = paths.into_iter().take(MAX_PATHS).collect();
            report.end(CheckRunState::Failed, Some(why));
        }
        NotMerged::UntouchedPaths { paths } => {
            let why = format!("merging it would change files that the branch has not touched: {}", paths.join(", "));
            report.end(CheckRunState::Failed, Some(why));
        }
        NotMerged::NothingNew => report.end(CheckRunState::Passed, Some("MAIN has all of it already".to_owned())),
    }
    report
}

/// The landing that would be queued for a worktree.
fn as_landing(worktree: &Worktree, commit: &CommitId) -> Landing {
    Landing {
        number: LandingId(0),
        project: worktree.project.clone(),
        source: Source::Worktree,
        worktree: Some(worktree.name.clone()),
        worktree_number: Some(worktree.number),
        commit: commit.to_string(),
        title: format!("Check {}", worktree.name),
        briefs: worktree.brief.into_iter().collect(),
        priority: Priority::Normal,
        of: None,
        why: None,
        fix: false,
        state: landing::State::Queued,
        reason: None,
        verdict: None,
        held: Vec::new(),
        approved: false,
        waived: false,
        onto: None,
        merge_commit: None,
        upstream: None,
        checks: Vec::new(),
        flaky: Vec::new(),
        paths: Vec::new(),
        by: "flower".to_owned(),
        queued_at: String::new(),
        ended_at: None,
    }
}
