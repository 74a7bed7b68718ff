//! `/api/dispatches`: work is requested, claimed and handed back.

use super::answer::Answer;
use super::extract::{Body, BriefQuery, ChosenProject, ListQuery, Path, ProjectQuery, Query, Who, run_detached};
use axum::Json;
use axum::extract::State;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::{Beat, Claim, HandBack, NewDispatch, Packet, Why};
use flower_contract::view::{BeatView, DispatchView, HandBackView, PacketView, RecallView};
use flower_core::dispatch;
use flower_core::recall::Calls;
use flower_core::{BriefId, DispatchId, Fence};
use flower_engine::App;
use flower_engine::dispatch::{ClaimOptions, HandBackRequest, RecallOptions};
use serde::Deserialize;
use std::sync::Arc;
use std::time::Duration;
use utoipa::IntoParams;

/// Dispatches of a page with ended ones, unless the query names a number.
const PAGE: u64 = 200;

/// Requests work on a brief.
#[utoipa::path(post, path = "/api/briefs/{number}/dispatches", tag = "dispatches", params(("number" = u64, Path)),
    request_body = NewDispatch, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn request_dispatch(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(brief): Path<BriefId>,
    Body(b): Body<NewDispatch>,
) -> Answer<DispatchView> {
    let request = dispatch::Request {
        brief,
        kind: b.kind,
        profile: b.agent,
        worktree: b.worktree,
        agents: b.agents.unwrap_or(1),
        of: None,
        evidence: None,
    };
    Ok(Json(app.dispatcher.request(&caller, request).await?))
}

/// Dispatches that wait or are claimed.
#[utoipa::path(get, path = "/api/dispatches", tag = "dispatches", params(ProjectQuery, BriefQuery, ListQuery), responses((status = 200, body = Vec<DispatchView>)))]
pub(super) async fn list_dispatches(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    ChosenProject(choice): ChosenProject,
    Query(of): Query<BriefQuery>,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<DispatchView>> {
    Ok(Json(app.dispatcher.list(&caller, &choice, of.brief.map(BriefId), q.all, q.limit_or(PAGE)).await?))
}

#[utoipa::path(get, path = "/api/dispatches/{number}", tag = "dispatches", params(("number" = u64, Path)),
    responses((status = 200, body = DispatchView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_dispatch(State(app): State<Arc<App>>, Path(number): Path<DispatchId>) -> Answer<DispatchView> {
    Ok(Json(app.dispatcher.show(number).await?))
}

#[utoipa::path(post, path = "/api/dispatches/{number}/cancel", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Why, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn cancel_dispatch(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<DispatchId>,
    Body(b): Body<Why>,
) -> Answer<DispatchView> {
    Ok(Json(app.dispatcher.cancel(&caller, number, b.why).await?))
}

/// The packet of a dispatch: the text with which an agent starts, with a fresh token.
#[utoipa::path(post, path = "/api/dispatches/{number}/packet", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Packet, responses((status = 200, body = PacketView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn packet(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<DispatchId>,
    Body(b): Body<Packet>,
) -> Answer<PacketView> {
    Ok(Json(app.dispatcher.packet(&caller, number, b.member).await?))
}

fn claim_options(b: Claim) -> ClaimOptions {
    let lease = b.seconds.map(Duration::from_secs);
    ClaimOptions { holder: b.holder, packet: b.packet, lease, wait: b.wait }
}

#[utoipa::path(post, path = "/api/dispatches/{number}/claim", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Claim, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn claim(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<DispatchId>,
    Body(b): Body<Claim>,
) -> Answer<DispatchView> {
    run_detached(async move { app.dispatcher.claim(&caller, number, claim_options(b)).await }).await
}

/// Claims the oldest dispatch that waits.
#[utoipa::path(post, path = "/api/claims", tag = "dispatches", params(ProjectQuery), request_body = Claim,
    responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn claim_next(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(project): Query<ProjectQuery>,
    Body(b): Body<Claim>,
) -> Answer<DispatchView> {
    run_detached(async move { app.dispatcher.claim_next(&caller, &project.into(), claim_options(b)).await }).await
}

/// Heartbeat of the holder: renews the claim.
#[utoipa::path(post, path = "/api/dispatches/{number}/beat", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Beat, responses((status = 200, body = BeatView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn beat(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<DispatchId>,
    Body(b): Body<Beat>,
) -> Answer<BeatView> {
    Ok(Json(app.dispatcher.beat(&caller, number, Fence(b.fence)).await?))
}

#[utoipa::path(post, path = "/api/dispatches/{number}/handback", tag = "dispatches", params(("number" = u64, Path)),
    request_body = HandBack, responses((status = 200, body = HandBackView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn hand_back(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<DispatchId>,
    Body(b): Body<HandBack>,
) -> Answer<HandBackView> {
    let request = HandBackRequest {
        fence: Fence(b.fence),
        summary: b.summary,
        not_done: b.not_done,
        failed: b.failed,
        by_exit: false,
    };
    run_detached(async move { app.dispatcher.hand_back(&caller, number, request).await }).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RecallQuery {
    /// Maximum length in tokens, from 500 to 50,000; 4,000 by default.
    budget: Option<u64>,
    /// Names commands of the command line in place of tools.
    #[serde(default)]
    shell: bool,
}

/// The recall of a brief: the same text as that of the tool `recall_brief`.
#[utoipa::path(get, path = "/api/briefs/{number}/recall", tag = "dispatches", params(("number" = u64, Path), RecallQuery),
    responses((status = 200, body = RecallView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn recall(
    State(app): State<Arc<App>>,
    Path(number): Path<BriefId>,
    Query(q): Query<RecallQuery>,
) -> Answer<RecallView> {
    let calls = if q.shell { Calls::Shell } else { Calls::Tools };
    let options = RecallOptions { budget: q.budget, calls, ..RecallOptions::default() };
    Ok(Json(app.dispatcher.recall(number, options).await?))
}
