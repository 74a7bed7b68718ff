//! `/api/images`: pictures of notes.

use super::answer::{Answer, Rejection};
use super::extract::{Bytes, Path};
use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use flower_contract::error::ProblemEnvelope;
use flower_contract::schema;
use flower_core::event::Image;
use flower_engine::App;
use flower_engine::briefs::images::MAX_BYTES;
use std::sync::Arc;

/// Stores a picture: PNG, JPEG, WebP or GIF, up to 10 MB. A note refers to it by its hash.
#[utoipa::path(post, path = "/api/images", tag = "images", request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, body = schema::Image), (status = "4XX", body = ProblemEnvelope)))]
pub(super) async fn put_image(State(app): State<Arc<App>>, Bytes(bytes): Bytes<MAX_BYTES>) -> Answer<Image> {
    Ok(Json(app.briefs.put_image(bytes).await?))
}

#[utoipa::path(get, path = "/api/images/{sha256}", tag = "images", params(("sha256" = String, Path)),
    responses((status = 200, content_type = "image/*"), (status = 404, body = ProblemEnvelope)))]
pub(super) async fn get_image(
    State(app): State<Arc<App>>,
    Path(sha256): Path<String>,
) -> Result<impl IntoResponse, Rejection> {
    let (image, bytes) = app.briefs.image(&sha256).await?;
    let headers = [
        (header::CONTENT_TYPE, image.media_type),
        // The address contains the hash of the content, which therefore never changes.
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable".to_owned()),
    ];
    Ok((headers, bytes))
}
