//! `/api/briefs`.

use super::answer::Answer;
use super::extract::{Body, Path, Query, Who};
use axum::Json;
use axum::extract::State;
use flower_contract::error::{Problem, ProblemEnvelope};
use flower_contract::request::{Accept, EditBrief, Needs, NewBrief, NewLink, NewNote, Plan, Refine, SetStatus, Text};
use flower_contract::schema;
use flower_contract::view::{BriefRow, BriefView, DiffView, EventView, SpecVersionView, SpecView};
use flower_core::command::BriefChanges;
use flower_core::{BriefKind, Caller, Command, Recorded, Status};
use flower_engine::App;
use flower_engine::briefs::{Filter, Which};
use flower_engine::projects::ProjectChoice;
use flower_engine::trace::{Of, Window};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    #[param(value_type = Option<schema::Status>)]
    status: Option<Status>,
    #[param(value_type = Option<schema::BriefKind>)]
    kind: Option<BriefKind>,
    epic: Option<u64>,
    /// Only what can be built now.
    #[serde(default)]
    ready: bool,
    project: Option<String>,
    /// A directory; the project whose repository is around it, if any.
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    /// The number of the last brief of the page before.
    #[serde(default)]
    after: u64,
    /// At most 500. A page can be shorter when specs are long; only an empty one is the end.
    limit: Option<u64>,
}

/// Of briefs that a worker is not on it gets titles and states, without spec, links and participants.
#[utoipa::path(get, path = "/api/briefs", tag = "briefs", params(ListQuery),
    responses((status = 200, body = Vec<BriefView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<BriefView>> {
    let choice = app.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    let project = app.find_project(&choice).await?;
    let filter = Filter { status: q.status, kind: q.kind, epic: q.epic, ready: q.ready, project };
    Ok(Json(app.list_briefs_for(&caller, filter, q.after, q.limit).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RowsQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    /// The number of the last brief of the page before.
    #[serde(default)]
    after: u64,
    /// At most 5,000; an empty page is the end.
    limit: Option<u64>,
    /// Only these, separated by commas.
    numbers: Option<String>,
}

/// Briefs as lines of a long list, without their specs.
#[utoipa::path(get, path = "/api/brief-rows", tag = "briefs", params(RowsQuery),
    responses((status = 200, body = Vec<BriefRow>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn rows(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<RowsQuery>,
) -> Answer<Vec<BriefRow>> {
    let choice = app.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    let project = app.find_project(&choice).await?;
    let which = match q.numbers {
        Some(numbers) => {
            let wrong = |_| Problem::usage("`numbers` are numbers of briefs", "for instance `numbers=1,2,3`");
            Which::These(numbers.split(',').map(str::parse).collect::<Result<_, _>>().map_err(wrong)?)
        }
        None => Which::After(q.after, q.limit.unwrap_or(u64::MAX)),
    };
    Ok(Json(app.brief_rows(which, project).await?))
}

#[utoipa::path(post, path = "/api/briefs", tag = "briefs", request_body = NewBrief,
    responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<NewBrief>,
) -> Answer<BriefView> {
    let project = app.project_for_new(&caller, &ProjectChoice { name: b.project, dir: b.dir }).await?;
    let command = Command::CreateBrief {
        title: b.title,
        kind: b.kind.unwrap_or(BriefKind::Feature),
        spec: b.spec,
        projects: vec![project],
        epic: b.epic,
        needs: b.needs,
        auto_dispatch: b.auto_dispatch,
        design_loop: b.design_loop,
    };
    let events = app.submit(&caller, command).await?;
    let number =
        events.first().and_then(|event| event.brief).ok_or_else(|| Problem::bug("a brief without a number"))?;
    Ok(Json(app.show_brief(number).await?))
}

#[utoipa::path(get, path = "/api/briefs/{number}", tag = "briefs", params(("number" = u64, Path)),
    responses((status = 200, body = BriefView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show(State(app): State<Arc<App>>, Path(number): Path<u64>) -> Answer<BriefView> {
    Ok(Json(app.show_brief(number).await?))
}

#[utoipa::path(patch, path = "/api/briefs/{number}", tag = "briefs", params(("number" = u64, Path)),
    request_body = EditBrief, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn edit(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<EditBrief>,
) -> Answer<BriefView> {
    let changes = BriefChanges {
        title: b.title,
        kind: b.kind,
        epic: b.epic.map(|epic| (epic != 0).then_some(epic)),
        auto_dispatch: b.auto_dispatch,
        design_loop: b.design_loop,
        add_projects: b.add_projects,
        drop_projects: b.drop_projects,
    };
    change(&app, &caller, number, Command::EditBrief { brief: number, changes }).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/plan", tag = "briefs", params(("number" = u64, Path)),
    request_body = Plan, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn plan(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Plan>,
) -> Answer<BriefView> {
    change(&app, &caller, number, Command::ProposePlan { brief: number, markdown: b.markdown }).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/accept", tag = "briefs", params(("number" = u64, Path)),
    request_body = Accept, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn accept(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Accept>,
) -> Answer<BriefView> {
    change(&app, &caller, number, Command::Accept { brief: number, version: b.version }).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/refine", tag = "briefs", params(("number" = u64, Path)),
    request_body = Refine, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn refine(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Refine>,
) -> Answer<BriefView> {
    let command = Command::Refine { brief: number, markdown: b.markdown, base: b.base, why: b.why };
    change(&app, &caller, number, command).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/status", tag = "briefs", params(("number" = u64, Path)),
    request_body = SetStatus, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn set_status(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<SetStatus>,
) -> Answer<BriefView> {
    let command = Command::SetStatus { brief: number, status: b.status.parse()?, why: b.why };
    change(&app, &caller, number, command).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/needs", tag = "briefs", params(("number" = u64, Path)),
    request_body = Needs, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn needs(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Needs>,
) -> Answer<BriefView> {
    let command = match b.drop {
        true => Command::DropNeed { brief: number, needs: b.needs },
        false => Command::AddNeed { brief: number, needs: b.needs },
    };
    change(&app, &caller, number, command).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/links", tag = "briefs", params(("number" = u64, Path)),
    request_body = NewLink, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn link(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<NewLink>,
) -> Answer<BriefView> {
    let command = Command::AddLink { brief: number, kind: b.kind.parse()?, target: b.target, label: b.label };
    change(&app, &caller, number, command).await
}

#[utoipa::path(post, path = "/api/briefs/{number}/notes", tag = "briefs", params(("number" = u64, Path)),
    request_body = NewNote, responses((status = 200, body = EventView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn note(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<NewNote>,
) -> Answer<EventView> {
    let images = app.images(&b.images).await?;
    let command = Command::AddNote { brief: number, text: b.text, comment: b.comment, images };
    event(&app.submit(&caller, command).await?)
}

#[utoipa::path(post, path = "/api/briefs/{number}/questions", tag = "briefs", params(("number" = u64, Path)),
    request_body = Text, responses((status = 200, body = EventView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn ask(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Text>,
) -> Answer<EventView> {
    event(&app.submit(&caller, Command::Ask { brief: number, text: b.text }).await?)
}

#[utoipa::path(post, path = "/api/briefs/{number}/questions/{question}/answer", tag = "briefs",
    params(("number" = u64, Path), ("question" = u64, Path)), request_body = Text,
    responses((status = 200, body = EventView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path((number, question)): Path<(u64, u64)>,
    Body(b): Body<Text>,
) -> Answer<EventView> {
    event(&app.submit(&caller, Command::Answer { brief: number, question, text: b.text }).await?)
}

#[utoipa::path(get, path = "/api/briefs/{number}/versions", tag = "briefs", params(("number" = u64, Path)),
    responses((status = 200, body = Vec<SpecVersionView>), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn versions(State(app): State<Arc<App>>, Path(number): Path<u64>) -> Answer<Vec<SpecVersionView>> {
    Ok(Json(app.spec_versions(number).await?))
}

#[utoipa::path(get, path = "/api/briefs/{number}/versions/{version}", tag = "briefs",
    params(("number" = u64, Path), ("version" = u64, Path)),
    responses((status = 200, body = SpecView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn version(
    State(app): State<Arc<App>>,
    Path((number, version)): Path<(u64, u64)>,
) -> Answer<SpecView> {
    Ok(Json(app.spec_at(number, version).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct DiffQuery {
    from: Option<u64>,
    to: Option<u64>,
}

#[utoipa::path(get, path = "/api/briefs/{number}/diff", tag = "briefs", params(("number" = u64, Path), DiffQuery),
    responses((status = 200, body = DiffView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn diff(
    State(app): State<Arc<App>>,
    Path(number): Path<u64>,
    Query(q): Query<DiffQuery>,
) -> Answer<DiffView> {
    Ok(Json(app.diff_spec(number, q.from, q.to).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TraceQuery {
    /// Events after this one, oldest first.
    pub(super) after: Option<u64>,
    /// The newest events before this one.
    pub(super) before: Option<u64>,
    pub(super) limit: Option<u64>,
}

#[utoipa::path(get, path = "/api/briefs/{number}/trace", operation_id = "trace_brief", tag = "briefs",
    params(("number" = u64, Path), TraceQuery),
    responses((status = 200, body = Vec<EventView>), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn trace(
    State(app): State<Arc<App>>,
    Path(number): Path<u64>,
    Query(q): Query<TraceQuery>,
) -> Answer<Vec<EventView>> {
    let window = Window { of: Of::Brief(number), after: q.after, before: q.before, limit: q.limit };
    Ok(Json(app.trace(window).await?))
}

/// Submits a command that changes a brief, and shows the brief as it is afterwards.
async fn change(app: &App, caller: &Caller, number: u64, command: Command) -> Answer<BriefView> {
    app.submit(caller, command).await?;
    Ok(Json(app.show_brief(number).await?))
}

/// The event that a command was about; joining as a participant comes before it.
fn event(events: &[Recorded]) -> Answer<EventView> {
    let event = events.last().ok_or_else(|| Problem::bug("a command without an event"))?;
    Ok(Json(EventView::told(event)))
}
