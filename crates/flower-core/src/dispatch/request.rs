//! Requesting work on a brief.

use super::Dispatch;
use crate::brief::Brief;
use crate::event::{DispatchRequested, Draft, Stream};
use crate::ids::{BriefId, LandingId};
use crate::readiness::{DispatchKind, ReasonCode, readiness};
use crate::refusal::Refusal;
use crate::world::World;
use crate::{Status, text, worktree};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub brief: BriefId,
    /// Absent: the default kind for the brief, see `natural_dispatch`.
    pub kind: Option<DispatchKind>,
    pub profile: Option<String>,
    pub worktree: Option<String>,
    /// How many agents share the worktree; 0 is one.
    pub agents: u64,
    /// The landing that a `fix` repairs, and the reason for it.
    pub of: Option<LandingId>,
    pub evidence: Option<String>,
}

const MAX_AGENTS: u64 = 16;
const EVIDENCE_BYTES: usize = 16 * 1024;
const NAME_CHARS: usize = 28;

pub(crate) fn request(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
    let brief = world.brief(request.brief)?;
    let kind = request.kind.unwrap_or_else(|| brief.natural_dispatch());
    if request.agents > MAX_AGENTS {
        let (count, most) = (usize::try_from(request.agents).unwrap_or(usize::MAX), 16);
        return Err(Refusal::TooMany { what: "agents", count, most });
    }
    require_ready(world, brief, kind)?;
    let mends =
        |dispatch: &&Dispatch| dispatch.brief == brief.number && request.of.is_some() && dispatch.of == request.of;
    if let Some(same) = world.dispatches.values().find(mends) {
        let reasons = vec![format!("dispatch {} is about the same landing", same.number)];
        return Err(Refusal::NotDispatchable { brief: brief.number, kind, reasons, taken: true });
    }
    Ok(vec![new(world, brief, kind, request, false)?])
}

/// The dispatch that flower requests automatically, if the brief wants one and is ready.
pub(crate) fn auto(world: &World, brief: BriefId) -> Result<Vec<Draft>, Refusal> {
    let brief = world.brief(brief)?;
    let Some(kind) = brief.wants() else { return Ok(Vec::new()) };
    if require_ready(world, brief, kind).is_err() {
        return Ok(Vec::new());
    }
    let request = Request { brief: brief.number, ..Request::default() };
    Ok(vec![new(world, brief, kind, &request, true)?])
}

fn require_ready(world: &World, brief: &Brief, kind: DispatchKind) -> Result<(), Refusal> {
    let needs: Vec<(BriefId, Status)> =
        brief.depends_on.iter().filter_map(|n| Some((*n, world.briefs.get(n)?.status))).collect();
    let of_brief = world.dispatches.values().filter(|dispatch| dispatch.brief == brief.number);
    let open: Vec<&Dispatch> = of_brief.filter(|dispatch| dispatch.is_open()).collect();
    let ready = readiness(brief, kind, &needs, &open);
    if ready.ok {
        return Ok(());
    }
    let taken = ready.reasons.iter().all(|reason| reason.code == ReasonCode::Dispatched);
    let reasons = ready.reasons.into_iter().map(|reason| reason.message).collect();
    Err(Refusal::NotDispatchable { brief: brief.number, kind, reasons, taken })
}

fn new(world: &World, brief: &Brief, kind: DispatchKind, request: &Request, auto: bool) -> Result<Draft, Refusal> {
    let of = request.of.map(|of| world.landing(of)).transpose()?;
    let project = of.map(|landing| landing.project.clone()).or_else(|| brief.projects.first().cloned());
    let before = world.dispatches.values().rev().find(|dispatch| dispatch.brief == brief.number);
    let given = request.worktree.as_deref().map(worktree::name).transpose()?;
    // A fix continues in the worktree of the landing that it repairs, and a build in the worktree of its design.
    let name = given
        .or_else(|| of.and_then(|landing| landing.worktree.clone()))
        .or_else(|| before.filter(|before| before.project == project).and_then(|before| before.worktree.clone()))
        .unwrap_or_else(|| place(brief));
    let evidence = request.evidence.as_deref().map(|text| cut_bytes(text, EVIDENCE_BYTES));
    let requested = DispatchRequested {
        number: world.last_dispatch.next(),
        brief: brief.number,
        kind,
        spec_version: brief.spec_version,
        worktree: project.as_ref().map(|_| name),
        project,
        profile: request.profile.as_deref().map(|name| text::name("agent profile", name)).transpose()?,
        agents: request.agents.max(1),
        auto,
        of: request.of,
        evidence,
    };
    Ok(Draft { stream: Stream::Dispatch(requested.number), brief: Some(brief.number), event: requested.into() })
}

/// The name of a worktree for a brief: its number, and the ASCII letters and digits of its title.
fn place(brief: &Brief) -> String {
    let mut name = format!("b{}", brief.number);
    let words = brief.title.to_lowercase();
    for word in words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if name.len() + 1 + word.len() > NAME_CHARS {
            break;
        }
        name.push('-');
        name.push_str(word);
    }
    name
}

/// Keeps the end of the text, because the end of a log is the most useful part.
fn cut_bytes(text: &str, most: usize) -> String {
    let from = text.len().saturating_sub(most);
    let from = (from..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    text[from..].to_owned()
}
