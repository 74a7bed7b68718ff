//! `brief accept`: the plan becomes the accepted spec, or the result in review is done.

use super::status::to_done;
use super::{Brief, Status};
use crate::event::{Draft, SpecSnapshot, StatusChanged};
use crate::refusal::Refusal;

pub(crate) fn decide(brief: &Brief, version: Option<u64>) -> Result<Vec<Draft>, Refusal> {
    let current = brief.spec_version;
    if let Some(given) = version.filter(|&given| given != current) {
        return Err(Refusal::StaleBase { brief: brief.number, current, given });
    }
    let snapshot = Draft::brief(brief.number, SpecSnapshot { version: current });
    match brief.status {
        Status::Draft if current == 0 => Err(Refusal::NoPlan { brief: brief.number }),
        Status::Draft => {
            let planned = StatusChanged { from: Status::Draft, to: Status::Planned, why: None };
            Ok(vec![snapshot, Draft::brief(brief.number, planned)])
        }
        // A refinement of an accepted plan waits for acceptance like a plan, without a change of status.
        Status::Planned | Status::InProgress if brief.accepted_version < Some(current) => Ok(vec![snapshot]),
        Status::InReview => to_done(brief, None),
        _ => Err(Refusal::NothingToAccept { brief: brief.number, status: brief.status }),
    }
}
