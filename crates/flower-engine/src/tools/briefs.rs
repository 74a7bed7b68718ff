//! The tools with which agents find and write briefs.

use super::arguments::{AddNote, CreateBrief, ListBriefs, NoteKind, ProposePlan, RefineSpec, Search};
use super::text;
use crate::Tools;
use crate::agent_text::AgentText;
use crate::briefs::Filter;
use crate::briefs::images::MAX_BYTES;
use crate::projects::ProjectChoice;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::request::{NewBrief, NewNote, Plan, Refine};
use flower_contract::view::{BriefView, SearchPlace, ToolAnswer};
use flower_core::policy;
use flower_core::{BriefId, Caller, Role};

/// Rows of a list without a limit.
const DEFAULT_ROWS: u64 = 20;
const MAX_ROWS: u64 = 100;

pub(super) async fn list(tools: &Tools, caller: &Caller, arguments: ListBriefs) -> Result<ToolAnswer, Problem> {
    let limit = arguments.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let project = tools.project_choice(caller).await?.name;
    let filter = Filter { status: arguments.status, ready: arguments.ready, project, ..Filter::default() };
    // One more than is shown, to know whether there are more.
    let briefs = tools.briefs.list(filter, 0, Some(limit + 1)).await?;
    if briefs.is_empty() {
        return Ok(text(
            "No brief is like that.\nNext: `list_briefs` without `status` and `ready` shows all.".to_owned(),
        ));
    }
    let mut answer = AgentText::new(None);
    answer.line("Briefs; their titles are as their authors wrote them:");
    let max = usize::try_from(limit).unwrap_or(usize::MAX);
    let shown = briefs.iter().take(max).take_while(|brief| answer.quoted_line(&row(brief))).count();
    if shown < briefs.len() {
        answer.line("[there are more; narrow it with `status` or `ready`, raise `limit`, or use `search`]");
    }
    Ok(text(answer.with_next_step("`recall_brief` with a `brief` tells all about it.")))
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

pub(super) async fn search(tools: &Tools, caller: &Caller, arguments: Search) -> Result<ToolAnswer, Problem> {
    let limit = arguments.limit.unwrap_or(DEFAULT_ROWS).clamp(1, MAX_ROWS);
    let hits = tools.briefs.search(caller, arguments.text, Some(limit)).await?;
    if hits.is_empty() {
        return Ok(text("Nothing matches.\nNext: `search` for fewer or other words.".to_owned()));
    }
    let mut answer = AgentText::new(None);
    answer.line("Matches, best first, as their authors wrote them:");
    let rows = hits.iter().map(|hit| {
        let brief = hit.brief.map_or_else(String::new, |brief| format!("#{brief} "));
        let place = match (hit.place, hit.reference) {
            (SearchPlace::Scratchpad, Some(number)) => format!("scratchpad {number}"),
            (place, _) => place.to_string(),
        };
        format!("{brief}{} [{place}] {}", hit.title, hit.snippet)
    });
    let shown = rows.take_while(|row| answer.quoted_line(row)).count();
    if shown < hits.len() {
        answer.line(&format!("[{} more are left out; search for more words]", hits.len() - shown));
    }
    Ok(text(answer.with_next_step("`recall_brief` with a `brief` tells all about it.")))
}

pub(super) async fn create(tools: &Tools, caller: &Caller, arguments: CreateBrief) -> Result<ToolAnswer, Problem> {
    policy::require_proposal(caller, arguments.spec.is_some())?;
    let project = project_for(tools, caller, &arguments).await?;
    let new = NewBrief {
        title: arguments.title,
        kind: arguments.kind,
        spec: arguments.spec,
        epic: arguments.epic,
        needs: arguments.needs,
        ..NewBrief::default()
    };
    let brief = tools.briefs.create(caller, project, new).await?;
    let number = brief.number;
    let next = match brief.spec.version {
        _ if caller.role == Role::Worker => "go on with your own work; the operator decides about this one.".to_owned(),
        0 => format!("`propose_plan` with `brief`: {number} says what to build."),
        _ => "its plan waits for the operator to accept it.".to_owned(),
    };
    Ok(text(format!("Brief {number} is made; it is {}.\nNext: {next}", brief.status)))
}

/// The caller's own project, else the project of the new brief's epic or of a brief that it needs.
async fn project_for(tools: &Tools, caller: &Caller, arguments: &CreateBrief) -> Result<String, Problem> {
    if let Some(project) = tools.access.project_of(caller).await? {
        return Ok(project);
    }
    if let Some(near) = arguments.epic.or_else(|| arguments.needs.first().copied())
        && let Some(project) = tools.briefs.show(BriefId(near)).await?.projects.into_iter().next()
    {
        return Ok(project.name);
    }
    tools.projects.require(&ProjectChoice::default()).await.map_err(|problem| Problem {
        hints: vec![
            "name an `epic` or `needs` of the project that is meant, or ask the operator to make it".to_owned(),
        ],
        ..problem
    })
}

pub(super) async fn propose_plan(
    tools: &Tools,
    caller: &Caller,
    arguments: ProposePlan,
) -> Result<ToolAnswer, Problem> {
    spec_answer(
        &tools.briefs.propose_plan(caller, BriefId(arguments.brief), Plan { markdown: arguments.markdown }).await?,
    )
}

pub(super) async fn refine_spec(tools: &Tools, caller: &Caller, arguments: RefineSpec) -> Result<ToolAnswer, Problem> {
    let refine = Refine { markdown: arguments.markdown, base: arguments.base, why: arguments.why };
    spec_answer(&tools.briefs.refine(caller, BriefId(arguments.brief), refine).await?)
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

pub(super) async fn add_note(tools: &Tools, caller: &Caller, arguments: AddNote) -> Result<ToolAnswer, Problem> {
    let brief = BriefId(arguments.brief);
    let help = arguments.kind == NoteKind::Help;
    if help || arguments.kind == NoteKind::Question {
        if arguments.image.is_some() {
            return Err(Problem::usage("a question takes no image", "add a note with the image, then ask"));
        }
        let (_, number) = tools.briefs.ask(caller, brief, arguments.text, help).await?;
        let next = match help {
            true => "commit what you have and end your turn; `check_inbox` has the answer.",
            false => "go on with what does not depend on it; `check_inbox` later, the answer comes there.",
        };
        return Ok(text(format!("Question {number} of brief {brief} is asked.\nNext: {next}")));
    }
    policy::require_contribution(caller, Some(brief))?;
    // Fails before an image is stored for a brief that does not exist.
    tools.briefs.show(brief).await?;
    let images = match arguments.image {
        Some(image) => vec![tools.briefs.put_image(decode_image(&image)?).await?.sha256],
        None => Vec::new(),
    };
    let pictures = if images.is_empty() { "" } else { " with its image" };
    let comment = arguments.kind == NoteKind::Comment;
    tools.briefs.add_note(caller, brief, NewNote { text: arguments.text, comment, images }).await?;
    Ok(text(format!("Added to the trace of brief {brief}{pictures}.\nNext: go on with your work.")))
}

/// Decodes an image from base64 or a data URL.
fn decode_image(image: &str) -> Result<Vec<u8>, Problem> {
    let hint = "send the bytes of a PNG, JPEG, WebP or GIF as base64; nothing was stored";
    // A data URL: `data:image/png;base64,…`.
    let base64 = if image.starts_with("data:") { image.split_once(',').map_or("", |(_, rest)| rest) } else { image };
    if base64.len() / 4 * 3 > MAX_BYTES + 3 {
        return Err(Problem::new(ProblemKind::TooLarge, format!("`image` has more than {MAX_BYTES} bytes"), hint));
    }
    let base64: String = base64.split_whitespace().collect();
    STANDARD.decode(base64).map_err(|error| Problem::usage(format!("`image` is not base64: {error}"), hint))
}
