//! Handing back: the end of a run. A hand-back with the newest fence counts, even after its lease ran out. One with an
//! older fence is stored but has no effect.

use super::{Dispatch, HandBack, draft, release_all, stale};
use crate::actor::Caller;
use crate::brief::status::follow;
use crate::event::{DispatchFailed, DispatchHandedBack, DispatchLate, Draft};
use crate::ids::Fence;
use crate::readiness::DispatchKind;
use crate::refusal::Refusal;
use crate::world::World;
use crate::{Status, text};

pub(super) fn decide(
    world: &World,
    dispatch: &Dispatch,
    caller: &Caller,
    back: &HandBack,
) -> Result<Vec<Draft>, Refusal> {
    let number = dispatch.number;
    let summary = text::markdown("summary", &back.summary, text::NOTE_BYTES)?;
    let not_done = back.not_done.as_deref().filter(|text| !text.trim().is_empty());
    let not_done =
        not_done.map(|text| text::markdown("list of what was not done", text, text::NOTE_BYTES)).transpose()?;
    if back.fence == Fence::default() || back.fence > dispatch.fence {
        return Err(stale(dispatch, back.fence));
    }
    // A newer claim exists. The result is stored, and its sender is told that it has no effect.
    if back.fence < dispatch.fence {
        let by = dispatch.runs.iter().find(|run| run.fence == back.fence);
        let holder = by.map_or_else(|| caller.actor.name.clone(), |run| run.holder.clone());
        return Ok(vec![draft(dispatch, DispatchLate { number, fence: back.fence, holder, summary })]);
    }
    if !dispatch.is_open() {
        return Err(Refusal::DispatchState { number, state: dispatch.state, wanted: "claimed" });
    }
    let brief = world.brief(dispatch.brief)?;
    let holder = dispatch.runs.last().map_or_else(|| caller.actor.name.clone(), |run| run.holder.clone());
    let mut drafts = Vec::new();
    if back.failed {
        drafts.push(draft(
            dispatch,
            DispatchFailed { number, fence: back.fence, holder: holder.clone(), summary, not_done },
        ));
    } else {
        if dispatch.kind == DispatchKind::Design && brief.spec_version <= dispatch.spec_version {
            return Err(Refusal::NoDesign { number, brief: brief.number });
        }
        let handed = DispatchHandedBack {
            number,
            fence: back.fence,
            holder: holder.clone(),
            summary,
            not_done,
            tip: back.tip.clone(),
            commits: back.commits.iter().take(super::MAX_COMMITS).cloned().collect(),
        };
        drafts.push(draft(dispatch, handed));
        let others = |other: &&Dispatch| other.brief == brief.number && other.number != number && other.claim.is_some();
        let alone = !world.dispatches.values().any(|other| others(&other));
        if brief.status == Status::InProgress && dispatch.kind != DispatchKind::Design && alone {
            drafts.push(follow(brief, Status::InReview, format!("{holder} handed dispatch {number} back")));
        }
    }
    drafts.extend(release_all(world, dispatch, &holder, "the work was handed back"));
    Ok(drafts)
}
