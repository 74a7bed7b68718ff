//! The inbox of an agent as text.

use crate::agent_text::AgentText;
use flower_contract::view::{EventView, HeardView};
use flower_core::Event;
use flower_core::recall::inline;

/// Length of a name in one item.
const NAME_BYTES: usize = 120;

/// Unread messages and events as Markdown.
pub(crate) fn inbox(unread: &HeardView) -> String {
    if unread.messages.is_empty() && unread.news.is_empty() {
        return "Nothing new.\nNext: go on with your work.".to_owned();
    }
    let mut answer = AgentText::new(None);
    for message in &unread.messages {
        let by = inline(&message.by, NAME_BYTES);
        let label =
            format!("Message {} from {} {by} to `{}`, {}:", message.id, message.by_type, message.to, message.at);
        answer.quote(&label, &message.text, "`search` finds the rest");
    }
    for event in &unread.news {
        add_event(&mut answer, event);
    }
    if unread.more {
        answer.line("[there is more; call `check_inbox` again]");
    }
    answer.with_next_step("take it into account; `recall_brief` has the whole; `send_message` answers.")
}

/// Adds an event of the brief with its text.
fn add_event(answer: &mut AgentText, event: &EventView) {
    let by = format!("{} {}, {}", event.actor.sort, inline(&event.actor.name, NAME_BYTES), event.at);
    let Ok(what) = Event::decode(&event.kind, event.schema, event.body.get()) else { return };
    let rest = "`recall_brief` has the rest";
    match what {
        Event::PlanProposed(plan) => answer.line(&format!("A plan was proposed, version {}, by {by}.", plan.version)),
        Event::Refinement(refined) => {
            answer.line(&format!(
                "The spec moved to version {}, by {by}. Read what changed: `recall_brief`.",
                refined.version
            ));
            if let Some(why) = refined.why {
                answer.quote("Why:", &why, rest);
            }
        }
        Event::SpecSnapshot(snapshot) => {
            answer.line(&format!("Version {} of the spec was accepted by {by}.", snapshot.version));
        }
        Event::DecisionMade(made) => {
            answer.quote(&format!("Answer to question {}, by {by}:", made.question), &made.text, rest);
        }
        Event::CommentAdded(comment) => answer.quote(&format!("Comment by {by}:"), &comment.text, rest),
        Event::StatusChanged(moved) => {
            answer.line(&format!("The brief is `{}` now, by {by}.", moved.to));
            if let Some(why) = moved.why {
                answer.quote("Why:", &why, rest);
            }
        }
        Event::LandingRejected(no) => answer.quote(&format!("Landing {} was rejected:", no.number), &no.why, rest),
        Event::LandingHeld(held) => {
            answer.quote(&format!("Landing {} waits for the operator:", held.number), &held.why.join("\n"), rest);
        }
        Event::Landed(landed) => answer.line(&format!("Landing {} is in MAIN.", landed.number)),
        Event::RolledBack(back) => answer.line(&format!("Landing {} was taken back out of MAIN.", back.number)),
        Event::DispatchExpired(over) => answer.line(&format!("The claim of dispatch {} ran out.", over.number)),
        Event::DispatchCancelled(over) => answer.line(&format!("Dispatch {} was cancelled: stop here.", over.number)),
        Event::LeaseBreached(breach) => {
            let holder = inline(&breach.holder, NAME_BYTES);
            answer.quote(
                &format!("Commit {} changes what {holder} had reserved:", breach.commit),
                &breach.paths.join("\n"),
                rest,
            );
        }
        _ => answer.line(&format!("{} by {by}.", event.kind)),
    }
}
