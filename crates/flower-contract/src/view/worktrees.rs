//! Views of worktrees, their changes, comments on them, and archives of removed worktrees.

use super::{NetworkView, ProtectionLevel};
use crate::schema;
use crate::word::words;
use flower_core::Worktree;
use flower_core::review::Remark;
use flower_core::worktree::{Archive, Seal, Stage, WorktreeKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

words! {
    /// `missing` if the directory is not found, `unknown` if the state cannot be read.
    WorktreeState {
        Creating = "creating",
        Ready = "ready",
        Removing = "removing",
        Removed = "removed",
        Restoring = "restoring",
        Failed = "failed",
        Missing = "missing",
        Unknown = "unknown",
    }
}

impl From<Stage> for WorktreeState {
    fn from(stage: Stage) -> WorktreeState {
        match stage {
            Stage::Creating => WorktreeState::Creating,
            Stage::Ready => WorktreeState::Ready,
            Stage::Removing => WorktreeState::Removing,
            Stage::Removed => WorktreeState::Removed,
            Stage::Restoring => WorktreeState::Restoring,
            Stage::Failed => WorktreeState::Failed,
        }
    }
}

words! {
    /// `served` if the worktree has its own settings.
    WorktreeSecrets { Keyless = "keyless", Served = "served" }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorktreeView {
    pub number: u64,
    pub name: String,
    pub project: String,
    pub branch: String,
    pub path: String,
    #[schema(value_type = schema::WorktreeKind)]
    pub kind: WorktreeKind,
    /// The same as `kind`, under the name of version 0.1.
    #[schema(value_type = schema::WorktreeKind)]
    pub sort: WorktreeKind,
    #[schema(value_type = schema::Seal)]
    pub seal: Seal,
    pub secrets: WorktreeSecrets,
    pub protection: ProtectionLevel,
    /// Why the protection is not `kernel`, and how to improve it.
    pub protection_reason: Option<String>,
    pub agents: Vec<String>,
    pub briefs: Vec<u64>,
    /// Number of commits that MAIN lacks.
    pub ahead: u64,
    /// Number of commits of MAIN that the worktree lacks.
    pub behind: u64,
    /// The worktree has uncommitted changes.
    pub dirty: bool,
    pub state: WorktreeState,
    pub site: Option<String>,
    /// The commit from which the worktree was created.
    pub base: String,
    pub created_at: String,
    pub setup: Option<SetupView>,
    /// None if it is unknown, or if the worktree is linked and uses the host's network.
    #[serde(default)]
    pub network: Option<NetworkView>,
    /// Warnings for the operator, each with a solution.
    pub notes: Vec<String>,
}

impl WorktreeView {
    /// The worktree as recorded in the log.
    pub fn of(worktree: &Worktree, path: String) -> WorktreeView {
        WorktreeView {
            number: worktree.number.0,
            name: worktree.name.clone(),
            project: worktree.project.clone(),
            branch: worktree.branch.clone(),
            path,
            kind: worktree.kind,
            sort: worktree.kind,
            seal: worktree.seal,
            secrets: WorktreeSecrets::Keyless,
            protection: ProtectionLevel::None,
            protection_reason: None,
            agents: Vec::new(),
            briefs: worktree.brief.into_iter().map(u64::from).collect(),
            ahead: 0,
            behind: 0,
            dirty: false,
            state: worktree.stage.into(),
            site: None,
            base: worktree.base.clone(),
            created_at: worktree.created_at.clone(),
            setup: None,
            network: None,
            notes: Vec::new(),
        }
    }

    /// A worktree whose state cannot be read, with the reason.
    pub fn unknown(worktree: &Worktree, why: String) -> WorktreeView {
        let mut view = WorktreeView::of(worktree, String::new());
        if worktree.stage == Stage::Ready {
            view.state = WorktreeState::Unknown;
        }
        view.notes.push(why);
        view
    }
}

/// A commit that MAIN lacks.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CommitView {
    pub commit: String,
    pub at: String,
    pub author: String,
    pub title: String,
}

/// A comment on a line of a worktree's changes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CommentView {
    pub id: u64,
    #[serde(flatten)]
    #[schema(value_type = schema::Remark)]
    pub remark: Remark,
    pub by: String,
    pub at: String,
    /// The agent that it was sent to; absent if it is for all current and future agents of the worktree.
    pub to: Option<String>,
    /// The agents that have read it.
    pub heard_by: Vec<String>,
}

words! {
    SetupState { Running = "running", Done = "done", Failed = "failed" }
}

/// How a worktree's setup commands ended.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SetupView {
    pub state: SetupState,
    /// The command that is running or failed.
    pub command: Option<String>,
    pub code: Option<i32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SyncView {
    /// The worktree contains MAIN's newest commit.
    pub merged: bool,
    /// Why not.
    pub reason: Option<String>,
    pub worktree: WorktreeView,
}

/// How to run a command in a worktree.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EnterView {
    pub name: String,
    pub path: String,
    /// The words to put before the command; empty for a linked worktree.
    pub launcher: Vec<String>,
    pub sealed: bool,
    /// What the operator should know before the command runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// How to run a program in a worktree with what a profile lends. Only the operator gets it: it has the values of keys.
#[derive(Clone, Serialize, Deserialize, ToSchema)]
pub struct ShellView {
    /// Names the shell while it is open.
    pub id: String,
    pub name: String,
    pub path: String,
    /// The words to put before the command.
    pub launcher: Vec<String>,
    /// The program that was named, or the one that a person runs of this profile, with its arguments.
    pub command: Vec<String>,
    /// The variables to start the launcher with.
    pub environment: BTreeMap<String, String>,
    /// What the operator should know before the command runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What became of a shell's login.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ShellEndView {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The archive of a removed worktree.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ArchiveView {
    pub number: u64,
    pub name: String,
    pub project: String,
    pub branch: String,
    #[serde(flatten)]
    #[schema(value_type = schema::Archive)]
    pub archive: Archive,
}

impl ArchiveView {
    pub fn new(worktree: Worktree) -> Option<ArchiveView> {
        let archive = worktree.archive?;
        let Worktree { number, name, project, branch, .. } = worktree;
        Some(ArchiveView { number: number.0, name, project, branch, archive })
    }
}

/// The commands of a project's `flower.toml`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CommandsView {
    pub project: String,
    pub commands: Vec<String>,
    pub sha256: String,
    pub approved: bool,
}
