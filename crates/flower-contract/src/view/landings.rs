//! Views of landings and MAIN.

use super::WorktreeView;
use crate::schema;
use crate::word::words;
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
    /// The commit that lands, even if the branch moves on.
    pub commit: String,
    /// The merge commit that MAIN gets.
    pub merge_commit: Option<String>,
    /// If MAIN is moved forward to a commit of its remote: the number of the remote's commits.
    pub upstream: Option<u64>,
    pub onto: Option<String>,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// A description of its state.
    pub reason: Option<String>,
    /// Why it was rejected.
    #[schema(value_type = Option<schema::Verdict>)]
    pub verdict: Option<Verdict>,
    #[schema(value_type = schema::Priority)]
    pub priority: Priority,
    /// Why it waits for the operator.
    #[serde(default)]
    pub held: Vec<HoldView>,
    pub approved: bool,
    pub checks: Vec<CheckView>,
    /// The check that is running.
    #[serde(default)]
    pub running: Option<RunningCheck>,
    /// Checks that failed and then passed on the same commit.
    pub flaky: Vec<String>,
    pub paths: Vec<String>,
    /// The landing that this one reverts.
    pub reverts: Option<u64>,
    /// For a revert: the given reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Landings that are tested together with this one.
    /// Paths of the worktree that are not committed and stay there; only in the answer to the request that queued it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
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
    /// 124 is a timeout, 127 command not found.
    pub code: i64,
    /// The end of its output.
    pub log: String,
    pub log_file: String,
    /// It did not run, because the merge changes none of its paths.
    #[serde(default)]
    pub skipped: bool,
    /// It did not run, because it passed before on the same tree. Says where, such as `in landing 12`.
    #[serde(default)]
    pub reused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunningCheck {
    pub name: String,
    /// 2 if the first attempt failed.
    pub attempt: u64,
    /// With `history = "rebase"`: which of the commits is checked, from 1, and how many there are.
    #[serde(default = "one")]
    pub commit: u64,
    #[serde(default = "one")]
    pub commits: u64,
}

fn one() -> u64 {
    1
}

words! {
    CheckRunState {
        /// Landings go first, and so do checks that were requested earlier.
        Waiting = "waiting",
        Running = "running",
        Passed = "passed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

/// The checks of a landing, run without landing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckRunView {
    /// Whether it merges and every check passed. False until the run has ended.
    pub ok: bool,
    pub state: CheckRunState,
    /// Why it waits, or how it ended.
    pub reason: Option<String>,
    pub project: String,
    /// Absent if a proposed `flower.toml` is tried.
    pub worktree: Option<String>,
    /// The commit that is checked.
    pub commit: String,
    pub merge: CheckMergeView,
    pub checks: Vec<CheckView>,
    /// The check that is running.
    pub running: Option<RunningCheck>,
    /// Why its landing would wait for the operator.
    #[serde(default)]
    pub held: Vec<HoldView>,
    /// Other worktrees that change the same paths, and agents that have reserved them.
    #[serde(default)]
    pub others: Vec<OtherWork>,
    /// What its reader should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Commands of its changed `flower.toml` that are not approved, so that MAIN's checks run instead.
    #[serde(default)]
    pub not_approved: Option<NotApproved>,
    pub began_at: String,
    pub ended_at: Option<String>,
}

/// The merge with MAIN.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckMergeView {
    pub ok: bool,
    /// Paths that conflict.
    pub paths: Vec<String>,
    /// The commit of MAIN.
    pub onto: String,
    /// Paths that the merge changes in MAIN.
    #[serde(default)]
    pub changed: Vec<String>,
    /// Number of all paths that the merge changes.
    pub changes: u64,
}

/// Work of others on the paths that a worktree changes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OtherWork {
    pub worktree: String,
    /// The agent that has reserved the paths. Absent if the worktree has changed them.
    pub reserved_by: Option<String>,
    pub paths: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NotApproved {
    pub commands: Vec<String>,
    /// Approves exactly these commands.
    pub sha256: String,
}

words! {
    MainState {
        Stable = "stable",
        /// Files in the checkout were edited.
        Dirty = "dirty",
        /// The branch is not at the recorded commit.
        Moved = "moved",
        Unhealthy = "unhealthy",
        Frozen = "frozen",
        /// MAIN is being updated.
        Unknown = "unknown",
    }
}

words! {
    /// `kernel`: processes of agents cannot access MAIN. `watched`: changes of MAIN are only detected. `none`: processes in a
    /// worktree are not confined.
    ProtectionLevel { Kernel = "kernel", Watched = "watched", None = "none" }
}

words! {
    /// The git hook that stops commits of people to MAIN; `elsewhere` if another hook manager is in use.
    MainHook { Installed = "installed", Absent = "absent", Elsewhere = "elsewhere" }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MainView {
    pub project: String,
    pub branch: String,
    /// The current commit of the branch.
    pub tip: Option<String>,
    /// The commit at which the branch should be.
    pub recorded_tip: String,
    pub state: MainState,
    pub reason: Option<String>,
    /// `kernel` or `watched`.
    pub protection: ProtectionLevel,
    pub hook: MainHook,
    pub served: String,
    pub since: String,
    pub alarm: Option<AlarmView>,
    pub frozen: Option<String>,
    pub push: Option<PushView>,
    /// No checks are configured, so every landing that merges reaches MAIN untested.
    #[serde(default)]
    pub unchecked: bool,
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AlarmView {
    #[schema(value_type = schema::Alarm)]
    pub what: Alarm,
    pub text: String,
    pub files: Vec<String>,
    pub at: String,
    /// Commands that settle the alarm.
    pub next: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PushView {
    pub remote: String,
    pub commit: String,
    pub failure: Option<String>,
    pub at: String,
}

/// The result of a pull.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PullView {
    pub remote: String,
    pub commit: String,
    /// Absent if MAIN has all commits of the remote.
    pub landing: Option<LandingView>,
}

/// The result of a rescue: changes in MAIN that were moved to a worktree.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RescueView {
    pub worktree: WorktreeView,
    pub files: Vec<String>,
    /// Files that changed again meanwhile and were not reset.
    pub left: Vec<String>,
    pub main: MainView,
}

/// A worktree in which commits of MAIN's remote are merged with MAIN.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SettleView {
    pub worktree: WorktreeView,
    pub remote: String,
    /// The remote's commit, from which the worktree begins.
    pub commit: String,
    /// Paths in which the two do not merge. They have git's conflict markers in the worktree.
    pub paths: Vec<String>,
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
    /// The commit at which flower started to manage MAIN.
    pub began: String,
    /// Number of landings since then, all of them recorded.
    pub landings: u64,
    /// Landings without checks, because none was configured.
    pub unchecked: u64,
    pub problems: Vec<String>,
}

/// A `flower.toml` that flower proposes.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProposalView {
    pub project: String,
    /// The repository already has a `flower.toml`.
    pub exists: bool,
    pub text: String,
    /// What the proposal was derived from.
    pub found: Vec<String>,
    /// The text lies in MAIN's checkout and is not committed.
    #[serde(default)]
    pub uncommitted: bool,
    /// Whether the text has a check. Without one, every landing reaches MAIN untested.
    #[serde(default)]
    pub has_checks: bool,
    /// Programs that the commands start and that are not installed.
    #[serde(default)]
    pub missing_programs: Vec<String>,
}

/// The projects that were frozen and are not any more.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ThawView {
    pub thawed: Vec<String>,
}

/// The projects that are halted.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HaltView {
    pub halted: Vec<String>,
    pub why: String,
}
