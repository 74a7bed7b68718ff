//! What the doors are asked: the bodies of requests. The command line writes them, the API reads them.

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
    /// `feature` unless said.
    #[schema(value_type = Option<schema::BriefKind>)]
    pub kind: Option<BriefKind>,
    /// Waits as a proposed plan.
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
    /// 0 takes it out of its epic.
    pub epic: Option<u64>,
    pub auto_dispatch: Option<bool>,
    pub design_loop: Option<bool>,
    #[serde(default)]
    pub add_projects: Vec<String>,
    #[serde(default)]
    pub drop_projects: Vec<String>,
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
    /// The version it was made from; a stale one is a conflict.
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
    /// Pictures by their SHA-256, uploaded before with POST /api/images.
    #[serde(default)]
    pub images: Vec<String>,
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
    /// The version it was made from; a stale one is a conflict.
    pub base: Option<u64>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct IssueToken {
    pub agent: String,
    /// `worker` unless said.
    #[schema(value_type = Option<schema::Role>)]
    pub role: Option<Role>,
    pub brief: Option<u64>,
    pub worktree: Option<String>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct NewWorktree {
    pub name: String,
    /// `ephemeral` unless said.
    #[serde(alias = "sort")]
    #[schema(value_type = Option<schema::WorktreeKind>)]
    pub kind: Option<WorktreeKind>,
    /// `sealed` unless said.
    #[schema(value_type = Option<schema::Seal>)]
    pub seal: Option<Seal>,
    /// Any commit, branch or tag; MAIN's branch unless said.
    pub from: Option<String>,
    pub brief: Option<u64>,
    /// Leave out the project's setup commands.
    #[serde(default)]
    pub no_setup: bool,
    /// Take the pointers of LFS instead of the files.
    #[serde(default)]
    pub lfs_pointers: bool,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Restore {
    /// Which of several that had this name; the last one unless said.
    pub number: Option<u64>,
}

#[derive(Serialize, Deserialize, ToSchema)]
pub struct Approve {
    /// Of the commands that were read.
    pub sha256: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Land {
    pub briefs: Vec<u64>,
    pub title: Option<String>,
    #[schema(value_type = Option<schema::Priority>)]
    pub priority: Option<Priority>,
}

/// Why something is done, in a line.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Why {
    pub why: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevertRequest {
    /// The reason, which the briefs of the landing keep.
    pub why: String,
    /// Dispatch a `fix`, which may start an agent. Otherwise the briefs are parked.
    #[serde(default)]
    pub fix: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rescue {
    /// What the worktree is called.
    pub name: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LandSettings {
    /// The whole `flower.toml`.
    pub text: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NewDispatch {
    /// What the brief naturally asks for unless said.
    #[schema(value_type = Option<schema::DispatchKind>)]
    pub kind: Option<DispatchKind>,
    /// The profile that it is for; anybody unless said.
    pub agent: Option<String>,
    /// Where it happens; a name is chosen unless said.
    pub worktree: Option<String>,
    /// How many agents share the worktree.
    pub agents: Option<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Packet {
    /// For an agent that works beside the one that claims it.
    pub member: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Claim {
    /// Names the holder; otherwise whoever claims.
    #[serde(rename = "as")]
    pub holder: Option<String>,
    /// The packet's token, where it is not the one that the call comes with.
    pub packet: Option<String>,
    /// How long the claim holds after the last sign of life; 15 minutes unless said.
    pub seconds: Option<u64>,
    /// Answer once the worktree is ready.
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
    /// It did not work; nothing is looked at, and nothing lands.
    #[serde(default)]
    pub failed: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TakeLease {
    pub patterns: Vec<String>,
    /// An hour unless said.
    pub seconds: Option<u64>,
    /// Names the holder; otherwise whoever takes it.
    #[serde(rename = "as")]
    pub holder: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Commit {
    /// What is about to be committed.
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
    /// From 1.
    pub line: u64,
    /// Without it, the worktree's own.
    #[serde(default)]
    #[schema(value_type = Option<schema::Side>)]
    pub side: Option<Side>,
    pub text: String,
    /// The line as it was read. If another one stands there by now, nothing is said about it.
    #[serde(default)]
    pub quote: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SpawnAgent {
    pub profile: String,
    /// Named after its profile unless said.
    #[serde(default)]
    pub name: Option<String>,
    #[serde(default)]
    pub worktree: Option<String>,
    /// Dispatched to it, unless it waits for somebody already.
    #[serde(default)]
    pub brief: Option<u64>,
    /// Stays when its work is done, and gets more.
    #[serde(default)]
    pub standing: bool,
    /// `worker` unless said.
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
