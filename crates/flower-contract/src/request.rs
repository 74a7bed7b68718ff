//! The bodies of requests. Clients write them, the server reads them.

use crate::schema;
use flower_core::landing::Priority;
use flower_core::readiness::DispatchKind;
use flower_core::review::Side;
use flower_core::worktree::{Seal, WorktreeKind};
use flower_core::{BriefKind, Role};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use utoipa::ToSchema;

#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct NewBrief {
    pub title: String,
    /// Default: `feature`.
    #[schema(value_type = Option<schema::BriefKind>)]
    pub kind: Option<BriefKind>,
    /// Recorded as a proposed plan.
    pub spec: Option<String>,
    pub project: Option<String>,
    /// A directory; used when no project is named.
    #[schema(value_type = Option<String>)]
    pub dir: Option<PathBuf>,
    pub epic: Option<u64>,
    #[serde(default)]
    pub needs: Vec<u64>,
    #[serde(default)]
    pub auto_dispatch: bool,
    #[serde(default)]
    pub design_loop: bool,
}

#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct EditBrief {
    pub title: Option<String>,
    #[schema(value_type = Option<schema::BriefKind>)]
    pub kind: Option<BriefKind>,
    /// 0 removes the brief from its epic.
    pub epic: Option<u64>,
    pub auto_dispatch: Option<bool>,
    pub design_loop: Option<bool>,
    #[serde(default)]
    pub add_projects: Vec<String>,
    #[serde(default)]
    pub drop_projects: Vec<String>,
}

#[derive(Default, Serialize, Deserialize, ToSchema)]
pub struct CheckRequest {
    /// Runs this check alone.
    pub check: Option<String>,
    /// Approves the commands with this digest, which the worktree's `flower.toml` brings.
    pub approve: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Plan {
    pub markdown: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Accept {
    /// Accept only if this is the newest version of the spec.
    pub version: Option<u64>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Refine {
    pub markdown: String,
    /// The version that was edited; it is a conflict if a newer one exists.
    pub base: Option<u64>,
    pub why: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct SetStatus {
    #[schema(value_type = schema::Status)]
    pub status: String,
    pub why: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Needs {
    pub needs: u64,
    #[serde(default)]
    pub drop: bool,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewLink {
    #[schema(value_type = schema::LinkKind)]
    pub kind: String,
    pub target: String,
    pub label: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewNote {
    pub text: String,
    #[serde(default)]
    pub comment: bool,
    /// SHA-256 of images that were uploaded with POST /api/images.
    #[serde(default)]
    pub images: Vec<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewQuestion {
    pub text: String,
    /// The work cannot go on without the answer.
    #[serde(default)]
    pub help: bool,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Text {
    pub text: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewProject {
    /// A directory inside the repository.
    #[schema(value_type = String)]
    pub dir: PathBuf,
    pub name: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct MoveProject {
    /// The top folder of the repository, where it is now.
    #[schema(value_type = String)]
    pub path: PathBuf,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct RenameProject {
    pub name: String,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewScratchpad {
    pub title: String,
    pub brief: Option<u64>,
    pub text: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct WriteScratchpad {
    pub text: String,
    /// Add to the text instead of replacing it.
    #[serde(default)]
    pub append: bool,
    /// The version that was edited; it is a conflict if a newer one exists.
    pub base: Option<u64>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct IssueToken {
    pub agent: String,
    /// Default: `worker`.
    #[schema(value_type = Option<schema::Role>)]
    pub role: Option<Role>,
    pub brief: Option<u64>,
    pub worktree: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewWorktree {
    pub name: String,
    /// Default: `ephemeral`.
    #[serde(alias = "sort")]
    #[schema(value_type = Option<schema::WorktreeKind>)]
    pub kind: Option<WorktreeKind>,
    /// Default: `sealed`.
    #[schema(value_type = Option<schema::Seal>)]
    pub seal: Option<Seal>,
    /// Any commit, branch or tag. Default: MAIN's branch.
    pub from: Option<String>,
    pub brief: Option<u64>,
    /// Do not run the project's setup commands.
    #[serde(default)]
    pub no_setup: bool,
    /// Check out Git LFS pointers instead of the files.
    #[serde(default)]
    pub lfs_pointers: bool,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Restore {
    /// Selects one of several removed worktrees of this name. Default: the last one.
    pub number: Option<u64>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Approve {
    /// Hash of the commands that the operator has read.
    pub sha256: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Land {
    pub briefs: Vec<u64>,
    pub title: Option<String>,
    #[schema(value_type = Option<schema::Priority>)]
    pub priority: Option<Priority>,
    /// If a landing of the same commits is open already, answers with that one instead of a conflict.
    pub join: bool,
}

/// The reason for an action, in one line.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    pub why: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevertRequest {
    /// The reason, which is recorded in the briefs of the landing.
    pub why: String,
    /// Dispatch a `fix`, which may start an agent. If not set, the briefs are parked.
    #[serde(default)]
    pub fix: bool,
}

/// A worktree in which commits of the remote are settled.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settle {
    /// The name of the new worktree.
    pub name: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rescue {
    /// The name of the new worktree.
    pub name: Option<String>,
    /// Untracked files and folders of MAIN that are moved too: absolute, or from the root of MAIN.
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LandSettings {
    /// The whole `flower.toml`.
    pub text: String,
}

/// A program in a worktree, with what a profile lends.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenShell {
    pub profile: String,
    /// The program. Default: the one that a person runs of this profile.
    #[serde(default)]
    pub program: Option<String>,
    /// The caller's `PATH`, which is searched before that of the daemon.
    #[serde(default)]
    pub path: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewDispatch {
    /// Default: the kind that fits the brief.
    #[schema(value_type = Option<schema::DispatchKind>)]
    pub kind: Option<DispatchKind>,
    /// Only agents of this profile may claim the dispatch. Default: any agent.
    pub agent: Option<String>,
    /// The worktree. Default: a chosen name.
    pub worktree: Option<String>,
    /// How many agents share the worktree.
    pub agents: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Packet {
    /// For an additional agent in the worktree of the one that holds the claim.
    pub member: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// The name of the holder. Default: the caller.
    #[serde(rename = "as")]
    pub holder: Option<String>,
    /// The packet's token, if the request is authorized with another one.
    pub packet: Option<String>,
    /// How long the claim lasts after the last heartbeat. Default: 15 minutes.
    pub seconds: Option<u64>,
    /// Respond only when the worktree is ready.
    pub wait: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Beat {
    pub fence: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandBack {
    pub fence: u64,
    pub summary: String,
    pub not_done: Option<String>,
    /// The work failed; commits are neither checked nor landed.
    #[serde(default)]
    pub failed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeLease {
    pub patterns: Vec<String>,
    /// Default: one hour.
    pub seconds: Option<u64>,
    /// The name of the holder. Default: the caller.
    #[serde(rename = "as")]
    pub holder: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commit {
    /// Paths that are about to be committed.
    pub paths: Vec<String>,
    /// The commit that was made.
    pub made: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendMessage {
    /// An agent, a worktree, or `operator`.
    pub to: String,
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewComment {
    pub file: String,
    /// Counted from 1.
    pub line: u64,
    /// Default: the worktree's side.
    #[serde(default)]
    #[schema(value_type = Option<schema::Side>)]
    pub side: Option<Side>,
    pub text: String,
    /// The text of the line as the author read it. If the line has changed since, the comment is rejected.
    #[serde(default)]
    pub quote: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnAgent {
    pub profile: String,
    /// Default: a name made from the profile's.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub worktree: Option<String>,
    /// Dispatched to the agent, unless a dispatch of the brief already waits to be claimed.
    #[serde(default)]
    pub brief: Option<u64>,
    /// The agent keeps running when its work is done, and gets further dispatches.
    #[serde(default)]
    pub standing: bool,
    /// Default: `worker`.
    #[serde(default)]
    #[schema(value_type = Option<schema::Role>)]
    pub role: Option<Role>,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveKeys {
    pub values: std::collections::BTreeMap<String, String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Decide {
    pub allow: bool,
    #[serde(default)]
    pub why: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct TerminalSize {
    pub columns: u16,
    pub rows: u16,
}
