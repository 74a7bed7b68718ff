//! `brief status`: the changes of status that a person makes by hand. All others follow from work: a claim, a
//! hand-back, a landing.

use super::{Brief, Status};
use crate::event::{Draft, StatusChanged};
use crate::refusal::Refusal;
use crate::text;

const WHY_CHARS: usize = 500;

pub(crate) fn decide(brief: &Brief, to: Status, why: Option<&str>) -> Result<Vec<Draft>, Refusal> {
    use Status::*;
    let from = brief.status;
    let number = brief.number;
    if from == to {
        return Ok(Vec::new());
    }
    let why = why.map(|why| text::line("reason", why, WHY_CHARS)).transpose()?;
    let refuse =
        |reason: &str, hint: String| Err(Refusal::BadMove { brief: number, from, to, reason: reason.into(), hint });
    match (from, to) {
        (_, Landed) => refuse(
            "only a landing makes `landed`, after proving that its commits are in MAIN",
            "land its worktree: `flower land WORKTREE`".into(),
        ),
        (Landed | Done | Cancelled, _) => {
            refuse("that status is final", "make a new brief for what is still to do: `flower brief new TITLE`".into())
        }
        (Parked, Cancelled) => moved(brief, to, why),
        (Parked, _) => match brief.parked_from {
            Some(before) if before == to => moved(brief, to, why),
            before => {
                let before = before.unwrap_or(Draft);
                let hint = format!("take it up again where it was: `flower brief status {number} {before}`");
                refuse(&format!("it was `{before}` when it was parked"), hint)
            }
        },
        (Draft | Planned | InProgress | InReview, Parked | Cancelled) => moved(brief, to, why),
        // The work is done by hand, without a dispatch.
        (Planned, InProgress) | (InProgress, InReview) | (InReview, InProgress) => moved(brief, to, why),
        (InReview, Done) => to_done(brief, why),
        (Draft, Planned) => refuse(
            "a brief is planned once its plan is accepted",
            format!("`flower brief plan {number} --spec FILE`, then `flower brief accept {number}`"),
        ),
        (Draft, InProgress | InReview | Done) => refuse(
            "it has no accepted plan",
            format!("`flower brief plan {number} --spec FILE`, then `flower brief accept {number}`"),
        ),
        (Planned, InReview | Done) => {
            refuse("no work on it has begun", format!("begin it first: `flower brief status {number} in_progress`"))
        }
        (InProgress, Done) => refuse(
            "its result is not in review",
            format!("`flower brief status {number} in_review`, then `flower brief accept {number}`"),
        ),
        (_, Draft | Planned) => refuse(
            "work has moved past it",
            format!("change the plan instead: `flower brief refine {number} --spec FILE`"),
        ),
        (InProgress, InProgress) | (InReview, InReview) => Ok(Vec::new()),
    }
}

/// `done` is only for work that lands no code.
pub(crate) fn to_done(brief: &Brief, why: Option<String>) -> Result<Vec<Draft>, Refusal> {
    if brief.commits > 0 {
        let commits = if brief.commits == 1 { "a commit".into() } else { format!("{} commits", brief.commits) };
        return Err(Refusal::UnlandedCommits { brief: brief.number, commits });
    }
    moved(brief, Status::Done, why)
}

/// A change of status that follows from work.
pub(crate) fn follow(brief: &Brief, to: Status, why: String) -> Draft {
    Draft::brief(brief.number, StatusChanged { from: brief.status, to, why: Some(why) })
}

fn moved(brief: &Brief, to: Status, why: Option<String>) -> Result<Vec<Draft>, Refusal> {
    Ok(vec![Draft::brief(brief.number, StatusChanged { from: brief.status, to, why })])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::brief::BriefKind;
    use crate::event::{BriefCreated, Event};
    use crate::ids::BriefId;

    fn brief(status: Status) -> Brief {
        let created = Event::from(BriefCreated {
            number: BriefId(1),
            title: "t".into(),
            kind: BriefKind::Feature,
            projects: vec![],
            epic: None,
            depends_on: vec![],
            auto_dispatch: false,
            design_loop: false,
        });
        Brief { status, ..Brief::created(&created, "now").unwrap() }
    }

    /// The complete table of changes by hand. All others are refused, and every refusal has a next step.
    #[test]
    fn moves_by_hand() {
        use Status::*;
        let allowed = [
            (Draft, Parked),
            (Draft, Cancelled),
            (Planned, InProgress),
            (Planned, Parked),
            (Planned, Cancelled),
            (InProgress, InReview),
            (InProgress, Parked),
            (InProgress, Cancelled),
            (InReview, InProgress),
            (InReview, Done),
            (InReview, Parked),
            (InReview, Cancelled),
            (Parked, Cancelled),
            (Parked, Planned), // where it was
        ];
        for &from in Status::ALL {
            for &to in Status::ALL.iter().filter(|&&to| to != from) {
                let mut brief = brief(from);
                brief.parked_from = (from == Parked).then_some(Planned);
                match decide(&brief, to, None) {
                    Ok(drafts) => {
                        assert_eq!(drafts.len(), 1);
                        assert!(allowed.contains(&(from, to)), "{from} → {to} was let through");
                    }
                    Err(refusal) => {
                        assert!(!allowed.contains(&(from, to)), "{from} → {to}: {refusal}");
                        assert!(refusal.hints()[0].contains("flower "), "{from} → {to} names no next step");
                    }
                }
            }
        }
    }

    #[test]
    fn no_hand_makes_landed() {
        for &from in Status::ALL.iter().filter(|&&from| from != Status::Landed) {
            assert!(matches!(decide(&brief(from), Status::Landed, None), Err(Refusal::BadMove { .. })), "{from}");
        }
    }

    #[test]
    fn commits_of_its_own_keep_a_brief_from_done() {
        let brief = Brief { commits: 2, ..brief(Status::InReview) };
        assert_eq!(
            decide(&brief, Status::Done, None).unwrap_err().to_string(),
            "brief 1 has 2 commits of its own that are not proved to be in MAIN; it cannot be `done`"
        );
    }
}
