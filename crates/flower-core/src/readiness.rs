//! Whether a brief can be dispatched, for each kind of dispatch, with every reason in words.

use crate::brief::{Brief, BriefKind, Status};
use crate::dispatch::Dispatch;
use crate::ids::BriefId;
use crate::main_branch::Main;
use crate::word::words;
use serde::Serialize;

words! {
    DispatchKind ("kind of dispatch") {
        Design = "design",
        Build = "build",
        Review = "review",
        Research = "research",
        Ops = "ops",
        Fix = "fix",
    }
}

words! {
    /// Why a brief cannot be dispatched, or why its dispatch waits.
    ReasonCode ("reason code") {
        Closed = "closed",
        Parked = "parked",
        MissingPlan = "missing_plan",
        MissingSpec = "missing_spec",
        OpenDependency = "open_dependency",
        InProgress = "in_progress",
        InReview = "in_review",
        Epic = "epic",
        NothingToMend = "nothing_to_mend",
        Dispatched = "dispatched",
        NoAgent = "no_agent",
        NoProfile = "no_profile",
        AgentMissing = "agent_missing",
        AgentStopped = "agent_stopped",
        NetworkClosed = "network_closed",
        SpendLimit = "spend_limit",
        NoSlot = "no_slot",
        Starting = "starting",
        MainFrozen = "main_frozen",
        MainAlarm = "main_alarm",
    }
}

impl ReasonCode {
    /// Whether no agent starts for a dispatch until a person changes something.
    pub fn is_stuck(self) -> bool {
        matches!(self, ReasonCode::NoProfile | ReasonCode::AgentMissing | ReasonCode::NetworkClosed)
    }

    /// Whether a dispatch waits for an agent that is started by hand, with the packet.
    pub fn waits_for_packet(self) -> bool {
        matches!(self, ReasonCode::NoAgent | ReasonCode::NoProfile | ReasonCode::AgentMissing)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    pub ok: bool,
    pub reasons: Vec<Reason>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    pub code: ReasonCode,
    pub message: String,
}

impl BriefKind {
    /// The kind of dispatch that `flower dispatch` requests by default.
    pub fn natural_dispatch(self) -> DispatchKind {
        match self {
            BriefKind::Feature | BriefKind::Fix | BriefKind::Epic => DispatchKind::Build,
            BriefKind::Note | BriefKind::Research => DispatchKind::Research,
            BriefKind::Incident => DispatchKind::Ops,
        }
    }
}

/// `dependencies` are the briefs that the brief waits for, with their statuses; `open` are its dispatches that have not
/// ended.
pub fn readiness(
    brief: &Brief,
    kind: DispatchKind,
    dependencies: &[(BriefId, Status)],
    open: &[&Dispatch],
) -> Readiness {
    let mut reasons = Vec::new();
    let mut no = |code: ReasonCode, message: String| reasons.push(Reason { code, message });
    let number = brief.number;
    if brief.status.is_closed() {
        no(ReasonCode::Closed, format!("it is {}", brief.status));
    }
    if brief.status == Status::Parked {
        let before = brief.parked_from.unwrap_or(Status::Draft);
        no(ReasonCode::Parked, format!("it is parked; take it up again: `flower brief status {number} {before}`"));
    }
    for dispatch in open.iter().filter(|dispatch| excludes(dispatch.kind, kind)) {
        let how = match &dispatch.claim {
            Some(claim) => format!("claimed by {}", claim.holder),
            None => dispatch.state.to_string(),
        };
        let id = dispatch.number;
        no(ReasonCode::Dispatched, format!("dispatch {id} is {how} already: `flower dispatch show {id}`"));
    }
    match kind {
        DispatchKind::Design => {}
        DispatchKind::Build => {
            if brief.kind == BriefKind::Epic {
                no(ReasonCode::Epic, "an epic is built through its children".to_owned());
            }
            match brief.status {
                Status::Draft if brief.spec_version == 0 => {
                    no(ReasonCode::MissingPlan, format!("it has no plan: `flower brief plan {number} --spec FILE`"));
                }
                Status::Draft => {
                    no(
                        ReasonCode::MissingPlan,
                        format!("its plan is not accepted yet: `flower brief accept {number}`"),
                    );
                }
                Status::InProgress if open.is_empty() => {
                    no(
                        ReasonCode::InProgress,
                        format!("work on it has begun; go on with it: `flower dispatch {number} --kind fix`"),
                    );
                }
                Status::InProgress => no(ReasonCode::InProgress, "work on it is in progress".to_owned()),
                Status::InReview => no(ReasonCode::InReview, "its result is in review".to_owned()),
                _ => {}
            }
            for (needs, status) in dependencies.iter().filter(|(_, status)| !status.is_met()) {
                no(ReasonCode::OpenDependency, format!("it needs brief {needs}, which is {status}"));
            }
        }
        DispatchKind::Review | DispatchKind::Research | DispatchKind::Ops => {
            if brief.spec_version == 0 {
                no(ReasonCode::MissingSpec, format!("it has no spec: `flower brief plan {number} --spec FILE`"));
            }
        }
        DispatchKind::Fix => {
            let begun = matches!(brief.status, Status::InProgress | Status::InReview);
            if !begun && !brief.status.is_closed() {
                no(ReasonCode::NothingToMend, "there is no work to mend yet".to_owned());
            }
        }
    }
    Readiness { ok: reasons.is_empty(), reasons }
}

/// Whether one of two dispatches must end before the other starts: they are of the same kind, or both change the same
/// code.
fn excludes(one: DispatchKind, other: DispatchKind) -> bool {
    let writes = |kind| matches!(kind, DispatchKind::Build | DispatchKind::Fix);
    one == other || (writes(one) && writes(other))
}

/// Why a requested dispatch waits, in words. These reasons are not refusals. `unserved` is the reason why flower has no
/// agent for it yet.
pub fn waits(dispatch: &Dispatch, main: Option<&Main>, unserved: Option<Reason>) -> Vec<Reason> {
    let is_waiting = dispatch.claim.is_none() && dispatch.is_open();
    let starting = || Reason { code: ReasonCode::Starting, message: "its agent is being started".to_owned() };
    let first = is_waiting.then(|| unserved.unwrap_or_else(starting));
    let frozen_said = first.as_ref().is_some_and(|reason| reason.code == ReasonCode::MainFrozen);
    let mut reasons: Vec<Reason> = first.into_iter().collect();
    let mut wait = |code: ReasonCode, message: String| reasons.push(Reason { code, message });
    if let Some(why) = main.and_then(|main| main.frozen.as_ref()).filter(|_| !frozen_said) {
        wait(ReasonCode::MainFrozen, format!("MAIN is frozen ({why}); work can go on, landing waits: `flower thaw`"));
    }
    if let Some(alarm) = main.and_then(|main| main.alarm.as_ref()) {
        wait(ReasonCode::MainAlarm, format!("landing waits, because {}", alarm.text));
    }
    reasons
}
