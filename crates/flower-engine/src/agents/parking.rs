//! Waiting for a model that has a limit or an outage. Such a wait is no death of the agent: its restarts are kept for those.

use super::agent_handle::AgentHandle;
use crate::Agents;
use crate::profiles::outages::Outage;
use jiff::Timestamp;
use std::time::Duration;

/// How often the claim is renewed and the clock is looked at; the machine may have slept.
const LOOK_INTERVAL: Duration = Duration::from_secs(20);

impl Agents {
    /// Says that the model does not answer, and until when it is waited for.
    pub(super) fn begin_wait(&self, handle: &AgentHandle, outage: &Outage) -> Timestamp {
        let until = outage.until(handle.count_wait(), Timestamp::now());
        let words = format!("{}: {}", outage.kind, outage.words);
        handle.transcript.add_note(format!("{words}; parked until {}", shown(until)));
        handle.set_parked(until, &words);
        until
    }

    /// Waits until this time, or until the agent has to do something else.
    pub(super) async fn wait_parked(&self, handle: &AgentHandle, until: Timestamp) {
        loop {
            let left = until.duration_since(Timestamp::now());
            let Some(left) = Duration::try_from(left).ok().filter(|left| !left.is_zero()) else { return };
            tokio::select! {
                () = handle.wake.notified() => {}
                () = tokio::time::sleep(left.min(LOOK_INTERVAL)) => {}
            }
            self.send_heartbeat(handle).await;
            if self.is_called_away(handle).await {
                return;
            }
        }
    }

    /// Whether a pause of the agent has to end early: it was stopped, asked for a new session, or has lost its work.
    pub(super) async fn is_called_away(&self, handle: &AgentHandle) -> bool {
        let Ok(agent) = self.get(handle.number).await else { return false };
        let works_on = handle.work().map(|work| work.dispatch);
        // Only a running session can be asked for its hand-over note.
        (handle.is_refresh_requested() && handle.process().is_some())
            || !agent.is_live()
            || self.has_other_work(&agent, works_on).await.unwrap_or(false)
            || self.has_lost_work(handle).await
    }
}

/// A time to the second, in the zone of the machine.
fn shown(at: Timestamp) -> String {
    at.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M:%S").to_string()
}
