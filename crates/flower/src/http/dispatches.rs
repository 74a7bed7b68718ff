//! Dispatches: asking for work, claiming it, handing it back; path leases and messages.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Path, Query, Who};
use super::worktrees::{Which, spawned};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::{Problem, ProblemEnvelope};
use flower_contract::request::{Beat, Claim, Commit, HandBack, NewDispatch, Packet, SendMessage, TakeLease, Why};
use flower_contract::view::{DispatchView, HandBackView, HeardView, LeaseView, MessageView, PacketView, RecallView};
use flower_core::{Caller, dispatch};
use flower_engine::App;
use flower_engine::access::rights::ReadTarget;
use flower_engine::dispatch::{ClaimOptions, HandBackRequest};
use flower_engine::projects::ProjectChoice;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use utoipa::IntoParams;

/// More than a person reads at once.
const PAGE: u64 = 200;

/// Asks for work on a brief.
#[utoipa::path(post, path = "/api/briefs/{number}/dispatches", tag = "dispatches", params(("number" = u64, Path)),
    request_body = NewDispatch, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn request_dispatch(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(brief): Path<u64>,
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

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    brief: Option<u64>,
    /// Also what has ended, newest first.
    #[serde(default)]
    all: bool,
    limit: Option<u64>,
}

/// What waits, and what somebody works on.
#[utoipa::path(get, path = "/api/dispatches", tag = "dispatches", params(ListQuery), responses((status = 200, body = Vec<DispatchView>)))]
pub(super) async fn list_dispatches(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<ListQuery>,
) -> Answer<Vec<DispatchView>> {
    let choice = app.access.choice(&caller, ProjectChoice { name: q.project, dir: q.dir }).await?;
    let limit = q.limit.unwrap_or(if q.all { PAGE } else { u64::MAX >> 1 });
    Ok(Json(app.dispatcher.list(&caller, &choice, q.brief, q.all, limit).await?))
}

#[utoipa::path(get, path = "/api/dispatches/{number}", tag = "dispatches", params(("number" = u64, Path)),
    responses((status = 200, body = DispatchView), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn show_dispatch(State(app): State<Arc<App>>, Path(number): Path<u64>) -> Answer<DispatchView> {
    Ok(Json(app.dispatcher.show(number).await?))
}

#[utoipa::path(post, path = "/api/dispatches/{number}/cancel", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Why, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn cancel_dispatch(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Why>,
) -> Answer<DispatchView> {
    Ok(Json(app.dispatcher.cancel(&caller, number, b.why).await?))
}

/// All that an agent needs to begin, with a token of its own.
#[utoipa::path(post, path = "/api/dispatches/{number}/packet", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Packet, responses((status = 200, body = PacketView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn packet(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Packet>,
) -> Answer<PacketView> {
    Ok(Json(app.dispatcher.packet(&caller, number, b.member).await?))
}

fn wish(b: Claim) -> ClaimOptions {
    let lease = b.seconds.map(Duration::from_secs);
    ClaimOptions { holder: b.holder, packet: b.packet, lease, wait: b.wait }
}

#[utoipa::path(post, path = "/api/dispatches/{number}/claim", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Claim, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn claim(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Claim>,
) -> Answer<DispatchView> {
    spawned(async move { app.dispatcher.claim(&caller, number, wish(b)).await }).await
}

/// Claims the oldest one that waits.
#[utoipa::path(post, path = "/api/claims", tag = "dispatches", params(Which), request_body = Claim,
    responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn claim_next(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(which): Query<Which>,
    Body(b): Body<Claim>,
) -> Answer<DispatchView> {
    spawned(async move { app.dispatcher.claim_next(&caller, &which.into(), wish(b)).await }).await
}

/// A sign of life of whoever holds it.
#[utoipa::path(post, path = "/api/dispatches/{number}/beat", tag = "dispatches", params(("number" = u64, Path)),
    request_body = Beat, responses((status = 200, body = DispatchView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn beat(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<Beat>,
) -> Answer<DispatchView> {
    Ok(Json(app.dispatcher.beat(&caller, number, b.fence).await?))
}

#[utoipa::path(post, path = "/api/dispatches/{number}/handback", tag = "dispatches", params(("number" = u64, Path)),
    request_body = HandBack, responses((status = 200, body = HandBackView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn hand_back(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
    Body(b): Body<HandBack>,
) -> Answer<HandBackView> {
    let back = HandBackRequest { fence: b.fence, summary: b.summary, not_done: b.not_done, failed: b.failed };
    spawned(async move { app.dispatcher.hand_back(&caller, number, back).await }).await
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RecallQuery {
    /// In tokens, from 500 to 50,000; 4,000 unless said.
    budget: Option<u64>,
}

/// The brief as an agent reads it: the same bytes as the tool `recall_brief` gives.
#[utoipa::path(get, path = "/api/briefs/{number}/recall", tag = "dispatches", params(("number" = u64, Path), RecallQuery),
    responses((status = 200, body = RecallView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn recall(
    State(app): State<Arc<App>>,
    Path(number): Path<u64>,
    Query(q): Query<RecallQuery>,
) -> Answer<RecallView> {
    Ok(Json(app.dispatcher.recall(number, q.budget, None).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LeaseQuery {
    project: Option<String>,
    #[param(value_type = Option<String>)]
    dir: Option<PathBuf>,
    worktree: Option<String>,
}

impl LeaseQuery {
    async fn choice(self, app: &App, caller: &Caller) -> Result<(ProjectChoice, Option<String>), Problem> {
        let choice = app.access.choice(caller, ProjectChoice { name: self.project, dir: self.dir }).await?;
        if let Some(name) = &self.worktree {
            app.access.require_read(caller, ReadTarget::Worktree(choice.clone(), name.clone())).await?;
        }
        Ok((choice, self.worktree))
    }
}

#[utoipa::path(get, path = "/api/leases", tag = "dispatches", params(LeaseQuery), responses((status = 200, body = Vec<LeaseView>)))]
pub(super) async fn list_leases(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<LeaseQuery>,
) -> Answer<Vec<LeaseView>> {
    let (choice, worktree) = q.choice(&app, &caller).await?;
    Ok(Json(app.leases.list(&caller, &choice, worktree.as_deref()).await?))
}

#[utoipa::path(post, path = "/api/leases", tag = "dispatches", params(LeaseQuery), request_body = TakeLease,
    responses((status = 200, body = LeaseView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn take_lease(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<LeaseQuery>,
    Body(b): Body<TakeLease>,
) -> Answer<LeaseView> {
    let (choice, worktree) = q.choice(&app, &caller).await?;
    let time = b.seconds.map(Duration::from_secs);
    Ok(Json(app.leases.take(&caller, &choice, worktree.as_deref(), b.patterns, time, b.holder).await?))
}

/// Everything that the caller has reserved in the worktree.
#[utoipa::path(delete, path = "/api/leases", tag = "dispatches", params(LeaseQuery),
    responses((status = 200, body = Vec<LeaseView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn release_leases(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<LeaseQuery>,
) -> Answer<Vec<LeaseView>> {
    let (choice, worktree) = q.choice(&app, &caller).await?;
    Ok(Json(app.leases.release(&caller, &choice, None, worktree.as_deref()).await?))
}

#[utoipa::path(delete, path = "/api/leases/{number}", tag = "dispatches", params(("number" = u64, Path)),
    responses((status = 200, body = Vec<LeaseView>), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn release_lease(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(number): Path<u64>,
) -> Answer<Vec<LeaseView>> {
    Ok(Json(app.leases.release(&caller, &ProjectChoice::default(), Some(number), None).await?))
}

/// Before a commit in a worktree: asked by its own hook.
#[utoipa::path(post, path = "/api/worktrees/{name}/commit", tag = "dispatches", params(("name" = String, Path), Which),
    request_body = Commit, responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn commit(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(name): Path<String>,
    Query(which): Query<Which>,
    Body(b): Body<Commit>,
) -> Result<StatusCode, Rejection> {
    let choice = app.access.choice(&caller, which.into()).await?;
    match b.made {
        Some(commit) => app.leases.end_commit(&caller, &choice, &name, &commit).await?,
        None => app.leases.begin_commit(&caller, &choice, &name, &b.paths).await?,
    }
    Ok(StatusCode::NO_CONTENT)
}

/// To an agent, to everybody in a worktree, or to the operator.
#[utoipa::path(post, path = "/api/messages", tag = "dispatches", request_body = SendMessage,
    responses((status = 200, body = MessageView), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn send_message(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<SendMessage>,
) -> Answer<MessageView> {
    Ok(Json(app.messages.send(&caller, &b.to, b.text).await?))
}

/// What an agent has not heard yet; from now on it has.
#[utoipa::path(post, path = "/api/messages/take", tag = "dispatches", responses((status = 200, body = HeardView)))]
pub(super) async fn take_messages(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<HeardView> {
    Ok(Json(app.messages.unread(&caller, true).await?))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SeenQuery {
    /// Only those up to this event: what has come since was not shown yet.
    up_to: Option<u64>,
}

/// The operator has seen the messages that wait.
#[utoipa::path(post, path = "/api/inbox/seen", tag = "dispatches", params(SeenQuery),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn seen_messages(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<SeenQuery>,
) -> Result<StatusCode, Rejection> {
    app.messages.mark_seen(&caller, q.up_to).await?;
    Ok(StatusCode::NO_CONTENT)
}
