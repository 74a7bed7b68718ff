//! Scratchpads: numbered working documents, linked to their brief as its execution.

use crate::aggregate::{Aggregate, Context, subject};
use crate::event::{Draft, LinkAdded, ScratchpadCreated, ScratchpadEvent, ScratchpadWritten, Stream};
use crate::ids::{BriefId, ScratchpadId};
use crate::link::LinkKind;
use crate::refusal::Refusal;
use crate::text;
use crate::world::World;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scratchpad {
    pub number: ScratchpadId,
    pub brief: Option<BriefId>,
    pub version: u64,
    pub bytes: u64,
}

impl Aggregate for Scratchpad {
    subject!(Scratchpad "scratchpad", ScratchpadEvent, ScratchpadId);

    fn create(change: ScratchpadEvent<'_>, _: &Context<'_>) -> Option<Scratchpad> {
        let ScratchpadEvent::ScratchpadCreated(new) = change else { return None };
        Some(Scratchpad { number: new.number, brief: new.brief, version: 0, bytes: 0 })
    }

    fn evolve(&mut self, change: ScratchpadEvent<'_>, _: &Context<'_>) {
        match change {
            ScratchpadEvent::ScratchpadCreated(_) => {}
            ScratchpadEvent::ScratchpadWritten(written) => {
                self.version = written.version;
                let kept = if written.append { self.bytes } else { 0 };
                self.bytes = kept + written.text.len() as u64;
            }
        }
    }
}

pub(crate) fn create(
    world: &World,
    title: &str,
    brief: Option<BriefId>,
    text: Option<&str>,
) -> Result<Vec<Draft>, Refusal> {
    let title = text::title(title)?;
    let number = world.last_scratchpad.next();
    let stream = Stream::Scratchpad(number);
    let mut drafts =
        vec![Draft { stream: stream.clone(), brief, event: ScratchpadCreated { number, title, brief }.into() }];
    if let Some(text) = text {
        let text = text::markdown("scratchpad", text, text::SPEC_BYTES)?;
        let written = ScratchpadWritten { number, version: 1, append: false, text };
        drafts.push(Draft { stream, brief, event: written.into() });
    }
    if let Some(brief) = brief {
        let brief = world.brief(brief)?.number;
        let (kind, target) = (LinkKind::Execution, target(number));
        // The link may exist already: links by hand can be made before the scratchpad exists.
        if !world.links.contains(&(brief, kind, target.clone())) {
            drafts.push(Draft::brief(brief, LinkAdded { kind, target, label: format!("Scratchpad #{number}") }));
        }
    }
    Ok(drafts)
}

/// The spelling of a link to a scratchpad.
pub fn target(number: ScratchpadId) -> String {
    format!("scratchpad/{number}")
}

pub(crate) fn write(pad: &Scratchpad, text: &str, append: bool, base: Option<u64>) -> Result<Vec<Draft>, Refusal> {
    if let Some(given) = base.filter(|&given| given != pad.version) {
        return Err(Refusal::StaleScratchpad { number: pad.number, current: pad.version, given });
    }
    let text = text::markdown("scratchpad", text, text::SPEC_BYTES)?;
    let size = text.len() + if append { pad.bytes as usize } else { 0 };
    if size > text::SPEC_BYTES {
        return Err(Refusal::TooLong { what: "scratchpad", size, most: text::SPEC_BYTES, unit: "bytes" });
    }
    let written = ScratchpadWritten { number: pad.number, version: pad.version + 1, append, text };
    Ok(vec![Draft { stream: Stream::Scratchpad(pad.number), brief: pad.brief, event: written.into() }])
}
