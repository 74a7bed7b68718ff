//! `GET /api/events`: the log as it grows, as server-sent events. Every reader is at its own place; a slow one is dropped
//! and goes on later from where it was, so nobody's slowness costs memory and nothing is lost.

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
use flower_core::policy::Read;
use flower_core::{Door, Recorded};
use flower_engine::App;
use flower_engine::access::rights::Reader as Rights;
use flower_engine::log::trace::{LiveEvent, Of, Window};
use flower_engine::notify::ChangeHints;
use futures_util::stream;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use utoipa::IntoParams;

/// Events that are written at once.
const BATCH: usize = 256;
const HEARTBEAT: Duration = Duration::from_secs(15);
/// What moves all the time is told of at most this often, and of so much at once.
const STIR_EVERY: Duration = Duration::from_millis(250);
const MOST_STIRRED: usize = 128;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LiveQuery {
    /// Begin after this event; the header `Last-Event-ID` does the same and wins. Without either, begin with the next one.
    after: Option<u64>,
    /// Only the trace of one brief.
    brief: Option<u64>,
    /// Only what happens in one project.
    project: Option<String>,
}

/// Every event, in order; for a worker, those of its own brief and of MAIN in its own project. Between them come hints, `event: stirred` with a list of what has moved without an event: `agents`,
/// `agent:NAME` (its transcript), `inbox`, `landings`, `worktrees`, or `all`.
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
    if q.brief.is_some() {
        rights.require(Read::Brief { number: q.brief })?;
    }
    if let Some(name) = &q.project {
        rights.require(Read::Project { name })?;
    }
    let resumed = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.trim().parse().ok());
    let bell = app.log.live().subscribe();
    let at = resumed.or(q.after).unwrap_or_else(|| app.log.live().head());
    let of = match (q.brief, q.project) {
        (Some(brief), _) => Of::Brief(brief),
        (None, Some(project)) => Of::Project(project),
        (None, None) => Of::All,
    };
    let token = bearer(&headers).unwrap_or_default().to_owned();
    let (stirs, stirred) = (app.hints.subscribe(), BTreeSet::new());
    let reader = Reader {
        app,
        rights,
        bell,
        stirs,
        stirred,
        told: Instant::now(),
        shutdown,
        token,
        at,
        of,
        live: false,
        greeted: false,
        doubted: false,
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
    bell: watch::Receiver<u64>,
    stirs: broadcast::Receiver<Arc<str>>,
    /// What has stirred since it was last told.
    stirred: BTreeSet<Arc<str>>,
    told: Instant,
    shutdown: Shutdown,
    token: String,
    /// The last event that was handed over.
    at: u64,
    of: Of,
    /// It has caught up once. If it then falls behind what is remembered, it is too slow.
    live: bool,
    greeted: bool,
    /// A token was revoked; it may have been this reader's.
    doubted: bool,
}

impl Reader {
    /// The next bytes for this reader, or the end.
    async fn next(&mut self) -> Option<Vec<u8>> {
        if !self.greeted {
            // Headers go out with the first bytes: the reader knows at once that it is connected.
            self.greeted = true;
            return Some(b": flower\n\n".to_vec());
        }
        loop {
            self.bell.borrow_and_update();
            let frames = match self.app.log.live().after(self.at, BATCH) {
                Some(events) => {
                    self.live = true;
                    self.take_live(&events).await?
                }
                None if self.live => return None,
                None => self.read_log().await?,
            };
            if std::mem::take(&mut self.doubted) {
                self.look_up_rights().await?;
            }
            if !frames.is_empty() {
                return Some(frames);
            }
            if self.at < self.app.log.live().head() {
                continue;
            }
            tokio::select! {
                rung = self.bell.changed() => rung.ok()?,
                stir = self.stirs.recv(), if self.stirred.len() < MOST_STIRRED => {
                    let topic = stir.unwrap_or_else(|_| ChangeHints::ALL.into());
                    if self.may_hear(&topic) {
                        self.stirred.insert(topic);
                    }
                }
                () = tokio::time::sleep_until(self.told + STIR_EVERY), if !self.stirred.is_empty() => {
                    self.told = Instant::now();
                    return Some(stirred(&std::mem::take(&mut self.stirred)));
                }
                () = self.shutdown.begun() => return None,
                () = tokio::time::sleep(HEARTBEAT) => return Some(b": alive\n\n".to_vec()),
            }
        }
    }

    async fn take_live(&mut self, events: &[Arc<LiveEvent>]) -> Option<Vec<u8>> {
        let ours = self.ours(events.first().zip(events.last()).map(|(a, b)| (a.recorded.seq, b.recorded.seq))).await?;
        let mut frames = Vec::new();
        for event in events {
            if self.passes(&event.recorded, &ours) {
                frames.extend_from_slice(event.rendered.get_or_init(|| frame(&event.recorded)));
            }
        }
        Some(frames)
    }

    async fn read_log(&mut self) -> Option<Vec<u8>> {
        let window = Window { after: Some(self.at), limit: Some(BATCH as u64), ..Window::default() };
        let events = self.app.log.events(window).await.ok()?;
        let ours = self.ours(events.first().zip(events.last()).map(|(a, b)| (a.seq, b.seq))).await?;
        let mut frames = Vec::new();
        for event in &events {
            if self.passes(event, &ours) {
                frames.extend_from_slice(&frame(event));
            }
        }
        Some(frames)
    }

    /// The events between these two that happened in the project that this reader has asked for, or is bound to.
    async fn ours(&mut self, span: Option<(u64, u64)>) -> Option<BTreeSet<u64>> {
        let Some((first, last)) = span else { return Some(BTreeSet::new()) };
        if self.rights.limited_to_project().is_some() {
            // What a worker's token is bound to changes when it claims.
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

    /// Nothing once the token is good for nothing.
    async fn look_up_rights(&mut self) -> Option<()> {
        let caller = self.app.access.identify(&self.token, Door::Api).await.ok()?;
        self.rights = self.app.access.reader(&caller).await.ok()?;
        Some(())
    }

    /// A hint names an agent, so a worker hears of itself only, and of what no name stands in.
    fn may_hear(&self, topic: &str) -> bool {
        let own = format!("agent:{}", self.rights.caller.actor.name);
        self.rights.limited_to_project().is_none()
            || topic == own
            || [ChangeHints::LANDINGS, ChangeHints::WORKTREES, ChangeHints::ALL].contains(&topic)
    }

    /// Moves past an event and says whether this reader wants it.
    fn passes(&mut self, event: &Recorded, ours: &BTreeSet<u64>) -> bool {
        self.at = event.seq;
        self.doubted |= event.kind == "token_revoked";
        let may = self.rights.may_follow(event, ours.contains(&event.seq));
        may && match self.of {
            Of::All => true,
            Of::Brief(brief) => event.brief == Some(brief),
            Of::Project(_) => ours.contains(&event.seq),
        }
    }
}

/// A hint is no event: it has no number, and nobody goes on from it.
fn stirred(topics: &BTreeSet<Arc<str>>) -> Vec<u8> {
    let topics: Vec<&str> = topics.iter().map(AsRef::as_ref).collect();
    let mut frame = b"event: stirred\ndata: ".to_vec();
    serde_json::to_writer(&mut frame, &topics).expect("words are plain data");
    frame.extend_from_slice(b"\n\n");
    frame
}

fn frame(event: &Recorded) -> Vec<u8> {
    let mut frame = format!("id: {}\nevent: event\ndata: ", event.seq).into_bytes();
    serde_json::to_writer(&mut frame, &EventView::told(event)).expect("an event is plain data");
    frame.extend_from_slice(b"\n\n");
    frame
}
