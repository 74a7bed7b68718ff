//! Landings and MAIN, as the doors show them.

use super::WorktreeView;
use crate::schema;
use flower_core::landing::{HoldCode, HoldReason, Priority, Source, State, Verdict};
use flower_core::main_branch::Alarm;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LandingView {
    pub id: u64,
    pub project: String,
    pub title: String,
    #[schema(value_type = schema::Source)]
    pub source: Source,
    pub worktree: Option<String>,
    pub briefs: Vec<u64>,
    /// What lands, whatever becomes of the branch.
    pub commit: String,
    /// What MAIN is after it, or would be.
    pub merge_commit: Option<String>,
    pub onto: Option<String>,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// Where it stands and why, in words.
    pub reason: Option<String>,
    /// Of one that was rejected.
    #[schema(value_type = Option<schema::Verdict>)]
    pub verdict: Option<Verdict>,
    #[schema(value_type = schema::Priority)]
    pub priority: Priority,
    /// Why it waits for the operator.
    #[serde(default)]
    pub held: Vec<HoldView>,
    pub approved: bool,
    pub checks: Vec<CheckView>,
    /// The check that is at it.
    #[serde(default)]
    pub running: Option<RunningCheck>,
    /// Checks that were red, then green, on the same commit.
    pub flaky: Vec<String>,
    pub paths: Vec<String>,
    /// The landing that this one takes back.
    pub reverts: Option<u64>,
    /// Of a revert: the reason that was given for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Those that are tested together with it.
    pub batch: Option<u64>,
    pub by: String,
    pub queued_at: String,
    pub ended_at: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldView {
    #[schema(value_type = schema::HoldCode)]
    pub code: HoldCode,
    pub text: String,
    /// The commands that are not approved.
    #[serde(default)]
    pub commands: Vec<String>,
}

impl From<HoldReason> for HoldView {
    fn from(reason: HoldReason) -> HoldView {
        HoldView { code: reason.code, text: reason.text, commands: reason.commands }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    pub name: String,
    pub ok: bool,
    pub seconds: f64,
    /// 124 took too long, 127 was not found.
    pub code: i64,
    /// The end of its output.
    pub log: String,
    pub log_file: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunningCheck {
    pub name: String,
    /// 2 if it was red before.
    pub attempt: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MainView {
    pub project: String,
    pub branch: String,
    /// Where the branch is.
    pub tip: Option<String>,
    /// Where it should be.
    pub recorded_tip: String,
    /// `stable`, `dirty`, `moved`, `unhealthy`, `frozen` or `unknown`.
    pub state: String,
    pub reason: Option<String>,
    /// `kernel`: what agents run cannot reach it. `watched`: it is only noticed.
    pub protection: String,
    /// The fence for people: `installed`, `absent`, or `elsewhere` under another manager of hooks.
    pub hook: String,
    pub served: String,
    pub since: String,
    pub alarm: Option<AlarmView>,
    pub frozen: Option<String>,
    pub push: Option<PushView>,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlarmView {
    #[schema(value_type = schema::Alarm)]
    pub what: Alarm,
    pub text: String,
    pub files: Vec<String>,
    pub at: String,
    /// The ways out.
    pub next: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PushView {
    pub remote: String,
    pub commit: String,
    pub failure: Option<String>,
    pub at: String,
}

/// What the remote had.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PullView {
    pub remote: String,
    pub commit: String,
    /// None if MAIN has all of it.
    pub landing: Option<LandingView>,
}

/// What was in MAIN and is a worktree now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RescueView {
    pub worktree: WorktreeView,
    pub files: Vec<String>,
    /// Files that changed once more meanwhile, and were left alone.
    pub left: Vec<String>,
    pub main: MainView,
}

/// One commit of MAIN's first-parent history.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HistoryEntry {
    pub commit: String,
    pub at: String,
    pub author: String,
    pub title: String,
    pub landing: Option<u64>,
    #[schema(value_type = Option<schema::State>)]
    pub state: Option<State>,
    pub briefs: Vec<u64>,
    pub worktree: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MainProof {
    pub project: String,
    pub ok: bool,
    pub tip: String,
    /// Where flower began to look after it.
    pub began: String,
    /// Landings since then, all of them recorded.
    pub landings: u64,
    /// Those that no check has seen, because none was configured.
    pub unchecked: u64,
    pub problems: Vec<String>,
}

/// A `flower.toml` that flower proposes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProposalView {
    pub project: String,
    /// The repository has one of its own.
    pub exists: bool,
    pub text: String,
    /// What it was guessed from.
    pub found: Vec<String>,
}

/// The projects in which everything is stopped.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HaltView {
    pub halted: Vec<String>,
    pub why: String,
}
