//! The inbox has what waits for a person, for as long as it waits.

use crate::harness::{Engine, agent, operator, shop};
use flower_contract::view::InboxItem;
use flower_core::attention::Cause;
use flower_core::landing::State;
use flower_core::{LandingId, Role};

async fn inbox(engine: &Engine) -> Vec<InboxItem> {
    engine.app.overview.inbox(&operator()).await.expect("an inbox")
}

fn causes(items: &[InboxItem]) -> Vec<Cause> {
    items.iter().map(|item| item.cause).collect()
}

#[tokio::test]
async fn a_held_landing_waits_in_the_inbox_until_it_is_cancelled() {
    let engine = Engine::with_project().await;
    engine.run_merge_queue();
    engine.work("one", ".github/workflows/ci.yml", "on: push\n").await;
    let held = engine.land("one").await;
    assert_eq!(held.state, State::Approval);
    let items = inbox(&engine).await;
    assert_eq!((causes(&items), items[0].landing), (vec![Cause::LandingHeld], Some(held.id)));
    engine.app.merge_queue.cancel(&operator(), LandingId(held.id), None).await.expect("cancelled");
    assert_eq!(causes(&inbox(&engine).await), []);
}

#[tokio::test]
async fn a_change_of_main_by_hand_is_an_alarm_until_it_is_restored() {
    let engine = Engine::with_project().await;
    engine.commit("by-hand.txt", "x\n");
    engine.app.merge_queue.main_view(&shop()).await.expect("MAIN is looked at");
    let items = inbox(&engine).await;
    assert_eq!((causes(&items), items[0].project.as_deref()), (vec![Cause::MainChanged], Some("shop")));
    engine.app.merge_queue.restore_main(&operator(), &shop()).await.expect("restored");
    assert_eq!(causes(&inbox(&engine).await), []);
}

#[tokio::test]
async fn a_message_waits_for_the_operator_until_it_is_marked_as_seen() {
    let engine = Engine::with_project().await;
    let messages = &engine.app.messages;
    messages.send(&agent(Role::Orchestrator), "operator", "look at this".into()).await.expect("sent");
    assert_eq!(causes(&inbox(&engine).await), [Cause::MessageReceived]);
    messages.mark_seen(&operator(), None).await.expect("seen");
    assert_eq!(causes(&inbox(&engine).await), []);
}
