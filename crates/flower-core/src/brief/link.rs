//! `brief link`.

use super::Brief;
use crate::event::{Draft, LinkAdded};
use crate::ids::{BriefId, ScratchpadId};
use crate::link::{self, LinkKind};
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;

const LABEL_CHARS: usize = 200;

pub(crate) fn decide(
    world: &World,
    brief: &Brief,
    kind: LinkKind,
    target: &str,
    label: Option<&str>,
) -> Result<Vec<Draft>, Refusal> {
    let target = link::target(kind, target)?;
    match kind {
        LinkKind::Brief => drop(world.brief(BriefId(number(&target)))?),
        LinkKind::Scratchpad => drop(world.scratchpad(ScratchpadId(number(&target)))?),
        _ => {}
    }
    if world.links.contains(&(brief.number, kind, target.clone())) {
        return Ok(Vec::new());
    }
    let label = label.map(|label| text::line("label", label, LABEL_CHARS)).transpose()?.unwrap_or_default();
    Ok(vec![Draft::brief(brief.number, LinkAdded { kind, target, label })])
}

/// A link that follows from work, unless the brief has it already.
pub(crate) fn once(world: &World, brief: BriefId, kind: LinkKind, target: &str, label: &str) -> Option<Draft> {
    let known = world.links.contains(&(brief, kind, target.to_owned()));
    let label = if label.is_empty() { target } else { label };
    (!known).then(|| Draft::brief(brief, LinkAdded { kind, target: target.to_owned(), label: label.to_owned() }))
}

fn number(target: &str) -> u64 {
    target.parse().expect("link::target gives a number for these kinds")
}
