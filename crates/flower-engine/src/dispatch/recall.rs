//! Gathers the content of a recall, which `flower_core::recall` renders. HTTP, MCP and the command line give the same bytes.

use crate::Dispatcher;
use crate::briefs::{require, unified};
use flower_contract::error::Problem;
use flower_contract::view::RecallView;
use flower_core::recall::{
    self, About, Change, Happening, Held, Linked, MainNow, Neighbour, Origin, Participant, Place, Question, Recall,
    Run, Spec, Written,
};
use flower_core::{Actor, BootTime, Brief, BriefId, Dispatch, DispatchId, Recorded, worktree};
use flower_store::log::{self, Edge, Of};
use flower_store::{Conn, StoreError, briefs, dispatches, landings, worktrees};

/// The newest events of a brief that are read.
const MAX_EVENTS_READ: u64 = 120;
/// Events that can be in the text.
const MAX_TRACE: usize = 60;
/// Changes of the spec that can be in the text, and the longest spec that is compared: a diff of longer ones is slow.
const MAX_CHANGES: usize = 3;
const MAX_DIFFED_BYTES: usize = 128 * 1024;
/// Entries of each list.
const MAX_ITEMS: usize = 50;

impl Dispatcher {
    /// The text of `recall_brief`, within a budget of tokens, for the given dispatch or the newest one.
    pub async fn recall(
        &self,
        brief: BriefId,
        budget: Option<u64>,
        dispatch: Option<DispatchId>,
    ) -> Result<RecallView, Problem> {
        let moment = self.clock.moment();
        let home = self.home.clone();
        let budget = budget.unwrap_or(recall::DEFAULT_TOKENS);
        let recalled = self.store.read(move |conn| {
            let mut input = gather(conn, brief, dispatch, &moment)?;
            if let (Some(place), Some(project)) = (&mut input.place, input.brief.projects.first()) {
                place.path =
                    home.in_project(home.worktrees(), project).join(&place.worktree).to_string_lossy().into_owned();
            }
            Ok(recall::render(&input, budget)?)
        });
        let recalled = recalled.await?;
        Ok(RecallView { brief: brief.0, text: recalled.text, tokens: recalled.tokens, budget })
    }
}

fn gather(
    conn: &mut Conn,
    number: BriefId,
    dispatch: Option<DispatchId>,
    moment: &BootTime,
) -> Result<Recall, StoreError> {
    let brief = require(conn, number)?;
    let known = dispatches::of_brief(conn, number)?;
    let run = match dispatch {
        Some(number) => known.iter().find(|dispatch| dispatch.number == number),
        None => known.iter().rev().find(|dispatch| dispatch.is_open()).or(known.last()),
    };
    let project = run.and_then(|run| run.project.clone()).or_else(|| brief.projects.first().cloned());
    let around = briefs::around(conn, std::slice::from_ref(&brief))?;
    let neighbour = |conn: &mut Conn, number: BriefId| -> Result<Option<Neighbour>, StoreError> {
        Ok(briefs::state(conn, number)?.map(|b| Neighbour { number, title: b.title, status: b.status }))
    };
    let mut needs = Vec::new();
    for needed in brief.depends_on.iter().take(MAX_ITEMS) {
        needs.extend(neighbour(conn, *needed)?);
    }
    let mut dependents = Vec::new();
    for dependent in around.dependents.get(&number).into_iter().flatten().take(MAX_ITEMS) {
        dependents.extend(neighbour(conn, *dependent)?);
    }
    let epic = match brief.epic {
        Some(epic) => briefs::state(conn, epic)?.map(|epic| (epic.number, epic.title)),
        None => None,
    };
    let (spec, changes) = spec(conn, &brief)?;
    Ok(Recall {
        run: run.map(as_run),
        place: place(conn, run, project.as_deref())?,
        main: main(conn, project.as_deref())?,
        spec,
        changes,
        questions: questions(conn, number)?,
        needs,
        dependents,
        participants: people(&brief),
        leases: leases(conn, run, moment)?,
        trace: trace(conn, number)?,
        links: links(&around, number),
        unread: 0,
        brief: About {
            number,
            title: brief.title,
            kind: brief.kind,
            status: brief.status,
            projects: brief.projects,
            epic,
        },
    })
}

fn as_run(dispatch: &Dispatch) -> Run {
    let origin = || Origin { by: Actor::system(), at: dispatch.requested_at.clone() };
    Run {
        dispatch: dispatch.number,
        kind: dispatch.kind,
        state: dispatch.state,
        fence: dispatch.fence,
        holder: dispatch.claim.as_ref().map(|claim| claim.holder.clone()),
        spec_version: dispatch.spec_version,
        evidence: dispatch.evidence.as_ref().map(|text| Written { text: text.clone(), origin: origin() }),
        others: Vec::new(),
    }
}

fn place(conn: &mut Conn, run: Option<&Dispatch>, project: Option<&str>) -> Result<Option<Place>, StoreError> {
    let (Some(name), Some(project)) = (run.and_then(|run| run.worktree.clone()), project) else { return Ok(None) };
    let live = worktrees::named(conn, project, &name)?;
    let sealed = live.is_none_or(|worktree| worktree.seal == worktree::Seal::Sealed);
    Ok(Some(Place { branch: worktree::branch(&name), worktree: name, path: String::new(), sealed }))
}

fn main(conn: &mut Conn, project: Option<&str>) -> Result<Option<MainNow>, StoreError> {
    let Some(main) = project.map(|project| landings::main(conn, project)).transpose()?.flatten() else {
        return Ok(None);
    };
    let (state, reason) = match (&main.alarm, &main.frozen) {
        (Some(alarm), _) => (alarm.what.to_string(), Some(alarm.text.clone())),
        (None, Some(why)) => ("frozen".to_owned(), Some(why.clone())),
        (None, None) => ("stable".to_owned(), None),
    };
    Ok(Some(MainNow { branch: main.branch, tip: main.tip, state, reason }))
}

/// The newest version of the spec, and the last changes of it.
fn spec(conn: &mut Conn, brief: &Brief) -> Result<(Option<Spec>, Vec<Change>), StoreError> {
    let newest = brief.spec_version;
    let versions = briefs::newest_versions(conn, brief.number, MAX_CHANGES as u64)?;
    let Some(markdown) = briefs::markdown(conn, brief.number, newest)? else { return Ok((None, Vec::new())) };
    let origin = |version: &briefs::SpecVersion| Origin {
        by: Actor { sort: version.actor_type, name: version.actor_name.clone() },
        at: version.at.clone(),
    };
    let mut changes = Vec::new();
    let mut newer = markdown.clone();
    for version in versions.iter().filter(|version| version.version > 1) {
        let older = briefs::markdown(conn, brief.number, version.version - 1)?.unwrap_or_default();
        let diff = if older.len().max(newer.len()) <= MAX_DIFFED_BYTES {
            unified(&older, &newer, version.version - 1, version.version)
        } else {
            String::new()
        };
        let (from, to, why) = (version.version - 1, version.version, version.why.clone());
        changes.push(Change { from, to, why, origin: origin(version), diff });
        newer = older;
    }
    let Some(of) = versions.first() else { return Ok((None, Vec::new())) };
    let spec = Spec { version: newest, accepted: brief.accepted_version, markdown, origin: origin(of) };
    Ok((Some(spec), changes))
}

fn questions(conn: &mut Conn, brief: BriefId) -> Result<Vec<Question>, StoreError> {
    let found = flower_store::questions::of_brief(conn, brief, MAX_ITEMS as u64)?;
    found
        .into_iter()
        .map(|q| {
            let by = Actor { sort: q.asked_type.parse()?, name: q.asked_by };
            let asked = Written { text: q.text, origin: Origin { by, at: q.asked_at } };
            let answer = q.answer.map(|(text, name, at)| {
                let by = Actor { sort: flower_core::ActorType::Operator, name };
                Written { text, origin: Origin { by, at } }
            });
            Ok(Question { number: q.question, asked, answer })
        })
        .collect()
}

fn people(brief: &Brief) -> Vec<Participant> {
    let newest = brief.participants.iter().rev().take(MAX_ITEMS);
    newest
        .map(|p| Participant { name: p.name.clone(), sort: p.sort, role: p.role, worktree: p.worktree.clone() })
        .collect()
}

fn leases(conn: &mut Conn, run: Option<&Dispatch>, moment: &BootTime) -> Result<Vec<Held>, StoreError> {
    let Some((project, worktree)) = run.and_then(|run| run.project.as_deref().zip(run.worktree.as_deref())) else {
        return Ok(Vec::new());
    };
    let live = dispatches::leases(conn, Some((project, worktree)))?;
    let held = live.into_iter().filter(|lease| !lease.is_over(moment)).take(MAX_ITEMS).map(|lease| Held {
        minutes_left: moment.left(&lease.beat, lease.seconds).div_ceil(60_000),
        holder: lease.holder,
        worktree: lease.worktree,
        patterns: lease.patterns,
    });
    Ok(held.collect())
}

fn links(around: &briefs::Around, brief: BriefId) -> Vec<Linked> {
    let newest = around.links.get(&brief).into_iter().flatten().rev().take(MAX_ITEMS);
    newest
        .map(|link| {
            let label = (!link.label.is_empty() && link.label != link.target).then(|| link.label.clone());
            Linked { kind: link.kind, target: link.target.clone(), label }
        })
        .collect()
}

fn trace(conn: &mut Conn, brief: BriefId) -> Result<Vec<Happening>, StoreError> {
    let mut newest = log::trace(conn, &Of::Brief(brief), Edge::Before(u64::MAX >> 1), MAX_EVENTS_READ)?;
    newest.sort_by_key(|event| std::cmp::Reverse(event.seq));
    Ok(newest.iter().filter_map(happening).take(MAX_TRACE).collect())
}

/// An event that matters for continuing the work. State such as the spec has its own part of the text.
fn happening(recorded: &Recorded) -> Option<Happening> {
    let described = recorded.description();
    if !described.recalled {
        return None;
    }
    let by = Actor { sort: recorded.actor_type.parse().ok()?, name: recorded.actor_name.clone() };
    let origin = Origin { by, at: recorded.at.clone() };
    let text = described.text.unwrap_or(described.summary);
    Some(Happening { seq: recorded.seq, kind: recorded.kind.clone(), origin, text })
}
