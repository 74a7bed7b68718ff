//! `GET /api/events`: new events of the log, as server-sent events. Every reader has its own position. A reader that is too
//! slow is disconnected and resumes from its position, so that slow readers cost no memory and lose nothing.

use super::answer::Rejection;
use super::extract::{Query, Who};
use super::guard::bearer;
use super::serve::Shutdown;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use flower_contract::view::EventView;
use flower_core::{BriefId, Door, Recorded};
use flower_engine::App;
use flower_engine::access::rights::Reader as Rights;
use flower_engine::log::cursor::{Batch, EventCursor};
use flower_engine::log::trace::Of;
use flower_engine::notify::ChangeHints;
use futures_util::stream;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::broadcast;
use tokio::time::Instant;
use utoipa::IntoParams;

const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Hints about state that is not in the log are sent at most this often.
const HINT_INTERVAL: Duration = Duration::from_millis(250);
/// Topics of one hint.
const MAX_HINT_TOPICS: usize = 128;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LiveQuery {
    /// Begin after this event. The header `Last-Event-ID` takes precedence. Without either, begin with the next event.
    after: Option<u64>,
    /// Only the trace of one brief.
    brief: Option<u64>,
    /// Only events of one project.
    project: Option<String>,
}

/// Every event, in order; for a worker, the events of its own brief and of MAIN in its own project. Between them come hints,
/// `event: stirred`, with a list of state that changed without an event: `agents`, `agent:NAME` (a transcript), `inbox`,
/// `landings`, `worktrees`, or `all`.
#[utoipa::path(get, path = "/api/events", tag = "log", params(LiveQuery),
    responses((status = 200, content_type = "text/event-stream", body = EventView)))]
pub(super) async fn live(
    State(app): State<Arc<App>>,
    Extension(shutdown): Extension<Shutdown>,
    Who(caller): Who,
    headers: HeaderMap,
    Query(q): Query<LiveQuery>,
) -> Result<impl IntoResponse, Rejection> {
    let rights = app.access.reader(&caller).await?;
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.trim().parse().ok());
    let cursor = EventCursor::new(&app.log, resumed.or(q.after));
    let of = match (q.brief, q.project) {
        (Some(brief), _) => Of::Brief(BriefId(brief)),
        (None, Some(project)) => Of::Project(project),
        (None, None) => Of::All,
    };
    let token = bearer(&headers).unwrap_or_default().to_owned();
    let (hints, topics) = (app.hints.subscribe(), BTreeSet::new());
    let reader = Reader {
        app,
        rights,
        cursor,
        hints,
        topics,
        hinted_at: Instant::now(),
        shutdown,
        token,
        of,
        has_caught_up: false,
        is_greeted: false,
        token_in_doubt: false,
    };
    let frames = stream::unfold(reader, |mut reader| async move {
        let frames = reader.next().await?;
        Some((Ok::<_, std::convert::Infallible>(frames), reader))
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, Body::from_stream(frames)))
}

struct Reader {
    app: Arc<App>,
    rights: Rights,
    cursor: EventCursor,
    hints: broadcast::Receiver<Arc<str>>,
    /// Topics that changed since the last hint was sent.
    topics: BTreeSet<Arc<str>>,
    hinted_at: Instant,
    shutdown: Shutdown,
    token: String,
    of: Of,
    /// Has been at the end of the log once. A reader that then falls behind the events in memory is too slow.
    has_caught_up: bool,
    is_greeted: bool,
    /// A token was revoked, which may be this reader's.
    token_in_doubt: bool,
}

impl Reader {
    /// The next bytes for this reader, or the end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.is_greeted {
            // The headers are sent with the first bytes, and tell the reader that it is connected.
            self.is_greeted = true;
            return Some(b": flower\n\n".to_vec());
        }
        loop {
            let is_live = self.cursor.is_live();
            if self.has_caught_up && !is_live {
                return None;
            }
            self.has_caught_up = is_live;
            let batch = self.cursor.read().await.ok()?;
            let frames = self.frames(&batch).await?;
            if std::mem::take(&mut self.token_in_doubt) {
                self.look_up_rights().await?;
            }
            if !frames.is_empty() {
                return Some(frames);
            }
            if !self.cursor.is_at_end() {
                continue;
            }
            tokio::select! {
                grown = self.cursor.grown() => grown?,
                hint = self.hints.recv(), if self.topics.len() < MAX_HINT_TOPICS => {
                    let topic = hint.unwrap_or_else(|_| ChangeHints::ALL.into());
                    if self.may_see_hint(&topic) {
                        self.topics.insert(topic);
                    }
                }
                () = tokio::time::sleep_until(self.hinted_at + HINT_INTERVAL), if !self.topics.is_empty() => {
                    self.hinted_at = Instant::now();
                    return Some(hint_frame(&std::mem::take(&mut self.topics)));
                }
                () = self.shutdown.begun() => return None,
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => return Some(b": alive\n\n".to_vec()),
            }
        }
    }

    async fn frames(&mut self, batch: &Batch) -> Option<Vec<u8>> {
        let ours = self.ours(batch.span()).await?;
        let mut frames = Vec::new();
        match batch {
            Batch::Live(events) => {
                for event in events.iter().filter(|event| self.passes(&event.recorded, &ours)) {
                    // Rendered once for all readers.
                    frames.extend_from_slice(event.rendered.get_or_init(|| event_frame(&event.recorded)));
                }
            }
            Batch::Stored(events) => {
                for event in events.iter().filter(|event| self.passes(event, &ours)) {
                    frames.extend_from_slice(&event_frame(event));
                }
            }
        }
        Some(frames)
    }

    /// Of the events between these two, those of the project that the reader has asked for or is bound to.
    async fn ours(&mut self, span: Option<(u64, u64)>) -> Option<BTreeSet<u64>> {
        let Some((first, last)) = span else { return Some(BTreeSet::new()) };
        if self.rights.limited_to_project().is_some() {
            // A claim changes what a worker's token is bound to.
            self.look_up_rights().await?;
        }
        let asked = if let Of::Project(name) = &self.of { Some(name.as_str()) } else { None };
        let project = match self.rights.limited_to_project() {
            Some(own) => own.filter(|own| asked.is_none_or(|asked| asked == *own)),
            None => asked,
        };
        match project {
            Some(project) => self.app.log.events_of(project, first, last).await.ok(),
            None => Some(BTreeSet::new()),
        }
    }

    /// None once the token is no longer valid.
    async fn look_up_rights(&mut self) -> Option<()> {
        let caller = self.app.access.identify(&self.token, Door::Api).await.ok()?;
        self.rights = self.app.access.reader(&caller).await.ok()?;
        Some(())
    }

    /// A worker gets hints about itself, and hints that name no agent.
    fn may_see_hint(&self, topic: &str) -> bool {
        let own = format!("agent:{}", self.rights.caller.actor.name);
        self.rights.limited_to_project().is_none()
            || topic == own
            || [ChangeHints::LANDINGS, ChangeHints::WORKTREES, ChangeHints::ALL].contains(&topic)
    }

    /// Whether the reader gets an event.
    fn passes(&mut self, event: &Recorded, ours: &BTreeSet<u64>) -> bool {
        self.token_in_doubt |= event.kind == "token_revoked";
        let may = self.rights.may_follow(event, ours.contains(&event.seq));
        may && match self.of {
            Of::All => true,
            Of::Brief(brief) => event.brief == Some(brief),
            Of::Project(_) => ours.contains(&event.seq),
        }
    }
}

/// A hint has no id: readers cannot resume from it.
fn hint_frame(topics: &BTreeSet<Arc<str>>) -> Vec<u8> {
    let topics: Vec<&str> = topics.iter().map(AsRef::as_ref).collect();
    let mut frame = b"event: stirred\ndata: ".to_vec();
    serde_json::to_writer(&mut frame, &topics).expect("words are plain data");
    frame.extend_from_slice(b"\n\n");
    frame
}

fn event_frame(event: &Recorded) -> Vec<u8> {
    let mut frame = format!("id: {}\nevent: event\ndata: ", event.seq).into_bytes();
    serde_json::to_writer(&mut frame, &EventView::told(event)).expect("an event is plain data");
    frame.extend_from_slice(b"\n\n");
    frame
}
