//! `/api/briefs`.

use super::answer::Answer;
use super::extract::{Body, ChosenProject, Path, ProjectQuery, Query, Who};
use axum::Json;
use axum::extract::State;
use flower_contract::error::{Problem, ProblemEnvelope};
use flower_contract::request::{
    Accept, EditBrief, Needs, NewBrief, NewLink, NewNote, NewQuestion, Plan, Refine, SetStatus, Text,
};
use flower_contract::schema;
use flower_contract::view::{BriefRow, BriefView, DiffView, EventView, SpecVersionView, SpecView};
use flower_core::{BriefId, BriefKind, Status};
use flower_engine::App;
use flower_engine::briefs::{Filter, Which};
use flower_engine::log::trace::{Of, Window};
use flower_engine::projects::ProjectChoice;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct BriefsQuery {
    #[param(value_type = Option<schema::Status>)]
    status: Option<Status>,
    #[param(value_type = Option<schema::BriefKind>)]
    kind: Option<BriefKind>,
    epic: Option<u64>,
    /// Only briefs that can be built now.
    #[serde(default)]
    ready: bool,
    /// The number of the last brief of the previous page.
    #[serde(default)]
    after: u64,
    /// At most 500. A page can be shorter when specs are long; only an empty page is the end.
    limit: Option<u64>,
}

/// Briefs. A worker gets other briefs than its own without spec, links and participants.
#[utoipa::path(get, path = "/api/briefs", tag = "briefs", params(ProjectQuery, BriefsQuery),
    responses((status = 200, body = Vec<BriefView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<BriefsQuery>,
) -> Answer<Vec<BriefView>> {
    let project = app.projects.find(&choice).await?;
    let filter = Filter { status: q.status, kind: q.kind, epic: q.epic.map(BriefId), ready: q.ready, project };
    Ok(Json(app.briefs.list_for(&caller, filter, q.after, q.limit).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RowsQuery {
    /// The number of the last brief of the previous page.
    #[serde(default)]
    after: u64,
    /// At most 5,000; an empty page is the end.
    limit: Option<u64>,
    /// Only briefs with these numbers, separated by commas.
    numbers: Option<String>,
}

/// Briefs without their specs, for long lists.
#[utoipa::path(get, path = "/api/brief-rows", tag = "briefs", params(ProjectQuery, RowsQuery),
    responses((status = 200, body = Vec<BriefRow>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn rows(
    State(app): State<Arc<App>>,
    ChosenProject(choice): ChosenProject,
    Query(q): Query<RowsQuery>,
) -> Answer<Vec<BriefRow>> {
    let project = app.projects.find(&choice).await?;
    let which = match q.numbers {
        Some(numbers) => {
            let wrong = |_| Problem::usage("`numbers` are numbers of briefs", "for instance `numbers=1,2,3`");
            Which::These(numbers.split(',').map(str::parse).collect::<Result<_, _>>().map_err(wrong)?)
        }
        None => Which::After(BriefId(q.after), q.limit.unwrap_or(u64::MAX)),
    };
    Ok(Json(app.briefs.rows(which, project).await?))
}

#[utoipa::path(post, path = "/api/briefs", tag = "briefs", request_body = NewBrief,
    responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn create(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(mut b): Body<NewBrief>,
) -> Answer<BriefView> {
    let choice = ProjectChoice { name: b.project.take(), dir: b.dir.take() };
    let choice = app.access.choice(&caller, choice).await?;
    let project = app.registration.project_for_new(&caller, &choice).await?;
    Ok(Json(app.briefs.create(&caller, project, b).await?))
}

#[utoipa::path(get, path = "/api/briefs/{number}", tag = "briefs", params(("number" = u64, Path)),
    responses((status = 200, body = BriefView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show(State(app): State<Arc<App>>, Path(number): Path<BriefId>) -> Answer<BriefView> {
    Ok(Json(app.briefs.show(number).await?))
}

#[utoipa::path(patch, path = "/api/briefs/{number}", tag = "briefs", params(("number" = u64, Path)),
    request_body = EditBrief, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn edit(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<EditBrief>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.edit(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/plan", tag = "briefs", params(("number" = u64, Path)),
    request_body = Plan, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn plan(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<Plan>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.propose_plan(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/accept", tag = "briefs", params(("number" = u64, Path)),
    request_body = Accept, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn accept(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<Accept>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.accept(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/refine", tag = "briefs", params(("number" = u64, Path)),
    request_body = Refine, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn refine(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<Refine>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.refine(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/status", tag = "briefs", params(("number" = u64, Path)),
    request_body = SetStatus, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn set_status(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<SetStatus>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.set_status(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/needs", tag = "briefs", params(("number" = u64, Path)),
    request_body = Needs, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn needs(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<Needs>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.change_needs(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/links", tag = "briefs", params(("number" = u64, Path)),
    request_body = NewLink, responses((status = 200, body = BriefView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn link(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<NewLink>,
) -> Answer<BriefView> {
    Ok(Json(app.briefs.add_link(&caller, number, b).await?))
}

#[utoipa::path(post, path = "/api/briefs/{number}/notes", tag = "briefs", params(("number" = u64, Path)),
    request_body = NewNote, responses((status = 200, body = EventView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn note(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<NewNote>,
) -> Answer<EventView> {
    Ok(Json(EventView::told(&app.briefs.add_note(&caller, number, b).await?)))
}

#[utoipa::path(post, path = "/api/briefs/{number}/questions", tag = "briefs", params(("number" = u64, Path)),
    request_body = NewQuestion, responses((status = 200, body = EventView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn ask(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<BriefId>,
    Body(b): Body<NewQuestion>,
) -> Answer<EventView> {
    let (asked, _) = app.briefs.ask(&caller, number, b.text, b.help).await?;
    Ok(Json(EventView::told(&asked)))
}

#[utoipa::path(post, path = "/api/briefs/{number}/questions/{question}/answer", tag = "briefs",
    params(("number" = u64, Path), ("question" = u64, Path)), request_body = Text,
    responses((status = 200, body = EventView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn answer(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path((number, question)): Path<(BriefId, u64)>,
    Body(b): Body<Text>,
) -> Answer<EventView> {
    Ok(Json(EventView::told(&app.briefs.answer(&caller, number, question, b.text).await?)))
}

#[utoipa::path(get, path = "/api/briefs/{number}/versions", tag = "briefs", params(("number" = u64, Path)),
    responses((status = 200, body = Vec<SpecVersionView>), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn versions(State(app): State<Arc<App>>, Path(number): Path<BriefId>) -> Answer<Vec<SpecVersionView>> {
    Ok(Json(app.briefs.spec_versions(number).await?))
}

#[utoipa::path(get, path = "/api/briefs/{number}/versions/{version}", tag = "briefs",
    params(("number" = u64, Path), ("version" = u64, Path)),
    responses((status = 200, body = SpecView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn version(
    State(app): State<Arc<App>>,
    Path((number, version)): Path<(BriefId, u64)>,
) -> Answer<SpecView> {
    Ok(Json(app.briefs.spec_at(number, version).await?))
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
    Path(number): Path<BriefId>,
    Query(q): Query<DiffQuery>,
) -> Answer<DiffView> {
    Ok(Json(app.briefs.diff_spec(number, q.from, q.to).await?))
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
    Path(number): Path<BriefId>,
    Query(q): Query<TraceQuery>,
) -> Answer<Vec<EventView>> {
    let window = Window { of: Of::Brief(number), after: q.after, before: q.before, limit: q.limit };
    Ok(Json(app.log.trace(window).await?))
}
