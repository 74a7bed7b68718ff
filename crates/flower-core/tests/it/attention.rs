//! What needs a person, and what does not.

use flower_core::agent::{Agent, End, Ending};
use flower_core::attention::{
    Cause, ItemKind, OpenQuestion, ProjectMain, Situation, Stuck, Tone, Unaccepted, Unseen, attention, message_to_agent,
};
use flower_core::event::LandingQueued;
use flower_core::landing::{Landing, Priority, Source, State};
use flower_core::main_branch::{Alarm, Main, Raised};
use flower_core::{
    Actor, ActorType, AgentId, Aggregate as _, BriefId, Context, DispatchId, Event, LandingId, MessageId, Permission,
    PermissionId, Role, Status, WorktreeId,
};

const BRIEF: BriefId = BriefId(3);
const AGENT: AgentId = AgentId(1);

fn ada() -> Actor {
    Actor { sort: ActorType::Agent, name: "ada".into() }
}

fn at(minute: u64) -> String {
    format!("2026-01-01T00:{minute:02}:00.000000Z")
}

fn main(alarm: Option<Alarm>) -> Main {
    let raised =
        |what| Raised { what, found: None, text: "it is not as flower left it".into(), files: vec![], at: at(1) };
    Main { alarm: alarm.map(raised), ..Main::unrecorded("main".into(), "a".repeat(40), at(0)) }
}

fn landing(state: State) -> Landing {
    let queued = LandingQueued {
        number: LandingId(7),
        project: "shop".into(),
        source: Source::Worktree,
        worktree: Some("price".into()),
        worktree_number: Some(WorktreeId(1)),
        commit: "a".repeat(40),
        title: "Price".into(),
        briefs: vec![BRIEF],
        priority: Priority::Normal,
        of: None,
        why: None,
        fix: false,
    };
    let mut landing = {
        let context = Context { brief: None, at: &at(2), by: "operator" };
        Landing::created_by(&Event::LandingQueued(queued), &context).expect("a landing")
    };
    landing.state = state;
    landing.reason = Some("it changes the checks".into());
    landing
}

fn agent(ended: Option<Ending>) -> Agent {
    Agent {
        number: AGENT,
        name: "ada".into(),
        profile: "claude".into(),
        role: Role::Worker,
        standing: false,
        project: "shop".into(),
        worktree: "price".into(),
        brief: Some(BRIEF),
        dispatch: Some(DispatchId(4)),
        member: 0,
        restarts: 0,
        refreshes: 0,
        model: None,
        tools: None,
        hand_over: None,
        ended: ended.map(|how| End { how, why: "it ended three times".into(), output: None }),
        by: "operator".into(),
        started_at: at(0),
        ended_at: ended.map(|_| at(3)),
    }
}

fn permission(allowed: Option<bool>) -> Permission {
    Permission {
        number: PermissionId(9),
        agent: AGENT,
        name: "ada".into(),
        worktree: "price".into(),
        brief: Some(BRIEF),
        title: "rm -r build".into(),
        sort: "run_command".into(),
        paths: vec!["build".into()],
        seconds: 60,
        at: at(4),
        allowed,
    }
}

fn waiting(status: Status) -> Unaccepted {
    Unaccepted {
        brief: BRIEF,
        title: "Price".into(),
        status,
        by: ada(),
        at: at(5),
        version: Some(2),
        no_commits: false,
    }
}

fn causes(situation: &Situation) -> Vec<Cause> {
    attention(situation).iter().map(|item| item.cause).collect()
}

#[test]
fn nothing_needs_a_person_in_an_empty_situation() {
    assert_eq!(attention(&Situation::default()), []);
}

fn asked(help: bool) -> OpenQuestion {
    let (title, text) = ("Price".into(), "gross or net?".into());
    OpenQuestion { brief: BRIEF, title, question: 1, text, help, by: ada(), at: at(6) }
}

#[test]
fn each_cause_is_reached_and_has_a_command_that_settles_it() {
    let settings_problem = Some("flower.toml is not valid".to_owned());
    let situation = Situation {
        questions: [false, true].map(asked).into(),
        unaccepted: [Status::Draft, Status::Planned, Status::InReview].map(waiting).into(),
        landings: vec![landing(State::Approval)],
        mains: vec![ProjectMain { project: "shop".into(), main: main(Some(Alarm::Moved)), settings_problem }],
        remote_conflicts: vec![landing(State::Rejected)],
        permissions: vec![permission(None)],
        failed: vec![agent(Some(Ending::Failed))],
        without_tools: vec![Agent { tools: Some(false), ..agent(None) }],
        stuck: vec![Stuck {
            dispatch: DispatchId(4),
            brief: BRIEF,
            title: "Price".into(),
            why: "`claude` cannot run here".into(),
            at: at(8),
        }],
        messages: vec![Unseen { number: MessageId(5), by: ada(), text: "done".into(), at: at(7), seq: 90 }],
    };
    let items = attention(&situation);
    // News are in the inbox of an agent only.
    for cause in Cause::ALL.iter().filter(|cause| **cause != Cause::News) {
        let item = items.iter().find(|item| item.cause == *cause).unwrap_or_else(|| panic!("{cause} is not reached"));
        assert!(item.next.starts_with("flower "), "{cause}: {}", item.next);
        assert!(!item.title.is_empty() && !item.text.is_empty(), "{cause}: {item:?}");
    }
    assert!(items.is_sorted_by_key(|item| item.at.clone()), "oldest first");
}

#[test]
fn of_landings_only_a_held_one_needs_a_person() {
    for state in State::ALL {
        let items = attention(&Situation { landings: vec![landing(*state)], ..Situation::default() });
        assert_eq!(items.len(), usize::from(*state == State::Approval), "{state}");
    }
}

#[test]
fn a_running_agent_without_tools_needs_a_person() {
    let of = |ended, tools| Situation { without_tools: vec![Agent { tools, ..agent(ended) }], ..Situation::default() };
    assert_eq!(causes(&of(None, Some(false))), [Cause::AgentWithoutTools]);
    for others in [of(None, Some(true)), of(None, None), of(Some(Ending::Retired), Some(false))] {
        assert_eq!(causes(&others), []);
    }
}

#[test]
fn of_agents_that_ended_only_a_failed_one_needs_a_person() {
    for how in Ending::ALL {
        let items = attention(&Situation { failed: vec![agent(Some(*how))], ..Situation::default() });
        assert_eq!(items.len(), usize::from(*how == Ending::Failed), "{how}");
    }
    assert_eq!(causes(&Situation { failed: vec![agent(None)], ..Situation::default() }), []);
}

#[test]
fn a_brief_that_is_over_or_parked_waits_for_no_acceptance() {
    for status in Status::ALL {
        let open = [Status::Draft, Status::Planned, Status::InProgress, Status::InReview].contains(status);
        let items = attention(&Situation { unaccepted: vec![waiting(*status)], ..Situation::default() });
        assert_eq!(items.len(), usize::from(open), "{status}");
    }
}

#[test]
fn a_result_without_commits_says_so() {
    let empty = Unaccepted { no_commits: true, ..waiting(Status::InReview) };
    let items = attention(&Situation { unaccepted: vec![empty], ..Situation::default() });
    assert!(items[0].text.contains("no commits"), "{}", items[0].text);
}

#[test]
fn every_alarm_of_main_names_its_way_out() {
    for what in Alarm::ALL {
        let mains = vec![ProjectMain { project: "shop".into(), main: main(Some(*what)), settings_problem: None }];
        let items = attention(&Situation { mains, ..Situation::default() });
        assert!(items[0].text.contains("`flower main "), "{what}: {}", items[0].text);
        assert_eq!((items[0].cause.kind(), items[0].cause.tone()), (ItemKind::Alarm, Tone::Danger));
    }
}

#[test]
fn a_decided_permission_needs_no_person_and_an_open_one_has_a_deadline() {
    for allowed in [true, false] {
        assert_eq!(causes(&Situation { permissions: vec![permission(Some(allowed))], ..Situation::default() }), []);
    }
    let items = attention(&Situation { permissions: vec![permission(None)], ..Situation::default() });
    assert_eq!((items[0].seconds, items[0].title.as_str()), (Some(60), "ada wants to run command"));
}

#[test]
fn an_agent_is_told_of_its_tool_and_not_of_commands() {
    let item = message_to_agent(&Unseen { number: MessageId(5), by: ada(), text: "stop".into(), at: at(7), seq: 90 });
    assert!(item.next.contains("`check_inbox`") && item.seq.is_none(), "{item:?}");
}
