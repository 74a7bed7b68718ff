//! Briefs, as agents find and write them.

use super::arguments::{AddNote, CreateBrief, ListBriefs, NoteKind, ProposePlan, RefineSpec, Search};
use super::text;
use crate::Tools;
use crate::agent_text::Page;
use crate::briefs::Filter;
use crate::briefs::images::MOST_BYTES;
use crate::projects::ProjectChoice;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::{NewBrief, NewNote, Plan, Refine};
use flower_contract::view::{BriefView, ToolAnswer};
use flower_core::Caller;
use flower_core::policy::{self, Right};

/// Rows of a list, unless the caller says otherwise.
const ROWS: u64 = 20;
const MOST_ROWS: u64 = 100;

pub(super) async fn list(app: &Tools, caller: &Caller, given: ListBriefs) -> Result<ToolAnswer, Problem> {
    let limit = given.limit.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let project = app.choice_of(caller).await?.name;
    let filter = Filter { status: given.status, ready: given.ready, project, ..Filter::default() };
    // One more than is shown tells whether there are more.
    let briefs = app.briefs.list(filter, 0, Some(limit + 1)).await?;
    if briefs.is_empty() {
        return Ok(text(
            "No brief is like that.\nNext: `list_briefs` without `status` and `ready` shows all.".to_owned(),
        ));
    }
    let mut page = Page::new(None);
    page.line("Briefs; their titles are as their authors wrote them:");
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let shown = briefs.iter().take(most).take_while(|brief| page.quoted_line(&row(brief))).count();
    if shown < briefs.len() {
        page.line("[there are more; narrow it with `status` or `ready`, raise `limit`, or use `search`]");
    }
    Ok(text(page.next("`recall_brief` with a `brief` tells all about it.")))
}

fn row(brief: &BriefView) -> String {
    let mut row = format!("#{} {} {}: {}", brief.number, brief.status, brief.kind, brief.title);
    if brief.dispatchable.ok {
        row.push_str(" (ready)");
    } else if let Some(reason) = brief.dispatchable.reasons.first() {
        row.push_str(&format!(" ({})", reason.code));
    }
    row
}

pub(super) async fn search(app: &Tools, caller: &Caller, given: Search) -> Result<ToolAnswer, Problem> {
    let limit = given.limit.unwrap_or(ROWS).clamp(1, MOST_ROWS);
    let hits = app.briefs.search(caller, given.text, Some(limit)).await?;
    if hits.is_empty() {
        return Ok(text("Nothing matches.\nNext: `search` for fewer or other words.".to_owned()));
    }
    let mut page = Page::new(None);
    page.line("Matches, best first, as their authors wrote them:");
    let rows = hits.iter().map(|hit| {
        let brief = hit.brief.map_or_else(String::new, |brief| format!("#{brief} "));
        let place = match (hit.place.as_str(), hit.reference) {
            ("scratchpad", Some(number)) => format!("scratchpad {number}"),
            (place, _) => place.to_owned(),
        };
        format!("{brief}{} [{place}] {}", hit.title, hit.snippet)
    });
    let shown = rows.take_while(|row| page.quoted_line(row)).count();
    if shown < hits.len() {
        page.line(&format!("[{} more are left out; search for more words]", hits.len() - shown));
    }
    Ok(text(page.next("`recall_brief` with a `brief` tells all about it.")))
}

pub(super) async fn create(app: &Tools, caller: &Caller, given: CreateBrief) -> Result<ToolAnswer, Problem> {
    policy::require_role(caller, Right::OpenIncident)?;
    let project = project_for(app, caller, &given).await?;
    let new = NewBrief {
        title: given.title,
        kind: given.kind,
        spec: given.spec,
        epic: given.epic,
        needs: given.needs,
        ..NewBrief::default()
    };
    let brief = app.briefs.create(caller, project, new).await?;
    let number = brief.number;
    let next = match brief.spec.version {
        0 => format!("`propose_plan` with `brief`: {number} says what to build."),
        _ => "its plan waits for the operator to accept it.".to_owned(),
    };
    Ok(text(format!("Brief {number} is made; it is {}.\nNext: {next}", brief.status)))
}

/// The caller's own project; else that of the epic or of a brief that it needs.
async fn project_for(app: &Tools, caller: &Caller, given: &CreateBrief) -> Result<String, Problem> {
    if let Some(project) = app.access.project_of(caller).await? {
        return Ok(project);
    }
    if let Some(near) = given.epic.or_else(|| given.needs.first().copied())
        && let Some(project) = app.briefs.show(near).await?.projects.into_iter().next()
    {
        return Ok(project.name);
    }
    app.projects.require(&ProjectChoice::default()).await.map_err(|problem| Problem {
        hints: vec![
            "name an `epic` or `needs` of the project that is meant, or ask the operator to make it".to_owned(),
        ],
        ..problem
    })
}

pub(super) async fn propose_plan(app: &Tools, caller: &Caller, given: ProposePlan) -> Result<ToolAnswer, Problem> {
    spec_answer(&app.briefs.propose_plan(caller, given.brief, Plan { markdown: given.markdown }).await?)
}

pub(super) async fn refine_spec(app: &Tools, caller: &Caller, given: RefineSpec) -> Result<ToolAnswer, Problem> {
    let refine = Refine { markdown: given.markdown, base: given.base, why: given.why };
    spec_answer(&app.briefs.refine(caller, given.brief, refine).await?)
}

fn spec_answer(brief: &BriefView) -> Result<ToolAnswer, Problem> {
    let (number, version) = (brief.number, brief.spec.version);
    let next = match brief.spec.accepted_version {
        Some(accepted) if accepted == version => "go on; it is accepted.".to_owned(),
        _ => format!("the operator accepts it; until then `refine_spec` with `base`: {version} changes it."),
    };
    Ok(text(format!(
        "The spec of brief {number} is at version {version}; the brief is {}.\nNext: {next}",
        brief.status
    )))
}

pub(super) async fn add_note(app: &Tools, caller: &Caller, given: AddNote) -> Result<ToolAnswer, Problem> {
    let brief = given.brief;
    if given.kind == NoteKind::Question {
        if given.image.is_some() {
            return Err(Problem::usage("a question takes no image", "add a note with the image, then ask"));
        }
        let (_, number) = app.briefs.ask(caller, brief, given.text).await?;
        return Ok(text(format!(
            "Question {number} of brief {brief} is asked.\n\
             Next: go on with what does not depend on it; `check_inbox` later, the answer comes there."
        )));
    }
    policy::require_contribution(caller, Some(brief))?;
    // No picture is stored for a brief that does not exist.
    app.briefs.show(brief).await?;
    let images = match given.image {
        Some(image) => vec![app.briefs.put_image(decode(&image)?).await?.sha256],
        None => Vec::new(),
    };
    let pictures = if images.is_empty() { "" } else { " with its image" };
    let note = NewNote { text: given.text, comment: given.kind == NoteKind::Comment, images };
    app.briefs.add_note(caller, brief, note).await?;
    Ok(text(format!("It stands in the trace of brief {brief}{pictures}.\nNext: go on with your work.")))
}

/// The bytes of a picture that came as text.
fn decode(image: &str) -> Result<Vec<u8>, Problem> {
    let hint = "send the bytes of a PNG, JPEG, WebP or GIF as base64; nothing was stored";
    // `data:image/png;base64,…` is what browsers make of a picture.
    let base64 = if image.starts_with("data:") { image.split_once(',').map_or("", |(_, rest)| rest) } else { image };
    if base64.len() / 4 * 3 > MOST_BYTES + 3 {
        return Err(Problem::new(ProblemKind::TooLarge, format!("`image` has more than {MOST_BYTES} bytes"), hint));
    }
    let base64: String = base64.split_whitespace().collect();
    STANDARD.decode(base64).map_err(|error| Problem::usage(format!("`image` is not base64: {error}"), hint))
}
