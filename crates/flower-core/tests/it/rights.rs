//! The table of rights for use cases that are more than one command.

use flower_core::policy::{Action, Right, require_action};
use flower_core::{Actor, ActorType, Caller, Door, Role};

#[test]
fn only_the_operator_owns_and_only_an_orchestrator_steers_beside_the_operator() {
    for action in Action::ALL {
        let (right, what) = action.right();
        for role in Role::ALL {
            let actor = Actor { sort: ActorType::Agent, name: "ben".into() };
            let caller = Caller::unbound(actor, *role, Door::Api);
            let may = match right {
                Right::Own => *role == Role::Operator,
                _ => matches!(role, Role::Operator | Role::Orchestrator),
            };
            match require_action(&caller, action) {
                Ok(()) => assert!(may, "{role} may {what}"),
                Err(refusal) => {
                    assert!(!may, "{role} may not {what}");
                    assert!(refusal.to_string().contains(what), "{refusal}");
                }
            }
        }
    }
}
