//! The result of handlers: JSON, or a problem with its HTTP status.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use flower_contract::error::{Problem, ProblemEnvelope, ProblemKind};

pub(super) type Answer<T> = Result<Json<T>, Rejection>;

/// A problem as an HTTP response.
pub(super) struct Rejection(Problem);

impl<E: Into<Problem>> From<E> for Rejection {
    fn from(error: E) -> Rejection {
        Rejection(error.into())
    }
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let Rejection(problem) = self;
        let status = StatusCode::from_u16(problem.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        if problem.kind == ProblemKind::Bug {
            tracing::error!("bug: {}", problem.message);
        }
        (status, Json(ProblemEnvelope { error: problem })).into_response()
    }
}
