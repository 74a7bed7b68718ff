//! `/api/search`.

use super::answer::Answer;
use super::extract::{Query, Who};
use axum::Json;
use axum::extract::State;
use flower_contract::view::SearchHit;
use flower_engine::App;
use serde::Deserialize;
use std::sync::Arc;
use utoipa::IntoParams;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct SearchQuery {
    q: String,
    limit: Option<u64>,
}

#[utoipa::path(get, path = "/api/search", tag = "search", params(SearchQuery), responses((status = 200, body = Vec<SearchHit>)))]
pub(super) async fn search(
    State(app): State<Arc<App>>,
    Who(caller): Who,
    Query(q): Query<SearchQuery>,
) -> Answer<Vec<SearchHit>> {
    Ok(Json(app.briefs.search(&caller, q.q, q.limit).await?))
}
