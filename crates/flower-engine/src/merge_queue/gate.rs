//! The gate: what is never let in, and what needs the operator.

use super::links;
use super::merge::{DEADLINE, Merged};
use super::objects::{self, Found};
use crate::MergeQueue;
use crate::merge_queue::main_branch::checkout;
use crate::path_policy;
use crate::settings::{Approve, Settings};
use crate::worktrees::facts::{Facts, SettingsProblem};
use crate::worktrees::limits::MAX_FILES;
use flower_contract::error::Problem;
use flower_core::Landing;
use flower_core::landing::{HoldCode, HoldReason, Source, reverted_before};
use flower_git::repository::Repository;
use flower_git::{Change, ChangeKind, CommitId, NamedPath, Repo};
use flower_store::{dispatches, landings};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// More files than this need the operator.
const MANY_FILES: usize = 10_000;
/// Merge commits of one branch that are looked into.
const MOST_MERGES: usize = 200;

/// What the gate says.
#[derive(Debug, Default)]
pub(super) struct GateDecision {
    /// Never: why.
    pub(super) refused: Vec<String>,
    /// Not without the operator: why.
    pub(super) held: Vec<HoldReason>,
    pub(super) paths: BTreeSet<String>,
}

impl GateDecision {
    fn refuse(&mut self, why: impl Into<String>, path: Option<&OsStr>) {
        note(&mut self.refused, why.into());
        self.paths.extend(path.map(|path| path.to_string_lossy().into_owned()));
    }

    fn hold(&mut self, code: HoldCode, why: impl Into<String>, path: Option<&OsStr>) {
        note(&mut self.held, HoldReason { code, text: why.into(), commands: Vec::new() });
        self.paths.extend(path.map(|path| path.to_string_lossy().into_owned()));
    }
}

fn note<T: PartialEq>(list: &mut Vec<T>, why: T) {
    /// Enough to see what it is about.
    const MOST: usize = 20;
    if list.len() < MOST && !list.contains(&why) {
        list.push(why);
    }
}

impl MergeQueue {
    /// Looks at what a landing would bring, merged as it would be.
    pub(super) async fn gate(
        &self,
        repository: &Repository,
        landing: &Landing,
        merged: &Merged,
        settings: &Settings,
        facts: &Facts,
        found: &Found,
    ) -> Result<GateDecision, Problem> {
        let mut decision = GateDecision::default();
        for why in &found.forbidden {
            decision.refuse(why.clone(), None);
        }
        if found.secret {
            decision
                .refuse("one of your own secrets is in it, in a file, in an older commit of it or in a message", None);
        }
        if merged.changes.len() as u64 > MAX_FILES {
            decision.refuse(format!("it changes {} files; {MAX_FILES} are allowed", merged.changes.len()), None);
            return Ok(decision);
        }
        if merged.changes.len() > MANY_FILES {
            decision.hold(HoldCode::ManyFiles, format!("it changes {} files", merged.changes.len()), None);
        }
        if found.large > 0 {
            let megabytes = objects::LARGE >> 20;
            decision.hold(
                HoldCode::LargeFiles,
                format!("{} of its files are larger than {megabytes} MB", found.large),
                None,
            );
        }
        self.look_at_changes(repository, landing, merged, facts, &mut decision).await?;
        look_at_merges(repository, found, &mut decision).await?;
        self.look_at_leases(repository, landing, &mut decision).await?;
        self.look_at_reverts(landing, &mut decision).await?;
        for difference in settings.differences(&facts.settings) {
            decision.hold(HoldCode::ChecksChanged, difference, None);
        }
        if let Some(SettingsProblem { why, in_force: None }) = &facts.settings_problem {
            decision.hold(HoldCode::SettingsInvalid, format!("{why}, and no earlier version of it is valid"), None);
        }
        // What was in force before decides, so that no landing frees itself from it.
        if [settings, &facts.settings].iter().any(|settings| settings.land.approve == Approve::Operator) {
            decision.hold(HoldCode::ApprovalRequired, "every landing waits for the operator (`[land] approve`)", None);
        }
        let commands = settings.commands();
        if !commands.is_empty() && !self.worktrees.is_approved(&landing.project, &settings.commands_sha256()).await? {
            let text = format!("these commands are not approved: {}", commands.join("; "));
            note(&mut decision.held, HoldReason { code: HoldCode::CommandsNotApproved, text, commands });
        }
        Ok(decision)
    }

    /// Briefs that were reverted: the operator took them out of MAIN, so the operator lets them in again.
    async fn look_at_reverts(&self, landing: &Landing, decision: &mut GateDecision) -> Result<(), Problem> {
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

    /// Commits that touch what another agent had reserved when they were made.
    async fn look_at_leases(
        &self,
        repository: &Repository,
        landing: &Landing,
        decision: &mut GateDecision,
    ) -> Result<(), Problem> {
        if landing.worktree.is_none() || !self.store.read(dispatches::any_breach).await? {
            return Ok(());
        }
        let main = self.worktrees.main_of(&landing.project).await?;
        let (commit, main) = (CommitId::parse(&landing.commit)?, CommitId::parse(&main.tip)?);
        let commits = Repo::main(repository).new_commits(&commit, &main, MOST_MERGES).await?;
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

    /// What a landing would add to MAIN's repository, object by object.
    pub(super) async fn inspect(
        &self,
        repository: &Repository,
        onto: &CommitId,
        commit: &CommitId,
    ) -> Result<Found, Problem> {
        let mut secrets = objects::secrets(&self.home, repository).await?;
        secrets.extend(self.profiles.lent_secrets());
        objects::inspect(repository, onto, commit, &objects::secret_finder(&secrets)?).await
    }

    async fn look_at_changes(
        &self,
        repository: &Repository,
        landing: &Landing,
        merged: &Merged,
        facts: &Facts,
        decision: &mut GateDecision,
    ) -> Result<(), Problem> {
        let git_reads = flower_git::named_paths(repository).await?;
        for change in &merged.changes {
            let path = change.path.as_os_str();
            if let Some(why) = path_policy::forbidden(path) {
                decision.refuse(why, Some(path));
            }
            if change.mode == "160000" {
                let why = format!("`{}` is a submodule, which a landing does not add or move", change.name());
                decision.refuse(why, Some(path));
            }
            // What the operator brings in himself is his own.
            let by_others = matches!(landing.source, Source::Worktree | Source::Adopted);
            if let Some(what) =
                path_policy::requires_approval(path).filter(|_| by_others || landing.source == Source::Settings)
            {
                decision.hold(HoldCode::SensitivePath, format!("it changes {what}"), Some(path));
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
        look_at_links(repository, &facts.main_tip, merged, decision).await?;
        look_at_twins(repository, merged, decision).await
    }
}

/// A link must lead to something that MAIN has: not out of it, and not to what is ignored in it, such as `.env`. A link that
/// stays as it is can be turned by another one, or by a folder or file that goes.
async fn look_at_links(
    repository: &Repository,
    onto: &CommitId,
    merged: &Merged,
    decision: &mut GateDecision,
) -> Result<(), Problem> {
    let turns =
        |change: &Change| change.mode == "120000" || matches!(change.kind, ChangeKind::Deleted | ChangeKind::Retyped);
    if !merged.changes.iter().any(turns) {
        return Ok(());
    }
    for astray in links::astray(repository, onto, &merged.tree).await? {
        let (link, target) = (astray.link.display(), astray.target.display());
        let why = format!("the link `{link}` leads to `{target}`, which MAIN does not have");
        decision.refuse(why, Some(astray.link.as_os_str()));
    }
    Ok(())
}

/// Two names that some file systems take for one.
async fn look_at_twins(repository: &Repository, merged: &Merged, decision: &mut GateDecision) -> Result<(), Problem> {
    let added: Vec<&Change> = merged.changes.iter().filter(|change| change.kind == ChangeKind::Added).collect();
    if added.is_empty() {
        return Ok(());
    }
    let listed = Repo::main(repository).list_everything(&merged.tree).await?;
    let fold = |path: &[u8]| path_policy::fold(&String::from_utf8_lossy(path));
    let mut twins: HashMap<String, u32> = HashMap::new();
    for entry in listed.entries() {
        *twins.entry(fold(entry.path.as_bytes())).or_default() += 1;
    }
    for change in added {
        // Its folders can be twins as well as itself.
        for above in Path::new(&change.path).ancestors().filter(|above| !above.as_os_str().is_empty()) {
            if twins.get(&fold(above.as_os_str().as_bytes())).is_some_and(|&count| count > 1) {
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

/// Merge commits must be what merging gives, but for what conflicted: otherwise one could quietly undo what others landed.
async fn look_at_merges(repository: &Repository, found: &Found, decision: &mut GateDecision) -> Result<(), Problem> {
    if found.merges.len() > MOST_MERGES {
        decision.hold(HoldCode::Merge, format!("it has {} merge commits", found.merges.len()), None);
        return Ok(());
    }
    for merge in &found.merges {
        let [ours, theirs] = &merge.parents[..] else {
            decision.hold(HoldCode::Merge, format!("{} merges more than two", merge.commit.short()), None);
            continue;
        };
        let again = Repo::main(repository).with_deadline(DEADLINE).merge_trees(None, ours, theirs).await?;
        let conflicts: HashSet<OsString> = again.conflicts.into_iter().collect();
        let differs = checkout::changes(repository, &again.tree, &merge.tree).await?;
        let evil: Vec<&Change> = differs.iter().filter(|change| !conflicts.contains(&change.path)).collect();
        // What differs from MAIN because of it, and not because of work in other commits.
        for change in evil.into_iter().take(20) {
            let why = format!("{} merges otherwise than git would: it may undo what has landed", merge.commit.short());
            decision.hold(HoldCode::Merge, why, Some(&change.path));
        }
    }
    Ok(())
}
