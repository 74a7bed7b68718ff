//! The gate: which landings are refused, and which need the operator's approval.

use super::links;
use super::merge::{MERGE_TIMEOUT, Merged};
use super::objects::{self, NewContent};
use super::runner::Attempt;
use crate::MergeQueue;
use crate::merge_queue::main_branch::checkout;
use crate::path_policy;
use crate::settings::Approve;
use crate::worktrees::facts::SettingsProblem;
use crate::worktrees::lfs;
use crate::worktrees::limits::MAX_FILES;
use flower_contract::error::Problem;
use flower_core::Landing;
use flower_core::chain::sha256;
use flower_core::landing::{HoldCode, HoldReason, Source, reverted_before};
use flower_git::repository::Repository;
use flower_git::{Change, ChangeKind, CommitId, NamedPath, Repo};
use flower_store::{dispatches, landings};
use serde_json::json;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const SETTINGS: &str = "flower.toml";
/// More changed files than this need approval.
const MANY_FILES: usize = 10_000;
/// Merge commits of one branch that are examined, and commits whose reserved paths are.
const MAX_COMMITS: usize = 200;
/// Reasons that are recorded; more would not tell more.
const MAX_REASONS: usize = 20;
/// The landing passes if both lists of reasons are empty.
#[derive(Debug, Default)]
pub(super) struct GateDecision {
    /// Why the landing is rejected.
    pub(super) refused: Vec<String>,
    /// Why the landing needs approval.
    pub(super) held: Vec<HoldReason>,
    pub(super) paths: BTreeSet<String>,
}

impl GateDecision {
    fn refuse(&mut self, why: impl Into<String>, path: Option<&OsStr>) {
        add_reason(&mut self.refused, why.into());
        self.paths.extend(path.map(|path| path.to_string_lossy().into_owned()));
    }

    fn hold(&mut self, code: HoldCode, why: impl Into<String>, path: Option<&OsStr>) {
        add_reason(&mut self.held, HoldReason { code, text: why.into(), commands: Vec::new(), sha256: None });
        self.paths.extend(path.map(|path| path.to_string_lossy().into_owned()));
    }
}

/// A change of `flower.toml`.
struct SettingsChange {
    /// The digest of the file before and after it.
    sha256: String,
    /// The operator has approved exactly this change before, with a landing that was rejected, and it weakens no check. One
    /// that does waits each time, so that the operator can waive what it weakens.
    is_approved: bool,
}

fn add_reason<T: PartialEq>(reasons: &mut Vec<T>, why: T) {
    if reasons.len() < MAX_REASONS && !reasons.contains(&why) {
        reasons.push(why);
    }
}

impl MergeQueue {
    /// Examines what a landing would change in MAIN and add to its history.
    pub(super) async fn gate(&self, attempt: &Attempt) -> Result<GateDecision, Problem> {
        let Attempt { repository, landing, merged, settings, facts, new, .. } = attempt;
        let mut decision = GateDecision::default();
        for why in &new.forbidden {
            decision.refuse(why.clone(), None);
        }
        if let Some((name, place)) = &new.secret {
            decision.refuse(format!("one of your own secrets is in it: {name}, {place}"), None);
        }
        if merged.changes.len() as u64 > MAX_FILES {
            decision.refuse(format!("it changes {} files; {MAX_FILES} are allowed", merged.changes.len()), None);
            return Ok(decision);
        }
        if merged.changes.len() > MANY_FILES {
            decision.hold(HoldCode::ManyFiles, format!("it changes {} files", merged.changes.len()), None);
        }
        if new.large_files > 0 {
            let megabytes = objects::LARGE_FILE_BYTES >> 20;
            decision.hold(
                HoldCode::LargeFiles,
                format!("{} of its files are larger than {megabytes} MB", new.large_files),
                None,
            );
        }
        if let Some((why, paths)) = blocked_by_untracked_files(attempt).await? {
            decision.refuse(why, None);
            decision.paths.extend(paths);
        }
        let settings_change = self.settings_change(attempt).await?;
        check_changes(attempt, settings_change.as_ref(), &mut decision).await?;
        check_merge_commits(repository, new, &mut decision).await?;
        self.check_reserved_paths(attempt, &mut decision).await?;
        self.check_reverted_briefs(landing, &mut decision).await?;
        if !settings_change.as_ref().is_some_and(|change| change.is_approved) {
            let sha256 = settings_change.map(|change| change.sha256);
            for text in settings.differences(&facts.settings) {
                let (code, commands, sha256) = (HoldCode::ChecksChanged, Vec::new(), sha256.clone());
                add_reason(&mut decision.held, HoldReason { code, text, commands, sha256 });
            }
        }
        if let Some(SettingsProblem { why, in_force: None }) = &facts.settings_problem {
            decision.hold(HoldCode::SettingsInvalid, format!("{why}, and no earlier version of it is valid"), None);
        }
        // The settings in force before count too, so that no landing can remove the need for its own approval.
        if [settings, &facts.settings].iter().any(|settings| settings.land.approve == Approve::Operator) {
            decision.hold(HoldCode::ApprovalRequired, "every landing waits for the operator (`[land] approve`)", None);
        }
        let commands = settings.commands();
        let sha256 = settings.commands_sha256();
        if !commands.is_empty() && !self.worktrees.is_approved(&landing.project, &sha256).await? {
            let text = format!("these commands are not approved: {}", commands.join("; "));
            let (code, sha256) = (HoldCode::CommandsNotApproved, Some(sha256));
            add_reason(&mut decision.held, HoldReason { code, text, commands, sha256 });
        }
        Ok(decision)
    }

    /// How the landing changes `flower.toml`. `None` if it does not.
    async fn settings_change(&self, attempt: &Attempt) -> Result<Option<SettingsChange>, Problem> {
        let Attempt { repository, merged, onto, landing, .. } = attempt;
        if !merged.changes.iter().any(|change| change.path == SETTINGS) {
            return Ok(None);
        }
        let repo = Repo::main(repository);
        let (before, after) = (repo.read_file(onto, SETTINGS).await?, repo.read_file(&merged.tree, SETTINGS).await?);
        let sha256 = sha256(json!(["change of flower.toml", before, after]).to_string().as_bytes());
        let weakens = !attempt.settings.dropped_checks(&attempt.facts.settings).is_empty();
        let is_approved = !weakens && self.worktrees.is_approved(&landing.project, &sha256).await?;
        Ok(Some(SettingsChange { sha256, is_approved }))
    }

    /// The operator has taken a reverted brief out of MAIN, so only the operator may let it in again.
    async fn check_reverted_briefs(&self, landing: &Landing, decision: &mut GateDecision) -> Result<(), Problem> {
        for &brief in &landing.briefs {
            let known = self.store.read(move |conn| landings::of_brief(conn, brief)).await?;
            if let Some(reverted) = reverted_before(&known, &landing.project) {
                decision.hold(
                    HoldCode::RevertedBefore,
                    format!("landing {} of brief {brief} was reverted", reverted.number),
                    None,
                );
            }
        }
        Ok(())
    }

    /// Holds commits that change paths which another agent had reserved when they were made.
    async fn check_reserved_paths(&self, attempt: &Attempt, decision: &mut GateDecision) -> Result<(), Problem> {
        if attempt.landing.worktree.is_none() || !self.store.read(dispatches::any_breach).await? {
            return Ok(());
        }
        let commit = CommitId::parse(&attempt.landing.commit)?;
        let commits = Repo::main(&attempt.repository).new_commits(&commit, &attempt.onto, MAX_COMMITS).await?;
        let read = self.store.read(move |conn| {
            let mut all = Vec::new();
            for commit in commits {
                all.extend(
                    dispatches::breaches(conn, commit.as_str())?.into_iter().map(|breach| (commit.clone(), breach)),
                );
            }
            Ok(all)
        });
        for (commit, (holder, paths)) in read.await? {
            for path in paths.lines() {
                let why = format!("commit {} changes `{path}`, which `{holder}` had reserved", commit.short());
                decision.hold(HoldCode::ReservedPath, why, Some(OsStr::new(path)));
            }
        }
        Ok(())
    }

    /// Reads every object that a landing would add to MAIN's repository.
    pub(super) async fn scan_new_objects(
        &self,
        repository: &Repository,
        onto: &CommitId,
        commit: &CommitId,
    ) -> Result<NewContent, Problem> {
        let mut secrets = objects::own_secrets(&self.home, repository).await?;
        secrets.extend(self.profiles.lent_secrets());
        objects::scan(repository, onto, commit, &objects::SecretFinder::new(&secrets)?).await
    }
}

/// Why untracked files of MAIN's checkout prevent the landing, which would overwrite them, and their paths. One that already is what
/// the landing brings prevents nothing.
pub(super) async fn blocked_by_untracked_files(attempt: &Attempt) -> Result<Option<(String, Vec<String>)>, Problem> {
    let Attempt { repository, landing, merged, .. } = attempt;
    // Adopted commits are in the checkout already, so their files block nothing.
    if landing.source == Source::Adopted {
        return Ok(None);
    }
    let files = checkout::blocking_files(repository, &merged.changes, &merged.tree).await?;
    let Some(first) = files.first() else { return Ok(None) };
    let why = format!(
        "MAIN has files of these names that are not git's, and they are not overwritten: {}; move them away, or into a \
         worktree: `flower main rescue {first}`, and land again",
        files.iter().take(5).cloned().collect::<Vec<_>>().join(", "),
    );
    Ok(Some((why, files)))
}

async fn check_changes(
    attempt: &Attempt,
    settings_change: Option<&SettingsChange>,
    decision: &mut GateDecision,
) -> Result<(), Problem> {
    let Attempt { repository, landing, merged, .. } = attempt;
    let git_reads = flower_git::named_paths(repository).await?;
    // The operator made or chose the commits of the other sources.
    let by_others = matches!(landing.source, Source::Worktree | Source::Adopted);
    for change in &merged.changes {
        let path = change.path.as_os_str();
        if let Some(why) = path_policy::forbidden(path) {
            decision.refuse(why, Some(path));
        }
        if change.mode == "160000" {
            let why = format!("`{}` is a submodule, which a landing does not add or move", change.name());
            decision.refuse(why, Some(path));
        }
        if let Some(what) =
            path_policy::requires_approval(path).filter(|_| by_others || landing.source == Source::Settings)
        {
            let settings = settings_change.filter(|_| path == SETTINGS);
            if !settings.is_some_and(|change| change.is_approved) {
                let (code, text) = (HoldCode::SensitivePath, format!("it changes {what}"));
                let sha256 = settings.map(|change| change.sha256.clone());
                add_reason(&mut decision.held, HoldReason { code, text, commands: Vec::new(), sha256 });
                decision.paths.insert(path.to_string_lossy().into_owned());
            }
        }
        let named = git_reads.iter().find(|named| by_others && Path::new(path).starts_with(&named.path));
        if let Some(NamedPath { key, .. }) = named {
            decision.hold(
                HoldCode::GitSettingPath,
                format!("it changes what git's setting `{key}` of MAIN names"),
                Some(path),
            );
        }
    }
    check_lfs(repository, merged, decision).await?;
    check_links(repository, &attempt.facts.main_tip, merged, decision).await?;
    check_case_collisions(repository, merged, decision).await
}

/// Refuses links that lead out of MAIN or to files that git ignores, such as `.env`. All links are examined: the target of
/// an unchanged link changes if a link, folder or file on its way does.
async fn check_links(
    repository: &Repository,
    onto: &CommitId,
    merged: &Merged,
    decision: &mut GateDecision,
) -> Result<(), Problem> {
    let affects_links =
        |change: &Change| change.mode == "120000" || matches!(change.kind, ChangeKind::Deleted | ChangeKind::Retyped);
    if !merged.changes.iter().any(affects_links) {
        return Ok(());
    }
    for found in links::new_untracked_links(repository, onto, &merged.tree).await? {
        let (link, target) = (found.link.display(), found.target.display());
        let why = format!("the link `{link}` leads to `{target}`, which MAIN does not have");
        decision.refuse(why, Some(found.link.as_os_str()));
    }
    Ok(())
}

/// Refuses files that belong into LFS and are no pointers: without git-lfs they were committed as they are.
async fn check_lfs(repository: &Repository, merged: &Merged, decision: &mut GateDecision) -> Result<(), Problem> {
    for path in lfs::raw_files(&Repo::main(repository), &merged.tree, &merged.changes).await? {
        let why = format!(
            "`{}` belongs into LFS by .gitattributes, but the file itself is committed; {}",
            path.to_string_lossy(),
            lfs::way_out()
        );
        decision.refuse(why, Some(&path));
    }
    Ok(())
}

/// Refuses names that some file systems treat as equal to another name of the tree.
async fn check_case_collisions(
    repository: &Repository,
    merged: &Merged,
    decision: &mut GateDecision,
) -> Result<(), Problem> {
    let added: Vec<&Change> = merged.changes.iter().filter(|change| change.kind == ChangeKind::Added).collect();
    if added.is_empty() {
        return Ok(());
    }
    let listed = Repo::main(repository).list_everything(&merged.tree).await?;
    let fold = |path: &[u8]| path_policy::fold(&String::from_utf8_lossy(path));
    let mut names: HashMap<String, u32> = HashMap::new();
    for entry in listed.entries() {
        *names.entry(fold(entry.path.as_bytes())).or_default() += 1;
    }
    for change in added {
        // The file itself and each of its folders can collide.
        for above in Path::new(&change.path).ancestors().filter(|above| !above.as_os_str().is_empty()) {
            if names.get(&fold(above.as_os_str().as_bytes())).is_some_and(|&count| count > 1) {
                let why = format!(
                    "`{}` differs from another name by upper and lower case or composed characters only",
                    above.display()
                );
                decision.refuse(why, Some(above.as_os_str()));
            }
        }
    }
    Ok(())
}

/// Holds merge commits that differ from git's own merge in paths without conflict: such a commit can undo what others landed
/// without a visible change.
async fn check_merge_commits(
    repository: &Repository,
    new: &NewContent,
    decision: &mut GateDecision,
) -> Result<(), Problem> {
    if new.merges.len() > MAX_COMMITS {
        decision.hold(HoldCode::Merge, format!("it has {} merge commits", new.merges.len()), None);
        return Ok(());
    }
    for merge in &new.merges {
        let [ours, theirs] = &merge.parents[..] else {
            decision.hold(HoldCode::Merge, format!("{} merges more than two", merge.commit.short()), None);
            continue;
        };
        let again = Repo::main(repository).with_deadline(MERGE_TIMEOUT).merge_trees(None, ours, theirs).await?;
        let conflicts: HashSet<OsString> = again.conflicts.into_iter().collect();
        let differs = checkout::changes(repository, &again.tree, &merge.tree).await?;
        for change in differs.iter().filter(|change| !conflicts.contains(&change.path)).take(MAX_REASONS) {
            let why = format!(
                "{} differs from the merge that git would make: it may undo what has landed",
                merge.commit.short()
            );
            decision.hold(HoldCode::Merge, why, Some(&change.path));
        }
    }
    Ok(())
}
