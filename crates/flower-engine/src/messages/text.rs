//! The inbox of an agent as text.

use crate::agent_text::Page;
use flower_contract::view::{EventView, HeardView};
use flower_core::Event;
use flower_core::recall::inline;

/// Of a name in one item.
const NAME_BYTES: usize = 120;

/// What an agent reads when it looks into its inbox.
pub(super) fn inbox(heard: &HeardView) -> String {
    if heard.messages.is_empty() && heard.news.is_empty() {
        return "Nothing new.\nNext: go on with your work.".to_owned();
    }
    let mut page = Page::new(None);
    for message in &heard.messages {
        let by = inline(&message.by, NAME_BYTES);
        let label =
            format!("Message {} from {} {by} to `{}`, {}:", message.id, message.by_type, message.to, message.at);
        page.quote(&label, &message.text, "`search` finds the rest");
    }
    for event in &heard.news {
        tell(&mut page, event);
    }
    if heard.more {
        page.line("[there is more; call `check_inbox` again]");
    }
    page.next("take it into account; `recall_brief` has the whole; `send_message` answers.")
}

/// Something that happened to the brief, and what was said with it.
fn tell(page: &mut Page, event: &EventView) {
    let by = format!("{} {}, {}", event.actor.sort, inline(&event.actor.name, NAME_BYTES), event.at);
    let Ok(what) = Event::decode(&event.kind, event.schema, event.body.get()) else { return };
    let rest = "`recall_brief` has the rest";
    match what {
        Event::PlanProposed(plan) => page.line(&format!("A plan was proposed, version {}, by {by}.", plan.version)),
        Event::Refinement(refined) => {
            page.line(&format!(
                "The spec moved to version {}, by {by}. Read what changed: `recall_brief`.",
                refined.version
            ));
            if let Some(why) = refined.why {
                page.quote("Why:", &why, rest);
            }
        }
        Event::SpecSnapshot(snapshot) => {
            page.line(&format!("Version {} of the spec was accepted by {by}.", snapshot.version));
        }
        Event::DecisionMade(made) => {
            page.quote(&format!("Answer to question {}, by {by}:", made.question), &made.text, rest);
        }
        Event::CommentAdded(comment) => page.quote(&format!("Comment by {by}:"), &comment.text, rest),
        Event::StatusChanged(moved) => {
            page.line(&format!("The brief is `{}` now, by {by}.", moved.to));
            if let Some(why) = moved.why {
                page.quote("Why:", &why, rest);
            }
        }
        Event::LandingRejected(no) => page.quote(&format!("Landing {} was rejected:", no.number), &no.why, rest),
        Event::LandingHeld(held) => {
            page.quote(&format!("Landing {} waits for the operator:", held.number), &held.why.join("\n"), rest);
        }
        Event::Landed(landed) => page.line(&format!("Landing {} is in MAIN.", landed.number)),
        Event::RolledBack(back) => page.line(&format!("Landing {} was taken back out of MAIN.", back.number)),
        Event::DispatchExpired(over) => page.line(&format!("The claim of dispatch {} ran out.", over.number)),
        Event::DispatchCancelled(over) => page.line(&format!("Dispatch {} was cancelled: stop here.", over.number)),
        Event::LeaseBreached(breach) => {
            let holder = inline(&breach.holder, NAME_BYTES);
            page.quote(
                &format!("Commit {} changes what {holder} had reserved:", breach.commit),
                &breach.paths.join("\n"),
                rest,
            );
        }
        _ => page.line(&format!("{} by {by}.", event.kind)),
    }
}
