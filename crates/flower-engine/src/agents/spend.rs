//! Records what agents report to have spent.

use super::agent_handle::AgentHandle;
use crate::Agents;
use flower_core::Command;
use flower_core::agent::Step;

impl Agents {
    pub(super) async fn record_spending(
        &self,
        handle: &AgentHandle,
        tokens: Option<u64>,
        cost: Option<u64>,
        currency: Option<String>,
    ) {
        if tokens.is_none() && cost.is_none() {
            return;
        }
        let step = Step::Spend { tokens, cost, currency };
        if let Err(problem) =
            self.store.execute(&flower_core::Caller::system(), Command::Agent { number: handle.number, step }).await
        {
            tracing::warn!("agent {}: {}", handle.name, problem.message);
        }
    }
}
