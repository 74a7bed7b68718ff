//! `/api/tokens`.

use super::answer::{Answer, Rejection};
use super::extract::{Body, Path, Who};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use flower_contract::error::ProblemEnvelope;
use flower_contract::request::IssueToken;
use flower_contract::view::{NewToken, TokenView};
use flower_core::{BriefId, Role};
use flower_engine::App;
use std::sync::Arc;

#[utoipa::path(get, path = "/api/tokens", tag = "tokens", responses((status = 200, body = Vec<TokenView>)))]
pub(super) async fn list_tokens(State(app): State<Arc<App>>, Who(caller): Who) -> Answer<Vec<TokenView>> {
    Ok(Json(app.access.tokens(&caller).await?))
}

#[utoipa::path(post, path = "/api/tokens", tag = "tokens", request_body = IssueToken,
    responses((status = 200, body = NewToken), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn issue_token(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Body(b): Body<IssueToken>,
) -> Answer<NewToken> {
    Ok(Json(
        app.access
            .issue_token(&caller, b.agent, b.role.unwrap_or(Role::Worker), b.brief.map(BriefId), b.worktree, None)
            .await?,
    ))
}

#[utoipa::path(delete, path = "/api/tokens/{id}", tag = "tokens", params(("id" = String, Path)),
    responses((status = 204), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn revoke_token(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Rejection> {
    app.access.revoke_token(&caller, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
