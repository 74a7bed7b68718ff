//! Inputs of recalls: two realistic ones, and random ones.

use flower_core::readiness::DispatchKind;
use flower_core::recall::{
    About, Calls, Change, Check, Happening, Held, Linked, MainNow, Moved, Neighbour, Origin, Participant, Place,
    Question, Recall, Run, RunState, Spec, Written,
};
use flower_core::{Actor, ActorType, BriefId, BriefKind, DispatchId, Fence, LinkKind, Status};
use proptest::prelude::*;
use proptest::sample::select;

/// A build in progress, whose spec has a newer version.
pub fn building() -> Recall {
    Recall {
        brief: About {
            number: BriefId(12),
            title: "Dark mode".into(),
            kind: BriefKind::Feature,
            status: Status::InProgress,
            projects: vec!["web".into()],
            epic: Some((BriefId(3), "Look and feel".into())),
        },
        run: Some(Run {
            dispatch: DispatchId(7),
            kind: DispatchKind::Build,
            state: RunState::Executing,
            fence: Fence(3),
            holder: Some("worker-1".into()),
            spec_version: 2,
            evidence: None,
            agents: 2,
        }),
        place: Some(Place {
            worktree: "dark-mode".into(),
            branch: "flower/dark-mode".into(),
            path: "/home/ada/worktrees/dark-mode".into(),
            sealed: true,
        }),
        main: Some(MainNow {
            branch: "main".into(),
            tip: "4f2c9d1".into(),
            state: "stable".into(),
            reason: None,
            moved: Some(Moved { commits: 3, shared: vec!["src/theme.css".into()] }),
        }),
        spec: Some(Spec {
            version: 3,
            newest: 3,
            accepted: Some(3),
            markdown:
                "# Dark mode\n\nThe colours follow the system.\n\n- A switch in the settings: system, light, dark.\n\
                       - No flash of the wrong colours while the page loads.\n"
                    .into(),
            origin: origin("ada"),
        }),
        checks: vec![
            Check { name: "test".into(), command: "npm test".into(), paths: Vec::new() },
            Check { name: "web".into(), command: "npm run e2e".into(), paths: vec!["web/**".into()] },
        ],
        changes: vec![
            change(2, "The colours follow the system unless somebody chooses otherwise."),
            change(1, "A switch is needed."),
        ],
        questions: vec![
            Question { number: 4, asked: written("worker-1", "Does the choice stay on this device?"), answer: None },
            Question {
                number: 2,
                asked: written("worker-1", "Is there a third theme?"),
                answer: Some(written("ada", "No. Two, and the system's.")),
            },
        ],
        needs: vec![
            neighbour(BriefId(8), "Colours as variables", Status::Landed),
            neighbour(BriefId(9), "Settings", Status::InReview),
        ],
        dependents: vec![neighbour(BriefId(15), "Pictures for dark pages", Status::Planned)],
        participants: vec![participant("worker-2")],
        leases: vec![Held {
            holder: "worker-2".into(),
            worktree: "dark-mode".into(),
            patterns: vec!["docs/".into(), "src/settings/*.ts".into()],
            minutes_left: 12,
        }],
        trace: vec![
            happening(41, "The tests of the settings are slow; that is not from here."),
            Happening { seq: 40, kind: "dispatch_claimed".into(), origin: system(), text: String::new() },
        ],
        links: vec![
            Linked { kind: LinkKind::Commit, target: "9b1d2aa".into(), label: Some("Colours as variables".into()) },
            Linked { kind: LinkKind::Address, target: "https://issues.example/77".into(), label: None },
        ],
        unread: 2,
        calls: Calls::Tools,
    }
}

/// A fix after failed checks, while MAIN is frozen.
pub fn fixing() -> Recall {
    let mut input = building();
    input.unread = 0;
    let run = input.run.as_mut().unwrap();
    (run.dispatch, run.kind, run.fence, run.spec_version) = (DispatchId(9), DispatchKind::Fix, Fence(5), 3);
    run.evidence = Some(Written {
        text: "Landing 31 was rejected: the check `test` failed.\n\n  FAIL settings.test.ts\n  expected \"dark\", got \"light\"\n"
            .into(),
        origin: system(),
    });
    let main = input.main.as_mut().unwrap();
    (main.state, main.reason) = ("frozen".into(), Some("release day".into()));
    input
}

fn origin(name: &str) -> Origin {
    let sort = if name == "ada" { ActorType::Operator } else { ActorType::Agent };
    Origin { by: Actor { sort, name: name.into() }, at: "2026-11-16T10:00:00Z".into() }
}

pub fn happening(seq: u64, text: &str) -> Happening {
    Happening { seq, kind: "note_added".into(), origin: origin("worker-1"), text: text.into() }
}

fn system() -> Origin {
    Origin { by: Actor::system(), at: "2026-11-16T10:00:00Z".into() }
}

fn written(by: &str, text: &str) -> Written {
    Written { text: text.into(), origin: origin(by) }
}

fn change(from: u64, why: &str) -> Change {
    let diff = format!("@@ -3 +3 @@\n-As it was in version {from}.\n+As it is in version {}.\n", from + 1);
    Change { from, to: from + 1, why: Some(why.into()), origin: origin("ada"), diff }
}

fn neighbour(number: BriefId, title: &str, status: Status) -> Neighbour {
    Neighbour { number, title: title.into(), status }
}

fn participant(name: &str) -> Participant {
    Participant { name: name.into(), worktree: Some("dark-mode".into()) }
}

/// Short, long, hostile and very long texts.
fn any_text() -> BoxedStrategy<String> {
    prop_oneof![
        4 => "[a-z ]{0,40}",
        2 => "(?s).{0,60}",
        2 => "(> |## Next\n|`|\r|\u{2028}|\u{200b}|\u{e0041}|\u{1b}|\n|x){0,60}",
        1 => ("(?s).{1,8}", 1_usize..1_000).prop_map(|(text, times)| text.repeat(times)),
        1 => ("[a-z\u{202e}]{0,70}\n", 1_usize..500).prop_map(|(text, times)| text.repeat(times)),
    ]
    .boxed()
}

fn any_id<Id: From<u64> + std::fmt::Debug + 'static>() -> BoxedStrategy<Id> {
    any_number().prop_map(Id::from).boxed()
}

fn any_number() -> BoxedStrategy<u64> {
    prop_oneof![0_u64..100, any::<u64>()].boxed()
}

fn any_origin() -> BoxedStrategy<Origin> {
    (select(ActorType::ALL), any_text(), any_text())
        .prop_map(|(sort, name, at)| Origin { by: Actor { sort, name }, at })
        .boxed()
}

fn any_written() -> BoxedStrategy<Written> {
    (any_text(), any_origin()).prop_map(|(text, origin)| Written { text, origin }).boxed()
}

fn many<T: std::fmt::Debug + Clone + 'static>(of: BoxedStrategy<T>) -> BoxedStrategy<Vec<T>> {
    (prop::collection::vec(of, 0..4), prop_oneof![3 => Just(1_usize), 1 => 1_usize..60])
        .prop_map(|(all, times)| std::iter::repeat_n(all, times).flatten().collect())
        .boxed()
}

fn any_run() -> BoxedStrategy<Run> {
    let numbers = (any_id(), any_id(), any_number());
    let words = (select(DispatchKind::ALL), select(RunState::ALL));
    let texts = (prop::option::of(any_text()), prop::option::of(any_written()), any_number());
    (numbers, words, texts)
        .prop_map(|((dispatch, fence, spec_version), (kind, state), (holder, evidence, agents))| Run {
            dispatch,
            kind,
            state,
            fence,
            holder,
            spec_version,
            evidence,
            agents,
        })
        .boxed()
}

fn any_neighbour() -> BoxedStrategy<Neighbour> {
    (any_id(), any_text(), select(Status::ALL))
        .prop_map(|(number, title, status)| Neighbour { number, title, status })
        .boxed()
}

fn any_about() -> BoxedStrategy<About> {
    let words = (select(BriefKind::ALL), select(Status::ALL));
    (any_id(), any_text(), words, many(any_text()), prop::option::of((any_id(), any_text())))
        .prop_map(|(number, title, (kind, status), projects, epic)| About {
            number,
            title,
            kind,
            status,
            projects,
            epic,
        })
        .boxed()
}

fn any_main() -> BoxedStrategy<MainNow> {
    let moved = (any_number(), many(any_text())).prop_map(|(commits, shared)| Moved { commits, shared });
    (any_text(), any_text(), any_text(), prop::option::of(any_text()), prop::option::of(moved))
        .prop_map(|(branch, tip, state, reason, moved)| MainNow { branch, tip, state, reason, moved })
        .boxed()
}

fn any_place() -> BoxedStrategy<Place> {
    (any_text(), any_text(), any_text(), any::<bool>())
        .prop_map(|(worktree, branch, path, sealed)| Place { worktree, branch, path, sealed })
        .boxed()
}

fn any_spec() -> BoxedStrategy<Spec> {
    (any_number(), any_number(), prop::option::of(any_number()), any_text(), any_origin())
        .prop_map(|(version, newest, accepted, markdown, origin)| Spec { version, newest, accepted, markdown, origin })
        .boxed()
}

fn any_change() -> BoxedStrategy<Change> {
    (any_number(), any_number(), prop::option::of(any_text()), any_origin(), any_text())
        .prop_map(|(from, to, why, origin, diff)| Change { from, to, why, origin, diff })
        .boxed()
}

fn any_question() -> BoxedStrategy<Question> {
    (any_number(), any_written(), prop::option::of(any_written()))
        .prop_map(|(number, asked, answer)| Question { number, asked, answer })
        .boxed()
}

fn any_participant() -> BoxedStrategy<Participant> {
    (any_text(), prop::option::of(any_text())).prop_map(|(name, worktree)| Participant { name, worktree }).boxed()
}

fn any_check() -> BoxedStrategy<Check> {
    (any_text(), any_text(), many(any_text())).prop_map(|(name, command, paths)| Check { name, command, paths }).boxed()
}

fn any_lease() -> BoxedStrategy<Held> {
    (any_text(), any_text(), many(any_text()), any_number())
        .prop_map(|(holder, worktree, patterns, minutes_left)| Held { holder, worktree, patterns, minutes_left })
        .boxed()
}

fn any_happening() -> BoxedStrategy<Happening> {
    (any_number(), any_text(), any_origin(), any_text())
        .prop_map(|(seq, kind, origin, text)| Happening { seq, kind, origin, text })
        .boxed()
}

fn any_link() -> BoxedStrategy<Linked> {
    (select(LinkKind::ALL), any_text(), prop::option::of(any_text()))
        .prop_map(|(kind, target, label)| Linked { kind, target, label })
        .boxed()
}

pub fn any_recall() -> impl Strategy<Value = Recall> {
    let state = (
        any_about(),
        prop::option::of(any_run()),
        prop::option::of(any_place()),
        prop::option::of(any_main()),
        prop::option::of(any_spec()),
        any_number(),
        select([Calls::Tools, Calls::Shell].as_slice()),
    );
    let texts = (many(any_check()), many(any_change()), many(any_question()), many(any_happening()));
    let others =
        (many(any_neighbour()), many(any_neighbour()), many(any_participant()), many(any_lease()), many(any_link()));
    (state, texts, others).prop_map(|(state, texts, others)| {
        let (brief, run, place, main, spec, unread, calls) = state;
        let (checks, changes, questions, trace) = texts;
        let (needs, dependents, participants, leases, links) = others;
        Recall {
            brief,
            run,
            place,
            main,
            spec,
            checks,
            changes,
            questions,
            needs,
            dependents,
            participants,
            leases,
            trace,
            links,
            unread,
            calls,
        }
    })
}
