//! Records what agents report to have spent.

use super::agent_handle::AgentHandle;
use crate::Agents;
use crate::acp::schema::PromptResponse;
use flower_core::Command;
use flower_core::agent::Step;

/// The tokens of a turn, as its response reports them: as the protocol says, or as Gemini does, with the figures of the model.
pub(super) fn tokens_of_turn(response: &PromptResponse) -> Option<u64> {
    if let Some(usage) = &response.usage {
        return Some(usage.total_tokens);
    }
    let count = response.meta.as_ref()?.get("quota")?.get("token_count")?;
    let total = count["input_tokens"].as_u64()?.saturating_add(count["output_tokens"].as_u64()?);
    // It sends zeros before it has asked its model.
    (total > 0).then_some(total)
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_read_where_agents_put_them() {
        let usage = json!({ "totalTokens": 110, "inputTokens": 100, "outputTokens": 10 });
        let quota = |input: u64| json!({ "quota": { "token_count": { "input_tokens": input, "output_tokens": 0 } } });
        for (response, expected) in [
            (json!({ "stopReason": "end_turn", "usage": usage }), Some(110)),
            (json!({ "stopReason": "end_turn", "_meta": quota(7) }), Some(7)),
            (json!({ "stopReason": "end_turn", "_meta": quota(0) }), None),
            (json!({ "stopReason": "end_turn", "_meta": { "quota": 1 } }), None),
            (json!({ "stopReason": "end_turn" }), None),
        ] {
            let read: PromptResponse = serde_json::from_value(response.clone()).unwrap();
            assert_eq!(tokens_of_turn(&read), expected, "{response}");
        }
    }
}
