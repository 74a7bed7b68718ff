//! Whether a brief can be dispatched, for each kind of dispatch, with every reason in words.

use crate::brief::{Brief, BriefKind, Status};
use crate::dispatch::Dispatch;
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Readiness {
    pub ok: bool,
    pub reasons: Vec<Reason>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// A stable code for programs: `closed`, `parked`, `missing_plan`, `missing_spec`, `open_dependency`,
    /// `in_progress`, `in_review`, `epic`, `nothing_to_mend`, `dispatched`; for a dispatch that only waits: `no_agent`,
    /// `no_profile`, `agent_missing`, `agent_stopped`, `spend_limit`, `no_slot`, `starting`, `main_frozen`,
    /// `main_alarm`.
    pub code: String,
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
pub fn readiness(brief: &Brief, kind: DispatchKind, dependencies: &[(u64, Status)], open: &[&Dispatch]) -> Readiness {
    let mut reasons = Vec::new();
    let mut no = |code: &str, message: String| reasons.push(Reason { code: code.to_owned(), message });
    let number = brief.number;
    if brief.status.is_closed() {
        no("closed", format!("it is {}", brief.status));
    }
    if brief.status == Status::Parked {
        let before = brief.parked_from.unwrap_or(Status::Draft);
        no("parked", format!("it is parked; take it up again: `flower brief status {number} {before}`"));
    }
    for dispatch in open.iter().filter(|dispatch| excludes(dispatch.kind, kind)) {
        let how = match &dispatch.claim {
            Some(claim) => format!("claimed by {}", claim.holder),
            None => dispatch.state.to_string(),
        };
        let id = dispatch.number;
        no("dispatched", format!("dispatch {id} is {how} already: `flower dispatch show {id}`"));
    }
    match kind {
        DispatchKind::Design => {}
        DispatchKind::Build => {
            if brief.kind == BriefKind::Epic {
                no("epic", "an epic is built through its children".to_owned());
            }
            match brief.status {
                Status::Draft if brief.spec_version == 0 => {
                    no("missing_plan", format!("it has no plan: `flower brief plan {number} --spec FILE`"));
                }
                Status::Draft => {
                    no("missing_plan", format!("its plan is not accepted yet: `flower brief accept {number}`"));
                }
                Status::InProgress if open.is_empty() => {
                    no(
                        "in_progress",
                        format!("work on it has begun; go on with it: `flower dispatch {number} --kind fix`"),
                    );
                }
                Status::InProgress => no("in_progress", "somebody works on it already".to_owned()),
                Status::InReview => no("in_review", "its result is in review".to_owned()),
                _ => {}
            }
            for (needs, status) in dependencies.iter().filter(|(_, status)| !status.is_met()) {
                no("open_dependency", format!("it needs brief {needs}, which is {status}"));
            }
        }
        DispatchKind::Review | DispatchKind::Research | DispatchKind::Ops => {
            if brief.spec_version == 0 {
                no("missing_spec", format!("it has no spec: `flower brief plan {number} --spec FILE`"));
            }
        }
        DispatchKind::Fix => {
            let begun = matches!(brief.status, Status::InProgress | Status::InReview);
            if !begun && !brief.status.is_closed() {
                no("nothing_to_mend", "there is no work to mend yet".to_owned());
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
    let starting = || Reason { code: "starting".to_owned(), message: "its agent is being started".to_owned() };
    let first = is_waiting.then(|| unserved.unwrap_or_else(starting));
    let frozen_said = first.as_ref().is_some_and(|reason| reason.code == "main_frozen");
    let mut reasons: Vec<Reason> = first.into_iter().collect();
    let mut wait = |code: &str, message: String| reasons.push(Reason { code: code.to_owned(), message });
    if let Some(why) = main.and_then(|main| main.frozen.as_ref()).filter(|_| !frozen_said) {
        wait("main_frozen", format!("MAIN is frozen ({why}); work can go on, landing waits: `flower thaw`"));
    }
    if let Some(alarm) = main.and_then(|main| main.alarm.as_ref()) {
        wait("main_alarm", format!("landing waits, because {}", alarm.text));
    }
    reasons
}
