//! The MCP backend inside the daemon. The guard has stored the caller in each request's extensions.

use super::super::guard::bearer;
use super::super::serve::Shutdown;
use crate::mcp::{Backend, Changes};
use axum::http::request::Parts;
use flower_contract::error::Problem;
use flower_contract::view::ToolAnswer;
use flower_core::policy::Read;
use flower_core::{BriefId, Caller, Door, Recorded};
use flower_engine::App;
use flower_engine::access::identity::unauthorized;
use flower_engine::log::trace::Window;
use flower_engine::tools::changed_resources;
use futures_util::stream;
use rmcp::model::{Extensions, JsonObject};
use std::collections::BTreeSet;
use std::sync::Arc;
use tokio::sync::watch;

/// Events that are read at once.
const BATCH: usize = 256;

pub(super) struct Local {
    pub(super) app: Arc<App>,
    pub(super) shutdown: Shutdown,
}

impl Local {
    /// Resources that change from now on, until the daemon ends or the token is revoked.
    pub(super) fn changes_for(&self, token: String) -> Changes {
        let live = self.app.log.live();
        let (head, at) = (live.subscribe(), live.head());
        let reader = Reader { app: self.app.clone(), shutdown: self.shutdown.clone(), head, token, at };
        Box::pin(stream::unfold(reader, |mut reader| async move { Some((reader.next().await?, reader)) }))
    }
}

impl Backend for Local {
    async fn call(&self, from: &Extensions, tool: &str, arguments: JsonObject) -> Result<ToolAnswer, Problem> {
        self.app.tools.call(&caller(from)?, tool, arguments).await
    }

    async fn read(&self, from: &Extensions, uri: &str) -> Result<String, Problem> {
        self.app.tools.read_resource(&caller(from)?, uri).await
    }

    async fn changes(&self, from: &Extensions) -> Result<Changes, Problem> {
        let token = from.get::<Parts>().and_then(|parts| bearer(&parts.headers)).ok_or_else(unauthorized)?;
        Ok(self.changes_for(token.to_owned()))
    }
}

fn caller(from: &Extensions) -> Result<Caller, Problem> {
    let caller = from.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>());
    caller.map(|caller| Caller { door: Door::Mcp, ..caller.clone() }).ok_or_else(unauthorized)
}

/// Number, stream and brief of an event.
type Seen = (u64, String, Option<BriefId>);

struct Reader {
    app: Arc<App>,
    shutdown: Shutdown,
    head: watch::Receiver<u64>,
    token: String,
    /// The last event that was read.
    at: u64,
}

impl Reader {
    /// The changed resources that the owner of the token may read; none once the token is revoked.
    async fn readable(&self, seen: &[Seen]) -> Option<BTreeSet<String>> {
        let caller = self.app.access.identify(&self.token, Door::Mcp).await.ok()?;
        let rights = self.app.access.reader(&caller).await.ok()?;
        let Some(project) = rights.limited_to_project() else {
            return Some(seen.iter().flat_map(|(_, stream, brief)| changed_resources(stream, *brief)).collect());
        };
        let mut changed = BTreeSet::new();
        let ours = match (project, seen.first(), seen.last()) {
            (Some(project), Some(first), Some(last)) => self.app.log.events_of(project, first.0, last.0).await.ok()?,
            _ => BTreeSet::new(),
        };
        for (seq, stream, brief) in seen {
            let brief = brief.filter(|number| rights.may(Read::Brief { number: Some(*number) }));
            let stream = if ours.contains(seq) { stream.as_str() } else { "" };
            changed.extend(changed_resources(stream, brief));
        }
        Some(changed)
    }

    async fn next(&mut self) -> Option<BTreeSet<String>> {
        loop {
            self.head.borrow_and_update();
            let after = self.at;
            let mut seen = Vec::new();
            let mut see = |event: &Recorded| {
                self.at = event.seq;
                seen.push((event.seq, event.stream.clone(), event.brief));
            };
            match self.app.log.live().after(after, BATCH) {
                Some(events) => events.iter().for_each(|event| see(&event.recorded)),
                None => {
                    let window = Window { after: Some(after), limit: Some(BATCH as u64), ..Window::default() };
                    self.app.log.events(window).await.ok()?.iter().for_each(&mut see);
                }
            }
            let changed = if seen.is_empty() { BTreeSet::new() } else { self.readable(&seen).await? };
            if !changed.is_empty() {
                return Some(changed);
            }
            if self.at < self.app.log.live().head() {
                continue;
            }
            tokio::select! {
                changed = self.head.changed() => changed.ok()?,
                () = self.shutdown.begun() => return None,
            }
        }
    }
}
