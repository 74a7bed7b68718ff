//! Every refusal of the rules: the wording, the kind and the next step, in one place.

use crate::brief::Status;
use crate::dispatch;
use crate::ids::{BriefId, DispatchId, Fence, LandingId, LeaseId, PermissionId, ScratchpadId, WorktreeId};
use crate::landing::State;
use crate::link::LinkKind;
use crate::readiness::DispatchKind;
use crate::worktree::Stage;
use thiserror::Error;

/// The kind of a refusal; the doors turn it into an exit code or an HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The input is wrong in every state of the world.
    Invalid,
    /// The input is valid, but the current state does not allow it.
    Refused,
    NotFound,
    /// Another caller was first, or the caller's version is stale.
    Conflict,
    /// The caller's token does not allow this.
    Forbidden,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("the {what} is empty")]
    EmptyText { what: &'static str },
    #[error("the {what} has {size} {unit}; {most} are allowed")]
    TooLong { what: &'static str, size: usize, most: usize, unit: &'static str },
    #[error(
        "the {what} has the character U+{code_point:04X} in line {line}, column {column}; control and bidirectional characters are not allowed"
    )]
    Unreadable { what: &'static str, code_point: u32, line: usize, column: usize },
    #[error("`{name}` is no name for {}", article(what))]
    BadName { what: &'static str, name: String },
    #[error("`{word}` is no {what}")]
    UnknownWord { what: &'static str, word: String, choices: Vec<&'static str> },
    #[error("`{target}` is no target for a `{kind}` link; expected {expected}")]
    BadTarget { kind: LinkKind, target: String, expected: &'static str },
    #[error("{count} {what} at once; {most} are allowed")]
    TooMany { what: &'static str, count: usize, most: usize },
    #[error("`{pattern}` is no pattern of paths: {why}")]
    BadPattern { pattern: String, why: &'static str },
    #[error("a budget of {given} tokens cannot be kept; {least} to {most} are allowed")]
    BadBudget { given: u64, least: u64, most: u64 },

    #[error("there is no brief {number}")]
    NoBrief { number: BriefId, newest: BriefId },
    #[error("there is no scratchpad {number}")]
    NoScratchpad { number: ScratchpadId },
    #[error("there is no project `{name}`")]
    NoProject { name: String, known: Vec<String> },
    #[error("project `{name}` is called `{now}` now")]
    RenamedProject { name: String, now: String },
    #[error("brief {brief} has no question {question}")]
    NoQuestion { brief: BriefId, question: u64 },
    #[error("there is no token `{id}`")]
    NoToken { id: String },

    #[error("brief {brief} is `{from}`; it cannot become `{to}`: {reason}")]
    BadMove { brief: BriefId, from: Status, to: Status, reason: String, hint: String },
    #[error("brief {brief} is `{status}`; a plan is proposed while it is `draft`")]
    PlanTooLate { brief: BriefId, status: Status },
    #[error("brief {brief} is `{status}`; its spec does not change any more")]
    SpecClosed { brief: BriefId, status: Status },
    #[error("nothing waits to be accepted on brief {brief}, which is `{status}`")]
    NothingToAccept { brief: BriefId, status: Status },
    #[error("brief {brief} has no spec to accept")]
    NoPlan { brief: BriefId },
    #[error("brief {brief} has {commits} of its own that are not proved to be in MAIN; it cannot be `done`")]
    UnlandedCommits { brief: BriefId, commits: String },
    #[error("the spec of brief {brief} is at version {current}, not {given}")]
    StaleBase { brief: BriefId, current: u64, given: u64 },
    #[error("question {question} of brief {brief} is answered already")]
    Answered { brief: BriefId, question: u64 },
    #[error("that would make a circle: {}", circle(path))]
    Cycle { path: Vec<BriefId> },
    #[error("brief {number} is a `{kind}`, not an epic")]
    NotAnEpic { number: BriefId, kind: String },
    #[error("brief {brief} is an epic with children; it stays an epic")]
    EpicHasChildren { brief: BriefId },
    #[error("a brief belongs to at least one project")]
    LastProject { brief: BriefId },
    #[error("scratchpad {number} is at version {current}, not {given}")]
    StaleScratchpad { number: ScratchpadId, current: u64, given: u64 },
    #[error("project `{name}` is another repository, at {root}")]
    ProjectTaken { name: String, root: String },
    #[error("{root} is project `{name}` already")]
    RootTaken { name: String, root: String },
    #[error("project `{now}` was called `{name}` before")]
    FormerName { name: String, now: String },
    #[error("agents of project `{project}` run: {}", names.join(", "))]
    LiveAgents { project: String, names: Vec<String> },
    #[error("`{name}` cannot be the name of a worktree")]
    BadWorktreeName { name: String },
    #[error("there is no worktree `{name}`")]
    NoWorktree { name: String, known: Vec<String> },
    #[error("there is a worktree `{name}` already, which is `{stage}`")]
    WorktreeTaken { name: String, stage: Stage },
    #[error("worktree `{name}` is `{stage}`")]
    WorktreeStage { name: String, stage: Stage },
    #[error("nothing is kept of a worktree `{name}`")]
    NoArchive { name: String },
    #[error("there is no archive {number}")]
    NoArchiveNumber { number: WorktreeId },
    #[error("project `{project}` has worktrees: {}", names.join(", "))]
    LiveWorktrees { project: String, names: Vec<String> },
    #[error("there is no landing {number}")]
    NoLanding { number: LandingId, newest: LandingId },
    #[error("landing {number} is {}, with the same commit", state.in_words())]
    LandingOpen { number: LandingId, state: State },
    #[error("landing {number} is {}, not {wanted}", state.in_words())]
    LandingState { number: LandingId, state: State, wanted: &'static str },
    #[error("project `{project}` has open landings: {}", numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))]
    OpenLandings { project: String, numbers: Vec<LandingId> },
    #[error("project `{project}` has no MAIN to look after yet")]
    NoMain { project: String },
    #[error("there is no dispatch {number}")]
    NoDispatch { number: DispatchId, newest: DispatchId },
    #[error("brief {brief} cannot be dispatched as `{kind}`: {}", reasons.join("; "))]
    NotDispatchable { brief: BriefId, kind: DispatchKind, reasons: Vec<String>, taken: bool },
    #[error("dispatch {number} is `{state}`, not {wanted}")]
    DispatchState { number: DispatchId, state: dispatch::State, wanted: &'static str },
    #[error("dispatch {number} is claimed by `{holder}`, for another {left}")]
    Claimed { number: DispatchId, holder: String, left: String },
    #[error("dispatch {number} is about brief {brief}, which is `{status}`")]
    BriefNotOpen { number: DispatchId, brief: BriefId, status: Status },
    #[error("fence {given} of dispatch {number} is not the newest, which is {newest}{}", held(holder.as_deref()))]
    StaleFence { number: DispatchId, given: Fence, newest: Fence, holder: Option<String> },
    #[error("that token cannot claim dispatch {number}")]
    NoPacket { number: DispatchId },
    #[error("that token works on dispatch {other}; it cannot claim dispatch {number} as well")]
    Busy { number: DispatchId, other: DispatchId },
    #[error("dispatch {number} is a design, and brief {brief} has no new plan")]
    NoDesign { number: DispatchId, brief: BriefId },
    #[error("a lease lasts 1 to {most} seconds, not {seconds}")]
    BadLease { seconds: u64, most: u64 },
    #[error("`{pattern}` overlaps with `{theirs}`, which `{holder}` has reserved for another {left}")]
    LeaseTaken { pattern: String, holder: String, theirs: String, left: String },
    #[error("there is no lease {number}")]
    NoLease { number: LeaseId },
    #[error("there is neither an agent nor a worktree `{name}`")]
    NoRecipient { name: String, known: Vec<String> },
    #[error("there is no agent `{name}`")]
    NoAgent { name: String, known: Vec<String> },
    #[error("agent `{name}` has ended")]
    AgentEnded { name: String },
    #[error("agent `{name}` works on dispatch {dispatch} already")]
    AgentThere { name: String, dispatch: DispatchId },
    #[error("there is an agent `{name}` already")]
    AgentNamed { name: String },
    #[error("{running} agents run, and no more than {most} may at once")]
    NoSlot { running: usize, most: u64 },
    #[error("there is no permission {number}")]
    NoPermission { number: PermissionId },
    #[error("permission {number} was {} already", if *allowed { "given" } else { "denied" })]
    PermissionDecided { number: PermissionId, allowed: bool },
    #[error("`{name}` is the operator's own token")]
    OperatorToken { name: String },

    #[error("{who} may not {what}")]
    Forbidden { who: String, what: &'static str, why: String },
}

impl Refusal {
    pub fn kind(&self) -> RefusalKind {
        use Refusal::*;
        match self {
            EmptyText { .. }
            | TooLong { .. }
            | Unreadable { .. }
            | BadName { .. }
            | UnknownWord { .. }
            | BadTarget { .. }
            | TooMany { .. }
            | BadPattern { .. }
            | BadBudget { .. }
            | BadWorktreeName { .. }
            | BadLease { .. }
            | OperatorToken { .. } => RefusalKind::Invalid,
            NoBrief { .. }
            | NoScratchpad { .. }
            | NoProject { .. }
            | RenamedProject { .. }
            | NoQuestion { .. }
            | NoToken { .. }
            | NoWorktree { .. }
            | NoLanding { .. }
            | NoDispatch { .. }
            | NoLease { .. }
            | NoRecipient { .. }
            | NoAgent { .. }
            | NoPermission { .. }
            | NoArchive { .. }
            | NoArchiveNumber { .. } => RefusalKind::NotFound,
            StaleBase { .. }
            | Answered { .. }
            | StaleScratchpad { .. }
            | ProjectTaken { .. }
            | RootTaken { .. }
            | FormerName { .. }
            | WorktreeTaken { .. }
            | Claimed { .. }
            | StaleFence { .. }
            | LeaseTaken { .. }
            | AgentThere { .. }
            | AgentNamed { .. }
            | PermissionDecided { .. }
            | NotDispatchable { taken: true, .. }
            | LandingOpen { .. } => RefusalKind::Conflict,
            BadMove { .. }
            | PlanTooLate { .. }
            | SpecClosed { .. }
            | NothingToAccept { .. }
            | NoPlan { .. }
            | UnlandedCommits { .. }
            | Cycle { .. }
            | NotAnEpic { .. }
            | EpicHasChildren { .. }
            | LastProject { .. }
            | WorktreeStage { .. }
            | LiveWorktrees { .. }
            | LiveAgents { .. }
            | LandingState { .. }
            | OpenLandings { .. }
            | NotDispatchable { .. }
            | DispatchState { .. }
            | BriefNotOpen { .. }
            | NoDesign { .. }
            | Busy { .. }
            | AgentEnded { .. }
            | NoSlot { .. }
            | NoMain { .. } => RefusalKind::Refused,
            NoPacket { .. } | Forbidden { .. } => RefusalKind::Forbidden,
        }
    }

    /// The next steps, as sentences that name a command wherever there is one.
    pub fn hints(&self) -> Vec<String> {
        use Refusal::*;
        let hint = match self {
            EmptyText { what } => format!("write at least one character of {what}"),
            TooLong { what: "title", .. } => {
                "keep the title short and put the rest into the spec: `--spec FILE`".into()
            }
            TooLong { what: "spec", .. } => {
                "keep the plan in the spec and put the rest into files of the repository".into()
            }
            TooLong { .. } => "shorten it, or put it into a scratchpad: `flower scratchpad new`".into(),
            Unreadable { .. } => "remove that character and try again; nothing was stored".into(),
            BadName { .. } => "use letters, digits and `. _ - :`, at most 64, beginning with a letter or digit".into(),
            UnknownWord { choices, .. } => format!("choose one of: {}", choices.join(", ")),
            BadTarget { .. } | TooMany { .. } => "correct it and try again; nothing was stored".into(),
            BadPattern { .. } => {
                "write a path inside the worktree, such as `src/`, `docs/*.md` or `**/Cargo.toml`; nothing was reserved"
                    .into()
            }
            BadBudget { .. } => "choose one in between, or none: then it is 4000".into(),
            NoBrief { newest: BriefId(0), .. } => "there are no briefs yet; make one: `flower brief new TITLE`".into(),
            NoBrief { newest, .. } => format!("`flower brief` lists them; the newest is {newest}"),
            NoScratchpad { .. } => "`flower scratchpad` lists them".into(),
            NoProject { known, .. } if known.is_empty() => "make one: `flower init` in a repository".into(),
            NoProject { known, .. } => format!("known: {}", known.join(", ")),
            RenamedProject { now, .. } => format!("say `--project {now}`"),
            NoQuestion { brief, .. } => format!("`flower brief trace {brief}` shows its questions"),
            NoToken { .. } => "`flower token` lists them".into(),
            BadMove { hint, .. } => hint.clone(),
            PlanTooLate { brief, .. } => {
                format!("change the accepted plan instead: `flower brief refine {brief} --spec FILE`")
            }
            SpecClosed { .. } => "make a new brief for what is still to do: `flower brief new TITLE`".into(),
            NothingToAccept { brief, .. } => format!("`flower brief show {brief}` says where it stands"),
            NoPlan { brief } => format!("propose one: `flower brief plan {brief} --spec FILE`"),
            UnlandedCommits { brief, .. } => {
                format!("land them, or cancel it: `flower brief status {brief} cancelled`")
            }
            StaleBase { brief, given, current } => format!(
                "see what changed: `flower brief diff {brief} {given} {current}`; then refine again with `--base {current}`"
            ),
            Answered { brief, .. } => format!("`flower brief trace {brief}` shows the decision"),
            Cycle { path } if path.len() == 2 => "a brief does not wait for itself; name another one".into(),
            Cycle { .. } => {
                "drop one of these first: `flower brief needs N M --drop`, or `flower brief edit N --epic none`".into()
            }
            NotAnEpic { number, .. } => format!("make it one: `flower brief edit {number} --kind epic`"),
            EpicHasChildren { .. } => "move its children first: `flower brief edit N --epic none`".into(),
            LastProject { .. } => "add another project first: `--add-project NAME`".into(),
            StaleScratchpad { number, current, .. } => {
                format!("read it again: `flower scratchpad show {number}`; then write with `--base {current}`")
            }
            ProjectTaken { .. } => "choose another name: `flower init --name NAME`".into(),
            RootTaken { name, .. } => format!("`flower project` lists them; to let that one go: `flower project remove {name}`"),
            FormerName { .. } => "choose another name: what still says this one would lead to the wrong project".into(),
            LiveAgents { .. } => "wait until their work has ended, or stop them: `flower agent stop NAME`".into(),
            BadWorktreeName { .. } => {
                "use small letters, digits and `-`, at most 41, beginning with a letter or digit, and not `main`".into()
            }
            NoWorktree { known, .. } if known.is_empty() => {
                "there are none yet; make one: `flower worktree new NAME`".into()
            }
            NoWorktree { known, .. } => format!("known: {}", known.join(", ")),
            WorktreeTaken { name, .. } => {
                format!("use it: `flower worktree shell {name}`, or choose another name")
            }
            WorktreeStage { stage: Stage::Failed, .. } => "make it again: `flower worktree new NAME`".into(),
            WorktreeStage { .. } => "`flower worktree` says where each stands; wait a moment and try again".into(),
            NoArchive { .. } | NoArchiveNumber { .. } => "`flower worktree archive` lists what is kept".into(),
            LiveWorktrees { .. } => "remove them first: `flower worktree remove NAME`; their work is kept".into(),
            NoLanding { newest: LandingId(0), .. } => "there are none yet: `flower land WORKTREE`".into(),
            NoLanding { newest, .. } => format!("`flower queue --all` lists them; the newest is {newest}"),
            LandingOpen { number, .. } => format!("`flower queue show {number}` says where it stands"),
            LandingState { number, .. } => format!("`flower queue show {number}` says how it came to that"),
            OpenLandings { .. } => "cancel them first: `flower queue cancel L`".into(),
            NoMain { .. } => "make the first commit there: `git add -A`, then `git commit -m \"first\"`".into(),
            NoDispatch { newest: DispatchId(0), .. } => "there are none yet: `flower dispatch BRIEF`".into(),
            NoDispatch { newest, .. } => format!("`flower dispatch list` shows them; the newest is {newest}"),
            NotDispatchable { brief, .. } => format!("`flower brief show {brief}` says what it waits for"),
            DispatchState { number, .. } => format!("`flower dispatch show {number}` says how it came to that"),
            Claimed { number, .. } => {
                format!("take something else: `flower claim --next`, or wait; `flower dispatch show {number}`")
            }
            BriefNotOpen { brief, .. } => format!("`flower brief show {brief}` says why"),
            StaleFence { number, holder: Some(_), .. } => {
                format!("stop here: another agent continues it; `flower dispatch show {number}`")
            }
            StaleFence { number, .. } => format!("claim it again, then hand it back: `flower claim {number}`"),
            NoPacket { number } => {
                format!("a packet works once; the operator makes a fresh one: `flower dispatch packet {number}`")
            }
            Busy { other, .. } => format!("hand dispatch {other} back first"),
            NoDesign { brief, .. } => {
                format!("propose it first: the tool `propose_plan`, or `flower brief plan {brief} --spec FILE`")
            }
            BadLease { .. } => "choose a time between them, such as `15m`".into(),
            LeaseTaken { holder, .. } => {
                format!(
                    "work on something else, or ask: the tool `send_message` to `{holder}`, or `flower agent tell {holder} TEXT`"
                )
            }
            NoLease { .. } => "`flower lease` lists them".into(),
            NoRecipient { known, .. } => format!("known: {}", known.join(", ")),
            NoAgent { known, .. } if known.is_empty() => {
                "none runs; `flower dispatch N --agent PROFILE` starts one, `flower agent profiles` says which there are".into()
            }
            NoAgent { known, .. } => format!("known: {}", known.join(", ")),
            AgentEnded { name } => format!("`flower agent log {name}` shows what it did"),
            AgentThere { name, .. } => format!("look at it: `flower agent show {name}`"),
            AgentNamed { .. } => "choose another name: `--name NAME`".into(),
            NoSlot { .. } => {
                "wait until one has ended, stop one (`flower agent stop NAME`), or raise `max` below `[agents]` in flower.toml".into()
            }
            NoPermission { .. } | PermissionDecided { .. } => "`flower inbox` lists what waits".into(),
            OperatorToken { .. } => "name an agent: `--agent NAME`".into(),
            Forbidden { why, .. } => why.clone(),
        };
        vec![hint]
    }
}

fn article(what: &str) -> String {
    let vowel = what.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {what}", if vowel { "an" } else { "a" })
}

fn held(holder: Option<&str>) -> String {
    holder.map_or_else(String::new, |holder| format!(" and is held by `{holder}`"))
}

fn circle(path: &[BriefId]) -> String {
    path.iter().map(ToString::to_string).collect::<Vec<_>>().join(" → ")
}
