//! `brief plan` and `brief refine`: they create the versions of the spec.

use super::{Brief, Status};
use crate::event::{Draft, PlanProposed, Refinement};
use crate::refusal::Refusal;
use crate::text;

const WHY_CHARS: usize = 500;

pub(crate) fn propose(brief: &Brief, markdown: &str) -> Result<Vec<Draft>, Refusal> {
    if brief.status != Status::Draft {
        return Err(Refusal::PlanTooLate { brief: brief.number, status: brief.status });
    }
    let markdown = text::markdown("spec", markdown, text::SPEC_BYTES)?;
    let base = brief.spec_version;
    Ok(vec![Draft::brief(brief.number, PlanProposed { version: base + 1, base, markdown })])
}

/// Adds a version of the spec. With a base version, the refinement is refused unless that version is the newest.
pub(crate) fn refine(
    brief: &Brief,
    markdown: &str,
    base: Option<u64>,
    why: Option<&str>,
) -> Result<Vec<Draft>, Refusal> {
    if brief.status.is_closed() {
        return Err(Refusal::SpecClosed { brief: brief.number, status: brief.status });
    }
    let current = brief.spec_version;
    if let Some(given) = base.filter(|&given| given != current) {
        return Err(Refusal::StaleBase { brief: brief.number, current, given });
    }
    let markdown = text::markdown("spec", markdown, text::SPEC_BYTES)?;
    let why = why.map(|why| text::line("reason", why, WHY_CHARS)).transpose()?;
    Ok(vec![Draft::brief(brief.number, Refinement { version: current + 1, base: current, why, markdown })])
}
