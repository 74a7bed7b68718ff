//! The MCP backend inside the daemon. The guard has stored the caller in each request's extensions.

use super::super::guard::bearer;
use super::super::serve::Shutdown;
use crate::mcp::{Backend, Changes};
use axum::http::request::Parts;
use flower_contract::error::Problem;
use flower_contract::view::ToolAnswer;
use flower_core::policy::Read;
use flower_core::{Caller, Door};
use flower_engine::App;
use flower_engine::access::identity::unauthorized;
use flower_engine::log::cursor::{Batch, EventCursor};
use flower_engine::tools::changed_resources;
use futures_util::stream;
use rmcp::model::{Extensions, JsonObject};
use std::collections::BTreeSet;
use std::sync::Arc;

pub(super) struct Local {
    pub(super) app: Arc<App>,
    pub(super) shutdown: Shutdown,
}

impl Local {
    /// Resources that change from now on, until the daemon ends or the token is revoked.
    pub(super) fn changes_for(&self, token: String) -> Changes {
        let cursor = EventCursor::new(&self.app.log, None);
        let reader = Reader { app: self.app.clone(), shutdown: self.shutdown.clone(), cursor, token };
        Box::pin(stream::unfold(reader, |mut reader| async move { Some((reader.next().await?, reader)) }))
    }
}

impl Backend for Local {
    async fn tools(&self, from: &Extensions) -> Result<Vec<String>, Problem> {
        Ok(self.app.tools.list(&caller(from)?).await.into_iter().map(str::to_owned).collect())
    }

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

struct Reader {
    app: Arc<App>,
    shutdown: Shutdown,
    cursor: EventCursor,
    token: String,
}

impl Reader {
    /// The changed resources that the owner of the token may read; none once the token is revoked.
    async fn readable(&self, batch: &Batch) -> Option<BTreeSet<String>> {
        let caller = self.app.access.identify(&self.token, Door::Mcp).await.ok()?;
        let rights = self.app.access.reader(&caller).await.ok()?;
        let Some(project) = rights.limited_to_project() else {
            return Some(batch.events().flat_map(|event| changed_resources(&event.stream, event.brief)).collect());
        };
        let mut changed = BTreeSet::new();
        let ours = match (project, batch.span()) {
            (Some(project), Some((first, last))) => self.app.log.events_of(project, first, last).await.ok()?,
            _ => BTreeSet::new(),
        };
        for event in batch.events() {
            let brief = event.brief.filter(|number| rights.may(Read::Brief { number: Some(*number) }));
            let stream = if ours.contains(&event.seq) { event.stream.as_str() } else { "" };
            changed.extend(changed_resources(stream, brief));
        }
        Some(changed)
    }

    async fn next(&mut self) -> Option<BTreeSet<String>> {
        loop {
            let batch = self.cursor.read().await.ok()?;
            if batch.span().is_some() {
                let changed = self.readable(&batch).await?;
                if !changed.is_empty() {
                    return Some(changed);
                }
            }
            if !self.cursor.is_at_end() {
                continue;
            }
            tokio::select! {
                grown = self.cursor.grown() => grown?,
                () = self.shutdown.begun() => return None,
            }
        }
    }
}
