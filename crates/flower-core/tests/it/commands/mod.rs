//! Random commands, valid and invalid, from several callers. The store's tests use them too.
//!
//! The sets of numbers and names are small, so that commands concern the same objects; a test proves that every kind of
//! event occurs.

mod agents;

use agents::{agents, claims, crew_of_two};
use flower_core::command::BriefChanges;
use flower_core::event::{Image, LeaseBreached, WorktreeDiverged, WorktreeRemoved};
use flower_core::landing::{self, Check, HoldCode, HoldReason, Priority, Source, Verdict};
use flower_core::main_branch::{self, Alarm, Settlement};
use flower_core::readiness::DispatchKind;
use flower_core::worktree::{self, Seal, WorktreeKind};
use flower_core::{
    Actor, ActorType, Binding, BootTime, BriefId, BriefKind, Caller, Command, DispatchId, Door, Fence, LandingId,
    LinkKind, Role, Status, WorktreeId, chain, dispatch, lease, review, token,
};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt::Debug;
use std::ops::Range;

/// A sequence of commands that starts with enough setup for the others to have an effect. Some sequences concentrate on
/// dependencies, others on worktrees.
pub fn steps(most: usize) -> impl Strategy<Value = Vec<(Caller, Command)>> {
    let anything = prop::collection::vec((caller(), command()), most / 2..most).boxed();
    let tangle = prop::collection::vec((Just(operator()), tangle()), most / 2..most).boxed();
    let first = prop::collection::vec(select(BriefKind::ALL), 2..4);
    let comings = prop::collection::vec((Just(operator()), worktrees()), most / 2..most).boxed();
    let queue = prop::collection::vec((Just(operator()), landings()), most / 2..most).boxed();
    let worker = prop_oneof![3 => Just(operator()), 2 => caller()].boxed();
    let work = prop::collection::vec((worker.clone(), dispatches()), most / 2..most).prop_map(asked).boxed();
    let deeds = prop_oneof![3 => agents(), 1 => claims(), 1 => dispatches()];
    let crew = prop::collection::vec((worker, deeds), most / 2..most);
    let crew = crew.prop_map(|rest| asked(crew_of_two().chain(rest).collect())).boxed();
    (first, prop_oneof![6 => anything, 2 => tangle, 2 => comings, 4 => queue, 8 => work, 6 => crew]).prop_map(
        |(first, rest)| {
            let projects =
                ["web", "api"].map(|name| Command::RegisterProject { name: name.into(), root: format!("/{name}") });
            let briefs = [BriefKind::Epic].into_iter().chain(first).map(plain_brief);
            let mains = ["web", "api"].map(|name| Command::Main {
                project: name.into(),
                step: main_branch::Step::Record { branch: "main".into(), tip: commit(0) },
            });
            let begin = projects.into_iter().chain(mains).chain(briefs).map(|command| (operator(), command));
            let mut steps: Vec<_> = begin.chain(rest).collect();
            // In production ids are random; here a counter makes them unique.
            let mut tokens = 0;
            for (_, command) in &mut steps {
                if let Command::IssueToken(request) = command {
                    tokens += 1;
                    request.id = format!("t{tokens}");
                    request.sha256 = chain::sha256(request.id.as_bytes());
                }
            }
            steps
        },
    )
}

/// Two dispatched briefs in a worktree that is ready, followed by `rest`.
fn asked(rest: Vec<(Caller, Command)>) -> Vec<(Caller, Command)> {
    let planned = [2, 3].map(BriefId).into_iter().flat_map(|brief| {
        let plan = Command::ProposePlan { brief, markdown: "# Plan\n".to_owned() };
        [plan, Command::Accept { brief, version: None }]
    });
    let (project, name, from) = ("web".to_owned(), "fix".to_owned(), "main".to_owned());
    let (kind, seal, base) = (WorktreeKind::Lane, Seal::Sealed, commit(0));
    let place = worktree::Request { project, name, kind, seal, base, from, brief: None };
    let made = Command::FinishWorktree { number: WorktreeId(1), path: "/w".into() };
    let ask = |number| {
        let (brief, worktree, agents) = (BriefId(number), Some("fix".into()), number);
        dispatch::Request { brief, worktree, agents, ..dispatch::Request::default() }
    };
    let asked = (2..4).map(|number| Command::RequestDispatch(ask(number)));
    let first = planned.chain([Command::RequestWorktree(place), made]).chain(asked);
    first.map(|command| (operator(), command)).chain(rest).collect()
}

/// Epics and dependencies among a few briefs, so that cycles over several of them are attempted.
fn tangle() -> impl Strategy<Value = Command> {
    let near = || id(1..9);
    let epic = |epic| BriefChanges { epic: Some(epic), ..BriefChanges::default() };
    let kind = |kind| BriefChanges { kind: Some(kind), ..BriefChanges::default() };
    let either = || select(&[BriefKind::Epic, BriefKind::Epic, BriefKind::Feature][..]);
    prop_oneof![
        4 => (either(), maybe(6, near()), prop::collection::vec(near(), 0..2)).prop_map(|(kind, parent, waits_for)| {
            let mut command = plain_brief(kind);
            if let Command::CreateBrief(flower_core::brief::Request { epic, needs, .. }) = &mut command {
                (*epic, *needs) = (parent, waits_for);
            }
            command
        }),
        6 => (near(), near()).prop_map(|(brief, needs)| Command::AddNeed { brief, needs }),
        2 => (near(), near()).prop_map(|(brief, needs)| Command::DropNeed { brief, needs }),
        6 => (near(), maybe(9, near())).prop_map(move |(brief, to)| Command::EditBrief { brief, changes: epic(to) }),
        2 => (near(), either()).prop_map(move |(brief, to)| Command::EditBrief { brief, changes: kind(to) }),
    ]
}

pub fn operator() -> Caller {
    someone(ActorType::Operator, "mike", Role::Operator, None)
}

fn someone(sort: ActorType, name: &str, role: Role, brief: Option<BriefId>) -> Caller {
    let worktree = brief.map(|number| format!("lane-{number}"));
    let mut caller = Caller::unbound(Actor { sort, name: name.to_owned() }, role, Door::Api);
    (caller.brief, caller.worktree) = (brief, worktree);
    caller
}

fn caller() -> impl Strategy<Value = Caller> {
    let agent = |name, role, brief| Just(someone(ActorType::Agent, name, role, brief));
    prop_oneof![
        12 => Just(operator()),
        6 => agent("conductor", Role::Orchestrator, None),
        // Another actor with the operator's name.
        2 => agent("mike", Role::Orchestrator, None),
        2 => agent("worker-1", Role::Worker, Some(BriefId(1))),
        2 => agent("worker-2", Role::Worker, Some(BriefId(2))),
        1 => agent("idle", Role::Worker, None),
        8 => (1..5u64, 1..4u64, any::<bool>()).prop_map(|(token, number, member)| {
            let mut caller = someone(ActorType::Agent, &format!("agent-{token}"), Role::Worker, Some(BriefId(number)));
            caller.token = Some(format!("t{token}"));
            caller.worktree = Some(["fix", "lane-1"][usize::from(token > 2)].to_owned());
            caller.run = Some(Binding { dispatch: DispatchId(number), member: member && token == 4 });
            caller
        }),
        1 => agent("night-watch", Role::Ops, None),
        1 => Just(Caller::system()),
    ]
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => create_brief(),
        6 => (busy(), markdown()).prop_map(|(brief, markdown)| Command::ProposePlan { brief, markdown }),
        14 => (busy(), maybe(1, 0..4u64)).prop_map(|(brief, version)| Command::Accept { brief, version }),
        4 => (number(), markdown(), maybe(1, 0..4u64), maybe(1, line()))
            .prop_map(|(brief, markdown, base, why)| Command::Refine { brief, markdown, base, why }),
        20 => (busy(), status(), maybe(1, line()))
            .prop_map(|(brief, status, why)| Command::SetStatus { brief, status, why }),
        9 => (busy(), changes()).prop_map(|(brief, changes)| Command::EditBrief { brief, changes }),
        6 => (busy(), number()).prop_map(|(brief, needs)| Command::AddNeed { brief, needs }),
        3 => (busy(), number()).prop_map(|(brief, needs)| Command::DropNeed { brief, needs }),
        3 => (number(), markdown(), any::<bool>(), images())
            .prop_map(|(brief, text, comment, images)| Command::AddNote { brief, text, comment, images }),
        3 => (busy(), markdown(), any::<bool>()).prop_map(|(brief, text, help)| Command::Ask { brief, text, help }),
        5 => (busy(), 0..4u64, markdown())
            .prop_map(|(brief, question, text)| Command::Answer { brief, question, text }),
        7 => (number(), link_kind(), target(), maybe(1, line()))
            .prop_map(|(brief, kind, target, label)| Command::AddLink { brief, kind, target, label }),
        3 => (line(), maybe(2, number()), maybe(1, markdown()))
            .prop_map(|(title, brief, text)| Command::CreateScratchpad { title, brief, text }),
        3 => (number(), markdown(), any::<bool>(), maybe(1, 0..4u64))
            .prop_map(|(number, text, append, base)| Command::WriteScratchpad { number, text, append, base }),
        2 => (project(), select(&["/web", "/api", "/docs"][..]))
            .prop_map(|(name, root)| Command::RegisterProject { name, root: root.to_owned() }),
        1 => project().prop_map(|name| Command::RemoveProject { name }),
        1 => (project(), select(&["/web", "/moved"][..]))
            .prop_map(|(name, root)| Command::MoveProject { name, root: root.to_owned() }),
        1 => (project(), project()).prop_map(|(name, to)| Command::RenameProject { name, to }),
        3 => (select(&["worker-1", "worker-2", "worker-3", "a b"][..]), select(Role::ALL), maybe(1, number())).prop_map(
            |(agent, role, brief)| {
                let (id, agent, sha256) = (String::new(), agent.to_owned(), String::new());
                Command::IssueToken(token::Request { id, agent, role, brief, worktree: Some("lane-1".into()), sha256, run: None })
            }
        ),
        8 => worktrees(),
        8 => landings(),
        8 => dispatches(),
        4 => agents(),
        1 => (project(), 0..3u64).prop_map(|(project, list)| {
            Command::ApproveCommands { project, sha256: chain::sha256(&list.to_be_bytes()) }
        }),
        4 => (1..4u64).prop_map(|token| Command::RevokeToken { id: format!("t{token}") }),
        1 => (0..9u64, 0..9u64).prop_map(|(proved_seq, found_seq)| {
            let hash = |seq: u64| chain::sha256(&seq.to_be_bytes());
            let (proved_hash, found_hash) = (hash(proved_seq), hash(found_seq));
            Command::AcceptLoss { proved_seq, proved_hash, found_seq, found_hash }
        }),
    ]
}

/// Creates, removes and restores a few worktrees.
fn worktrees() -> impl Strategy<Value = Command> {
    let near = || mostly(1..4);
    prop_oneof![
        6 => worktree_request(),
        8 => near().prop_map(|number| Command::FinishWorktree { number, path: "/w".into() }),
        1 => near().prop_map(|number| Command::FailWorktree { number, why: "no space".into() }),
        2 => near().prop_map(worktree_diverged),
        8 => near().prop_map(|number| Command::RemoveWorktree { number }),
        8 => (near(), any::<bool>()).prop_map(|(number, branch_kept)| worktree_gone(number, branch_kept)),
        6 => near().prop_map(|number| Command::RestoreWorktree { number }),
        2 => near().prop_map(|number| Command::DropArchive { number }),
        1 => (near(), maybe(1, line()))
            .prop_map(|(number, why_not)| Command::NoteSync { number, onto: commit(1), why_not }),
    ]
}

/// Dispatches briefs, and claims, renews, expires and hands back dispatches, with path leases in between.
fn dispatches() -> impl Strategy<Value = Command> {
    let near = || mostly(1..3);
    prop_oneof![
        3 => dispatch_request(),
        3 => busy().prop_map(|brief| Command::AutoDispatch { brief }),
        24 => (near(), dispatch_step()).prop_map(|(number, step)| Command::Dispatch { number, step }),
        4 => (near(), id(0..4), moment())
            .prop_map(|(dispatch, fence, moment)| Command::Heartbeat { dispatch, fence, moment }),
        8 => (near(), any::<bool>()).prop_map(|(dispatch, member)| {
            let (id, agent, sha256) = (String::new(), "agent-9".to_owned(), String::new());
            let (role, worktree) = (Role::Worker, Some("fix".to_owned()));
            let run = Some(Binding { dispatch, member });
            Command::IssueToken(token::Request { id, agent, role, brief: Some(BriefId(1)), worktree, sha256, run })
        }),
        6 => take_lease(),
        3 => (mostly(1..3), maybe(1, moment()))
            .prop_map(|(number, over)| Command::ReleaseLease { number, why: "done".into(), over }),
        1 => Just(Command::BreachLease(LeaseBreached {
            project: "web".into(),
            worktree: "fix".into(),
            commit: commit(3),
            by: None,
            holder: "agent-1".into(),
            paths: vec!["src/a.rs".into()],
        })),
        3 => (select(&["operator", "agent-1", "agent-9", "fix", "nobody", "a b"][..]), markdown())
            .prop_map(|(to, text)| Command::SendMessage { to: to.to_owned(), text }),
        2 => (select(&["fix", "gone"][..]), line(), markdown(), maybe(1, Just("agent-1".to_owned())))
            .prop_map(|(worktree, file, text, to)| Command::Remark(remark(worktree, file, text, to))),
        2 => (1..4u64).prop_map(|token| Command::RevokeToken { id: format!("t{token}") }),
        1 => line().prop_map(|what| Command::NoteRefused { what, why: "no".into() }),
        4 => (busy(), markdown()).prop_map(|(brief, markdown)| Command::ProposePlan { brief, markdown }),
        8 => busy().prop_map(|brief| Command::Accept { brief, version: None }),
        2 => busy().prop_map(|brief| Command::EditBrief {
            brief,
            changes: BriefChanges { auto_dispatch: Some(true), design_loop: Some(brief == BriefId(2)), ..BriefChanges::default() },
        }),
        2 => landing_request(),
        2 => (id(1..4), landing_step()).prop_map(|(number, step)| Command::Landing { number, step }),
        3 => worktrees(),
    ]
}

fn dispatch_request() -> impl Strategy<Value = Command> {
    let place = maybe(1, select(&["fix", "lane-1", "../up"][..]));
    (busy(), maybe(3, select(DispatchKind::ALL)), place, 0..4u64, maybe(1, id(1..4))).prop_map(
        |(brief, kind, worktree, agents, of): (_, _, _, _, Option<LandingId>)| {
            let worktree = worktree.map(str::to_owned);
            let profile = (agents == 2).then(|| "claude".to_owned());
            let evidence = of.map(|_| "the test is red".to_owned());
            Command::RequestDispatch(dispatch::Request { brief, kind, profile, worktree, agents, of, evidence })
        },
    )
}

/// Mostly the fence of the first claim.
fn fence() -> impl Strategy<Value = Fence> {
    prop_oneof![4 => Just(Fence(1)), 2 => Just(Fence(2)), 1 => id(0..5)]
}

fn dispatch_step() -> impl Strategy<Value = dispatch::Step> {
    use dispatch::{HandBack, Step};
    let name = || maybe(1, select(&["agent-1", "agent-2", "a b"][..]).prop_map(str::to_owned));
    let packet = || maybe(2, (1..5u64).prop_map(|token| format!("t{token}")));
    let back = |(fence, summary, failed): (Fence, String, bool)| {
        let not_done = failed.then(|| "all of it".to_owned());
        let (tip, commits) = (Some(commit(5)), vec![commit(5)]);
        Step::HandBack(HandBack { fence, summary, not_done, failed, tip, commits })
    };
    prop_oneof![
        10 => (name(), packet(), prop_oneof![9 => 1..60u64, 1 => Just(0)], moment())
            .prop_map(|(holder, packet, seconds, moment)| Step::Claim { holder, packet, seconds, moment }),
        6 => (fence(), maybe(3, Just(commit(2)))).prop_map(|(fence, base)| Step::Execute { fence, base }),
        8 => (fence(), markdown(), prop::bool::weighted(0.2)).prop_map(back),
        4 => moment().prop_map(|moment| Step::Expire { moment }),
        1 => maybe(1, line()).prop_map(|why| Step::Cancel { why }),
        3 => Just(Step::Land),
        2 => (0..4u64).prop_map(|n| Step::Commits(vec![(commit(n), "A change".into()), (commit(n + 1), String::new())])),
    ]
}

fn remark(worktree: &str, file: String, text: String, to: Option<String>) -> review::Request {
    let (project, worktree, quote) = ("web".to_owned(), worktree.to_owned(), file.clone());
    let remark =
        review::Remark { project, worktree, file, line: 1, side: review::Side::New, commit: commit(3), quote, text };
    review::Request { remark, to }
}

fn take_lease() -> impl Strategy<Value = Command> {
    let pattern = || select(&["src/", "src/a.rs", "**/*.rs", "docs", "../up", ""][..]).prop_map(str::to_owned);
    let place = select(&["fix", "fix", "lane-1"][..]);
    let holder = maybe(1, select(&["agent-1", "agent-2"][..]).prop_map(str::to_owned));
    (
        prop_oneof![3 => Just("web".to_owned()), 1 => project()],
        place,
        prop::collection::vec(pattern(), 0..3),
        0..99u64,
        holder,
        moment(),
    )
        .prop_map(|(project, worktree, patterns, seconds, holder, moment)| {
            let worktree = worktree.to_owned();
            Command::TakeLease(lease::Request { project, worktree, holder, patterns, seconds, moment })
        })
}

/// Time advances in jumps, and sometimes the machine restarts.
fn moment() -> impl Strategy<Value = BootTime> {
    (0..20u64, prop::bool::weighted(0.1)).prop_map(|(leap, restarted)| {
        let (boot, since) = if restarted { ("m:b", 1_000) } else { ("m:a", 0) };
        BootTime { boot: boot.to_owned(), now: leap * 7_000, since }
    })
}

fn commit(n: u64) -> String {
    chain::sha256(&n.to_be_bytes())[..40].to_owned()
}

/// Landings of a few briefs in all states, and changes to MAIN in between.
fn landings() -> impl Strategy<Value = Command> {
    let step = |number, step| Command::Landing { number, step };
    prop_oneof![
        8 => landing_request(),
        30 => (mostly(1..6), landing_step()).prop_map(move |(number, to)| step(number, to)),
        8 => (project(), main_step()).prop_map(|(project, step)| Command::Main { project, step }),
        4 => (busy(), number()).prop_map(|(brief, needs)| Command::AddNeed { brief, needs }),
    ]
}

fn landing_request() -> impl Strategy<Value = Command> {
    let briefs = prop::collection::vec(id(1..4), 0..3);
    let revert =
        (id(1..4), any::<bool>()).prop_map(|(of, fix)| Some(landing::Revert { of, why: "broken".into(), fix }));
    let reverts = prop_oneof![1 => Just(None), 1 => revert];
    (project(), select(Source::ALL), maybe(3, id(1..4)), 0..9u64, briefs, select(Priority::ALL), reverts).prop_map(
        |(project, source, worktree_number, n, briefs, priority, reverts)| {
            let worktree = worktree_number.map(|number: WorktreeId| format!("lane-{number}"));
            let (commit, title) = (commit(n), "A change".to_owned());
            let request = landing::Request {
                project,
                source,
                worktree,
                worktree_number,
                commit,
                title,
                briefs,
                priority,
                reverts,
            };
            Command::QueueLanding(request)
        },
    )
}

fn landing_step() -> impl Strategy<Value = landing::Step> {
    use landing::Step;
    let check = |ok: bool| Check {
        name: "test".into(),
        ok,
        code: i64::from(!ok),
        milliseconds: 12,
        log: "1-test.log".into(),
        skipped: false,
        reused: None,
    };
    prop_oneof![
        6 => (0..9u64).prop_map(|n| Step::Begin {
            onto: commit(n),
            merge_commit: commit(n + 10),
            upstream: n.is_multiple_of(3).then_some(n),
        }),
        2 => Just(Step::Hold { reasons: vec![changes_ci()], paths: vec![".github/ci.yml".into()] }),
        2 => any::<bool>().prop_map(|waive| Step::Approve { waive }),
        3 => line().prop_map(|why| Step::Requeue { why }),
        2 => any::<bool>().prop_map(move |ok| Step::ChecksRan { attempt: 1, checks: vec![check(ok)] }),
        1 => Just(Step::Flaked { check: "test".into() }),
        6 => (0..9u64, maybe(1, line()))
            .prop_map(|(n, note)| {
                let commands = note.is_some().then(|| commit(n));
                Step::Land { onto: commit(n), merge_commit: commit(n + 10), note, commands }
            }),
        2 => (select(Verdict::ALL), line()).prop_map(|(verdict, why)| {
            Step::Reject { verdict, why, paths: vec!["a.txt".into()], landed_there: vec![LandingId(1)] }
        }),
        1 => maybe(1, line()).prop_map(|why| Step::Cancel { why }),
    ]
}

fn main_step() -> impl Strategy<Value = main_branch::Step> {
    use main_branch::Step;
    let remote = || "origin".to_owned();
    prop_oneof![
        2 => (0..3u64).prop_map(|n| Step::Record { branch: "main".into(), tip: commit(n) }),
        1 => maybe(1, line()).prop_map(|why| match why {
            Some(why) if why.len() % 2 == 0 => Step::Halt { why },
            why => Step::Freeze { why },
        }),
        2 => Just(Step::Thaw),
        2 => (select(Alarm::ALL), maybe(1, Just(commit(7))), line())
            .prop_map(|(what, found, text)| Step::Alarm { what, found, text, files: vec!["a.txt".into()] }),
        2 => (select(Settlement::ALL), 0..3u64)
            .prop_map(|(how, n)| Step::Settle { how, tip: commit(n), worktree: None }),
        1 => any::<bool>()
            .prop_map(|upstream| Step::PutBack { commit: commit(8), upstream, files: vec!["a.txt".into()] }),
        1 => Just(Step::Pushed { remote: remote(), commit: commit(1) }),
        1 => line().prop_map(move |why| Step::PushFailed { remote: remote(), commit: commit(1), why }),
    ]
}

fn worktree_request() -> impl Strategy<Value = Command> {
    let name = select(&["fix", "lane-1", "night", "-x", "main", "../up"][..]);
    (project(), name, select(WorktreeKind::ALL), select(Seal::ALL), maybe(2, number())).prop_map(
        |(project, name, kind, seal, brief)| {
            let (name, base, from) = (name.to_owned(), "c0ffee".repeat(6), "main".to_owned());
            Command::RequestWorktree(worktree::Request { project, name, kind, seal, base, from, brief })
        },
    )
}

fn worktree_diverged(number: WorktreeId) -> Command {
    let (operators, inside) = ("c0ffee".repeat(6), "facade".repeat(6));
    let kept_at = format!("refs/flower/keep/fix/{operators}");
    Command::DivergeWorktree(WorktreeDiverged { number, operators, inside, kept_at })
}

fn worktree_gone(number: WorktreeId, branch_kept: bool) -> Command {
    let left_out = if branch_kept { vec!["target".to_owned()] } else { Vec::new() };
    let (tip, until) = ("c0ffee".repeat(6), "2026-12-15T12:00:00Z".to_owned());
    Command::WorktreeGone(WorktreeRemoved { number, tip, branch_kept, files: 3, bytes: 99, left_out, until })
}

fn plain_brief(kind: BriefKind) -> Command {
    let (title, projects) = (format!("A {kind}"), vec!["web".to_owned()]);
    let (auto_dispatch, design_loop) = (false, false);
    Command::CreateBrief(flower_core::brief::Request {
        title,
        kind,
        spec: None,
        projects,
        epic: None,
        needs: vec![],
        auto_dispatch,
        design_loop,
    })
}

fn create_brief() -> impl Strategy<Value = Command> {
    let kind = prop_oneof![2 => Just(BriefKind::Epic), 3 => select(BriefKind::ALL)];
    let needs = prop_oneof![
        20 => prop::collection::vec(number(), 0..3),
        1 => Just(vec![BriefId(1); 101]),
    ];
    let projects = prop::collection::vec(project(), 0..3);
    (line(), kind, maybe(1, markdown()), projects, maybe(1, number()), needs, any::<bool>(), any::<bool>()).prop_map(
        |(title, kind, spec, projects, epic, needs, auto_dispatch, design_loop)| {
            Command::CreateBrief(flower_core::brief::Request {
                title,
                kind,
                spec,
                projects,
                epic,
                needs,
                auto_dispatch,
                design_loop,
            })
        },
    )
}

/// Mostly one change at a time, so that one invalid change does not refuse the others.
fn changes() -> impl Strategy<Value = BriefChanges> {
    let none = BriefChanges::default;
    let flag = || maybe(2, any::<bool>());
    let kind = || prop_oneof![Just(BriefKind::Epic), select(BriefKind::ALL)];
    let epic = || maybe(6, number());
    let flags = (flag(), flag());
    prop_oneof![
        2 => line().prop_map(move |title| BriefChanges { title: Some(title), ..none() }),
        2 => kind().prop_map(move |kind| BriefChanges { kind: Some(kind), ..none() }),
        4 => epic().prop_map(move |epic| BriefChanges { epic: Some(epic), ..none() }),
        1 => flags.prop_map(move |(auto_dispatch, design_loop)| BriefChanges { auto_dispatch, design_loop, ..none() }),
        2 => project().prop_map(move |name| BriefChanges { add_projects: vec![name], ..none() }),
        1 => project().prop_map(move |name| BriefChanges { drop_projects: vec![name], ..none() }),
        2 => (line(), kind(), epic(), project(), project()).prop_map(move |(title, kind, epic, one, other)| BriefChanges {
            title: Some(title),
            kind: Some(kind),
            epic: Some(epic),
            add_projects: vec![one.clone(), one],
            drop_projects: vec![other],
            ..none()
        }),
    ]
}

/// `None` with weight three, a value with `weight`.
fn maybe<T: Clone + Debug>(weight: u32, value: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop_oneof![3 => Just(None), weight => value.prop_map(Some)]
}

/// The first briefs get most commands, so that some reach late states.
fn busy() -> impl Strategy<Value = BriefId> {
    prop_oneof![5 => id(1..4), 1 => number()]
}

/// The id of a thing that may not exist.
fn number<Id: From<u64> + Debug>() -> impl Strategy<Value = Id> {
    prop_oneof![40 => 1..5u64, 4 => 5..9u64, 1 => Just(0), 1 => Just(u64::MAX)].prop_map(Id::from)
}

fn mostly<Id: From<u64> + Debug>(numbers: Range<u64>) -> impl Strategy<Value = Id> {
    prop_oneof![9 => id(numbers), 1 => number()]
}

fn id<Id: From<u64> + Debug>(numbers: Range<u64>) -> impl Strategy<Value = Id> {
    numbers.prop_map(Id::from)
}

fn project() -> impl Strategy<Value = String> {
    let bad = select(&["a b", "-x", ""][..]);
    prop_oneof![10 => select(&["web", "api"][..]), 2 => Just("docs"), 1 => bad].prop_map(str::to_owned)
}

fn line() -> impl Strategy<Value = String> {
    let good =
        select(&["Retry failed uploads", "  Faster search  ", "Grüße, 世界 🌱", "x", "„Ärger“ – it's \"odd\" \\"][..]);
    let bad = select(&["", " \t", "two\nlines", "hidden\u{202e}order", "nul\0"][..]);
    prop_oneof![
        20 => good.prop_map(str::to_owned),
        1 => bad.prop_map(str::to_owned),
        1 => Just("long ".repeat(500)),
    ]
}

fn markdown() -> impl Strategy<Value = String> {
    let good = select(
        &["# Plan\n\n1. build it\n2. try it\n", "windows\r\nlines", "ein Wörtchen\tmehr", "{\"json\": 1.5}"][..],
    );
    let bad = select(&["", "\n", "escape \u{1b}[31m", "nul\0"][..]);
    prop_oneof![
        20 => good.prop_map(str::to_owned),
        1 => bad.prop_map(str::to_owned),
    ]
}

/// Regular transitions are more frequent than cancelling and parking.
fn status() -> impl Strategy<Value = Status> {
    let forward = select(&[Status::InProgress, Status::InReview, Status::Done][..]);
    prop_oneof![14 => forward, 2 => Just(Status::Parked), 3 => select(Status::ALL)]
}

fn link_kind() -> impl Strategy<Value = LinkKind> {
    prop_oneof![2 => Just(LinkKind::Execution), 1 => Just(LinkKind::Commit), 6 => select(LinkKind::ALL)]
}

fn target() -> impl Strategy<Value = String> {
    let all = &[
        "1",
        "#2",
        "9",
        "0",
        "abcdef1",
        "ABCDEF1",
        "scratchpad/1",
        "scratchpad/2",
        "https://a.example/x",
        "ftp:x",
        "",
    ];
    select(&all[..]).prop_map(str::to_owned)
}

fn images() -> impl Strategy<Value = Vec<Image>> {
    let image = |bytes: u64| Image {
        sha256: chain::sha256(&bytes.to_be_bytes()),
        media_type: "image/png".to_owned(),
        bytes,
        width: 640,
        height: 480,
    };
    let few = prop::collection::vec((1..9u64).prop_map(image), 0..3);
    prop_oneof![20 => few, 1 => Just(vec![image(1); 21])]
}

fn changes_ci() -> HoldReason {
    HoldReason { code: HoldCode::SensitivePath, text: "it changes CI".into(), commands: Vec::new(), sha256: None }
}
