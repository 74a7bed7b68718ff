//! `brief needs`: dependencies. A circle is refused and shown.

use super::{Brief, BriefKind};
use crate::event::{DependencyAdded, DependencyDropped, Draft};
use crate::ids::BriefId;
use crate::refusal::Refusal;
use crate::world::World;

pub(crate) fn add(world: &World, brief: &Brief, needs: BriefId) -> Result<Vec<Draft>, Refusal> {
    world.brief(needs)?;
    if brief.depends_on.contains(&needs) {
        return Ok(Vec::new());
    }
    if let Some(mut path) = world.path(needs, brief.number) {
        path.insert(0, brief.number);
        return Err(Refusal::Cycle { path });
    }
    Ok(vec![Draft::brief(brief.number, DependencyAdded { needs })])
}

pub(crate) fn drop(brief: &Brief, needs: BriefId) -> Vec<Draft> {
    if brief.depends_on.contains(&needs) {
        vec![Draft::brief(brief.number, DependencyDropped { needs })]
    } else {
        Vec::new()
    }
}

pub(crate) fn require_epic(brief: &Brief) -> Result<(), Refusal> {
    if brief.kind == BriefKind::Epic {
        return Ok(());
    }
    Err(Refusal::NotAnEpic { number: brief.number, kind: brief.kind.to_string() })
}
