//! The event log: verification, rebuilding of the tables, continuing after a loss.

pub mod cursor;
pub mod trace;

use crate::Setup;
use crate::{Access, Briefs, Projects};
use flower_contract::error::Problem;
use flower_contract::view::{EventView, RebuildView, VerifyView};
use flower_core::Caller;
use flower_core::policy::{self, Action, Read};
use flower_store::{Live, Store};
use std::sync::Arc;

/// The event log as a whole and its live end.
pub struct EventLog {
    store: Store,
    access: Arc<Access>,
    projects: Arc<Projects>,
    briefs: Arc<Briefs>,
}

impl EventLog {
    pub(crate) fn new(setup: &Setup, access: &Arc<Access>, projects: &Arc<Projects>, briefs: &Arc<Briefs>) -> EventLog {
        EventLog {
            store: setup.store.clone(),
            access: access.clone(),
            projects: projects.clone(),
            briefs: briefs.clone(),
        }
    }

    /// The newest events in memory, for followers.
    pub fn live(&self) -> &Live {
        self.store.live()
    }

    /// Checks the hash chain, and with `tables` also whether the tables agree with the log.
    pub async fn verify(&self, caller: &Caller, tables: bool) -> Result<VerifyView, Problem> {
        self.access.reader(caller).await?.require(Read::Log)?;
        let verdict = self.store.verify().await?;
        let differing = if tables { Some(self.store.rebuild(false).await?.mended) } else { None };
        let tables_hold = differing.as_ref().is_none_or(Vec::is_empty);
        Ok(VerifyView {
            ok: verdict.fault.is_none() && tables_hold,
            verified: verdict.verified,
            head: verdict.head,
            bad_seq: verdict.fault.as_ref().map(|fault| fault.seq),
            fault: verdict.fault.map(|fault| fault.what),
            proved: verdict.proved,
            unproved: verdict.unproved,
            tables: differing,
        })
    }

    pub async fn rebuild(&self, caller: &Caller) -> Result<RebuildView, Problem> {
        policy::require_action(caller, Action::RebuildTables)?;
        let rebuilt = self.store.rebuild(true).await?;
        Ok(RebuildView { events: rebuilt.events, rows: rebuilt.rows, mended: rebuilt.mended })
    }

    /// Records which events were lost, and makes the store writable again.
    pub async fn accept_loss(&self, caller: &Caller) -> Result<Vec<EventView>, Problem> {
        policy::require_action(caller, Action::AcceptLoss)?;
        let events = self.store.accept_loss(caller.clone()).await?;
        Ok(events.iter().map(EventView::from).collect())
    }
}
