//! Whether a brief can be dispatched, asked per kind of dispatch, with every reason in words.

use crate::brief::{Brief, BriefKind, Status};
use crate::word::words;
use serde::Serialize;
use utoipa::ToSchema;

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

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Readiness {
    pub ok: bool,
    pub reasons: Vec<Reason>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Reason {
    /// Stable, for programs: `closed`, `parked`, `missing_plan`, `missing_spec`, `open_dependency`, `in_progress`,
    /// `in_review`, `epic`, `nothing_to_mend`.
    pub code: String,
    pub message: String,
}

impl BriefKind {
    /// What `flower dispatch` asks for when nobody says otherwise.
    pub fn natural_dispatch(self) -> DispatchKind {
        match self {
            BriefKind::Feature | BriefKind::Fix | BriefKind::Epic => DispatchKind::Build,
            BriefKind::Note | BriefKind::Research => DispatchKind::Research,
            BriefKind::Incident => DispatchKind::Ops,
        }
    }
}

/// `dependencies` are the briefs it waits for, with their statuses.
pub fn readiness(brief: &Brief, kind: DispatchKind, dependencies: &[(u64, Status)]) -> Readiness {
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
