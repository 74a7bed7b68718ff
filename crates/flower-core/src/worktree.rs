//! Worktrees: separate streams of work next to MAIN. This module decides their intended state; git and the disk are
//! observed elsewhere.
//!
//! Creation and removal take several steps on disk, so each is recorded before its first step and after its last: after
//! a crash the log shows which operation was in progress.

use crate::Event;
use crate::aggregate::{Aggregate, Context, subject};
use crate::chain;
use crate::event::{
    ArchiveDropped, CommandsApproved, Draft, Stream, WorktreeCreated, WorktreeDiverged, WorktreeEvent, WorktreeFailed,
    WorktreeRemoved, WorktreeRemoving, WorktreeRequested, WorktreeRestored, WorktreeRestoring, WorktreeSynced,
};
use crate::ids::{BriefId, WorktreeId};
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::world::World;
use serde::{Deserialize, Serialize};

words! {
    /// A lane stays for ongoing work; an ephemeral one goes once its work is in MAIN.
    WorktreeKind ("kind of worktree") { Lane = "lane", Ephemeral = "ephemeral" }
}

words! {
    /// The isolation of a worktree: to programs inside it, a sealed one is a private repository, a linked one a plain
    /// git worktree.
    Seal ("seal") { Sealed = "sealed", Linked = "linked" }
}

words! {
    /// The state of a worktree according to the log.
    Stage ("worktree state") {
        Creating = "creating",
        Ready = "ready",
        Removing = "removing",
        Removed = "removed",
        Restoring = "restoring",
        Failed = "failed",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    pub number: WorktreeId,
    pub project: String,
    pub name: String,
    pub branch: String,
    #[serde(rename = "sort")]
    pub kind: WorktreeKind,
    pub seal: Seal,
    /// The commit at which the worktree started.
    pub base: String,
    /// The starting point that was requested.
    pub from: String,
    pub brief: Option<BriefId>,
    pub stage: Stage,
    pub created_at: String,
    /// What was kept when the worktree was removed.
    pub archive: Option<Archive>,
    /// Commits of the operator that commits from inside the worktree replaced on its branch.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub displaced: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Archive {
    /// The newest commit of the branch.
    pub tip: String,
    /// The branch still exists, because its work is not proved to be in MAIN.
    pub branch_kept: bool,
    /// The number of files that were not committed.
    pub files: u64,
    pub bytes: u64,
    /// Ignored files that were too large to keep.
    pub left_out: Vec<String>,
    pub removed_at: String,
    /// RFC 3339. The archive is dropped after this time.
    pub until: String,
}

impl Aggregate for Worktree {
    subject!(Worktree "worktree", WorktreeEvent, WorktreeId);

    fn create(change: WorktreeEvent<'_>, context: &Context<'_>) -> Option<Worktree> {
        let WorktreeEvent::WorktreeRequested(new) = change else { return None };
        Some(Worktree {
            number: new.number,
            project: new.project.clone(),
            name: new.name.clone(),
            branch: branch(&new.name),
            kind: new.kind,
            seal: new.seal,
            base: new.base.clone(),
            from: new.from.clone(),
            brief: new.brief,
            stage: Stage::Creating,
            created_at: context.at.to_owned(),
            archive: None,
            displaced: Vec::new(),
        })
    }

    fn evolve(&mut self, change: WorktreeEvent<'_>, context: &Context<'_>) {
        match change {
            WorktreeEvent::WorktreeRequested(_) | WorktreeEvent::WorktreeSynced(_) => {}
            WorktreeEvent::WorktreeCreated(_) => self.stage = Stage::Ready,
            WorktreeEvent::WorktreeRestored(_) => {
                self.stage = Stage::Ready;
                self.archive = None;
            }
            WorktreeEvent::WorktreeFailed(_) => self.stage = Stage::Failed,
            WorktreeEvent::WorktreeDiverged(diverged) => self.displaced.push(diverged.operators.clone()),
            WorktreeEvent::WorktreeRemoving(_) => self.stage = Stage::Removing,
            WorktreeEvent::WorktreeRestoring(_) => self.stage = Stage::Restoring,
            WorktreeEvent::WorktreeRemoved(removed) => {
                self.stage = Stage::Removed;
                self.archive = Some(Archive {
                    tip: removed.tip.clone(),
                    branch_kept: removed.branch_kept,
                    files: removed.files,
                    bytes: removed.bytes,
                    left_out: removed.left_out.clone(),
                    removed_at: context.at.to_owned(),
                    until: removed.until.clone(),
                });
            }
            WorktreeEvent::ArchiveDropped(_) => self.archive = None,
        }
    }
}

impl Worktree {
    /// Whether the worktree still uses its name.
    pub fn is_live(&self) -> bool {
        !matches!(self.stage, Stage::Removed | Stage::Failed)
    }
}

pub fn branch(name: &str) -> String {
    format!("flower/{name}")
}

const NAME_BYTES: usize = 41;

/// A name is a directory, a branch and a word on the command line, so it is plain: `^[a-z0-9][a-z0-9-]{0,40}$`.
pub fn name(raw: &str) -> Result<String, Refusal> {
    let plain = raw.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    // MAIN is not a worktree, and no worktree may be mistaken for it.
    if plain && (1..=NAME_BYTES).contains(&raw.len()) && !raw.starts_with('-') && raw != "main" {
        return Ok(raw.to_owned());
    }
    Err(Refusal::BadWorktreeName { name: raw.chars().take(80).collect() })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub project: String,
    pub name: String,
    pub kind: WorktreeKind,
    pub seal: Seal,
    pub base: String,
    pub from: String,
    pub brief: Option<BriefId>,
}

pub(crate) fn request(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let name = name(&request.name)?;
    world.require_project(&request.project)?;
    require_free(world, &request.project, &name)?;
    if let Some(brief) = request.brief {
        world.brief(brief)?;
    }
    let number = world.last_worktree.next();
    let requested = WorktreeRequested {
        number,
        project: request.project.clone(),
        name,
        kind: request.kind,
        seal: request.seal,
        base: request.base.clone(),
        from: text::line("base", &request.from, 250)?,
        brief: request.brief,
    };
    Ok(vec![Draft { stream: Stream::Worktree(number), brief: request.brief, event: requested.into() }])
}

fn require_free(world: &World, project: &str, name: &str) -> Result<(), Refusal> {
    let taken = world.worktrees.values().find(|w| w.is_live() && w.project == project && w.name == name);
    match taken {
        Some(taken) => Err(Refusal::WorktreeTaken { name: name.to_owned(), stage: taken.stage }),
        None => Ok(()),
    }
}

pub(crate) fn finish(world: &World, number: WorktreeId, path: &str) -> Result<Vec<Draft>, Refusal> {
    let worktree = world.worktree(number)?;
    match worktree.stage {
        Stage::Creating => {
            let (name, branch, path) = (worktree.name.clone(), worktree.branch.clone(), path.to_owned());
            Ok(draft(worktree, WorktreeCreated { number, name, branch, path }))
        }
        Stage::Restoring => Ok(draft(worktree, WorktreeRestored { number, path: path.to_owned() })),
        _ => Err(stage(worktree)),
    }
}

pub(crate) fn fail(world: &World, number: WorktreeId, why: &str) -> Result<Vec<Draft>, Refusal> {
    let worktree = world.worktree(number)?;
    if worktree.stage != Stage::Creating {
        return Err(stage(worktree));
    }
    Ok(draft(worktree, WorktreeFailed { number, why: why.to_owned() }))
}

/// Records a divergence once per commit, also if it is noticed again after a crash.
pub(crate) fn diverge(world: &World, diverged: &WorktreeDiverged) -> Result<Vec<Draft>, Refusal> {
    let worktree = world.worktree(diverged.number)?;
    match worktree.stage {
        Stage::Ready if worktree.displaced.contains(&diverged.operators) => Ok(Vec::new()),
        Stage::Ready => Ok(draft(worktree, diverged.clone())),
        _ => Err(stage(worktree)),
    }
}

/// Records the start of the removal, which cannot be cancelled.
pub(crate) fn remove(world: &World, number: WorktreeId) -> Result<Vec<Draft>, Refusal> {
    let worktree = world.worktree(number)?;
    match worktree.stage {
        Stage::Ready => Ok(draft(worktree, WorktreeRemoving { number })),
        // The removal has already started.
        Stage::Removing => Ok(Vec::new()),
        _ => Err(stage(worktree)),
    }
}

pub(crate) fn removed(world: &World, number: WorktreeId, kept: &WorktreeRemoved) -> Result<Vec<Draft>, Refusal> {
    let worktree = world.worktree(number)?;
    if worktree.stage != Stage::Removing {
        return Err(stage(worktree));
    }
    Ok(draft(worktree, kept.clone()))
}

pub(crate) fn restore(world: &World, number: WorktreeId) -> Result<Vec<Draft>, Refusal> {
    let worktree = world.worktree(number)?;
    if worktree.stage != Stage::Removed || worktree.archive.is_none() {
        return Err(Refusal::NoArchive { name: worktree.name.clone() });
    }
    world.require_project(&worktree.project)?;
    require_free(world, &worktree.project, &worktree.name)?;
    Ok(draft(worktree, WorktreeRestoring { number }))
}

pub(crate) fn drop_archive(world: &World, number: WorktreeId) -> Result<Vec<Draft>, Refusal> {
    let kept = world.worktrees.get(&number).filter(|w| w.stage == Stage::Removed && w.archive.is_some());
    let worktree = kept.ok_or(Refusal::NoArchiveNumber { number })?;
    Ok(draft(worktree, ArchiveDropped { number }))
}

/// The digest of a list of commands, to which an approval refers. Another text needs another approval.
pub fn commands_sha256(commands: &[String]) -> String {
    chain::sha256(serde_json::to_string(commands).expect("plain data").as_bytes())
}

/// The operator approves the commands of a repository, after reading them. They stay approved.
pub(crate) fn approve(world: &World, project: &str, sha256: &str) -> Result<Vec<Draft>, Refusal> {
    world.require_project(project)?;
    if world.approved.get(project).is_some_and(|known| known.contains(sha256)) {
        return Ok(Vec::new());
    }
    let approved = CommandsApproved { project: project.to_owned(), sha256: sha256.to_owned() };
    Ok(vec![Draft { stream: Stream::Project(project.to_owned()), brief: None, event: approved.into() }])
}

/// Records that MAIN's tip was merged into the worktree after a landing, or why it was not.
pub(crate) fn synced(
    world: &World,
    number: WorktreeId,
    onto: &str,
    why_not: Option<&str>,
) -> Result<Vec<Draft>, Refusal> {
    let why_not = why_not.map(|why| text::cut(why, 500));
    Ok(draft(world.worktree(number)?, WorktreeSynced { number, onto: onto.to_owned(), why_not }))
}

fn draft(worktree: &Worktree, event: impl Into<Event>) -> Vec<Draft> {
    vec![Draft { stream: Stream::Worktree(worktree.number), brief: worktree.brief, event: event.into() }]
}

fn stage(worktree: &Worktree) -> Refusal {
    Refusal::WorktreeStage { name: worktree.name.clone(), stage: worktree.stage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_never_main() {
        for good in ["a", "0", "fix-12", "a-", &"x".repeat(41)] {
            assert_eq!(name(good).unwrap(), good);
        }
        let long = "x".repeat(42);
        let bad = [
            "",
            "-x",
            "../../etc",
            "a/../../b",
            "/abs",
            "nul\0",
            "new\nline",
            ".git",
            "CON",
            "\u{202e}x",
            "é",
            "e\u{301}",
            "A",
            "a b",
            "a.b",
            "a_b",
            "main",
            "--upload-pack=touch x",
            "$(id)",
            "`id`",
            "a;id",
            "refs/heads/main",
            &long,
        ];
        for bad in bad {
            assert!(name(bad).is_err(), "{bad:?}");
        }
        assert!(name(&"x".repeat(300)).is_err());
    }
}
