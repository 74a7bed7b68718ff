//! Commands about agents that flower runs: start, assign, connect, restart, refresh and stop, and their permission requests.

use super::{id, line, markdown, maybe, moment, mostly, number, operator, project};
use flower_core::agent::{Author, Ending, Request, Step};
use flower_core::{BootTime, Caller, Command, DispatchId, Role, dispatch, lease, permission};
use proptest::prelude::*;
use proptest::sample::select;

pub fn agents() -> impl Strategy<Value = Command> {
    let near = || mostly(1..4);
    let amount = |most: u64| maybe(9, prop_oneof![9 => 0..most, 1 => Just(0)]);
    let currency = maybe(6, select(&["USD", "EUR", "a currency of ours"][..]).prop_map(str::to_owned));
    let stop = (select(Ending::ALL), line(), maybe(2, markdown()));
    prop_oneof![
        12 => start(),
        6 => (near(), mostly(1..4)).prop_map(|(number, dispatch)| Command::Agent { number, step: Step::Assign { dispatch } }),
        4 => (near(), line()).prop_map(|(number, why)| Command::Agent { number, step: Step::Restart { why } }),
        3 => (near(), markdown(), select(Author::ALL), amount(200_000), amount(200_000)).prop_map(
            |(number, note, author, used, size)| Command::Agent { number, step: Step::Refresh { note, author, used, size } }
        ),
        3 => (near(), maybe(6, line()), maybe(6, any::<bool>())).prop_map(|(number, model, tools)| {
            Command::Agent { number, step: Step::Connect { model, tools } }
        }),
        3 => (near(), amount(100_000), amount(900_000), currency).prop_map(|(number, tokens, cost, currency)| {
            Command::Agent { number, step: Step::Spend { tokens, cost, currency } }
        }),
        6 => (near(), stop).prop_map(|(number, (how, why, output))| {
            Command::Agent { number, step: Step::Stop { how, why, output } }
        }),
        4 => (near(), line(), 0..23usize, 0..900u64).prop_map(|(agent, title, paths, seconds)| {
            let paths = (0..paths).map(|at| format!("src/{at}.rs")).collect();
            Command::AskPermission(permission::Request { agent, title, sort: "edit".to_owned(), paths, seconds })
        }),
        5 => (mostly(1..4), any::<bool>(), maybe(1, line()))
            .prop_map(|(number, allow, why)| Command::DecidePermission { number, allow, why }),
    ]
}

/// Starts an agent that holds the first dispatch, and a standing agent.
pub fn crew_of_two() -> impl Iterator<Item = (Caller, Command)> {
    let start = |name: &str, dispatch, standing| {
        let (name, profile, role) = (Some(name.to_owned()), "claude".to_owned(), Role::Worker);
        let (project, worktree, member, most) = ("web".to_owned(), "fix".to_owned(), 0, 9);
        Command::StartAgent(Request { name, profile, role, standing, project, worktree, dispatch, member, most })
    };
    let moment = BootTime { boot: "m:a".to_owned(), now: 0, since: 0 };
    let begun = [
        start("agent-1", Some(DispatchId(1)), false),
        start("agent-2", None, true),
        claim(DispatchId(1), "agent-1", moment),
    ];
    begun.into_iter().map(|command| (operator(), command))
}

/// Claims in the name of agents that may be running, and path leases of these agents.
pub fn claims() -> impl Strategy<Value = Command> {
    let name = || select(&["agent-1", "agent-1", "agent-2", "claude-2", "claude-3"][..]);
    prop_oneof![
        2 => (id(1..4), name(), moment()).prop_map(|(number, name, moment)| claim(number, name, moment)),
        1 => (name(), select(&["src/", "docs", "tests/**"][..]), moment()).prop_map(|(name, pattern, moment)| {
            let (project, worktree, holder) = ("web".to_owned(), "fix".to_owned(), Some(name.to_owned()));
            let patterns = vec![pattern.to_owned()];
            Command::TakeLease(lease::Request { project, worktree, holder, patterns, seconds: 60, moment })
        }),
    ]
}

fn claim(number: DispatchId, name: &str, moment: BootTime) -> Command {
    let step = dispatch::Step::Claim { holder: Some(name.to_owned()), packet: None, seconds: 60, moment };
    Command::Dispatch { number, step }
}

fn start() -> impl Strategy<Value = Command> {
    // Some names equal the name of a claim's holder, or a name that another agent would get by default.
    let name = select(&["agent-1", "agent-1", "agent-2", "claude-2", "claude-3", "operator", "a b"][..]);
    let name = prop_oneof![1 => Just(None), 3 => name.prop_map(Some)];
    let long: &'static str = "a-profile-whose-name-is-longer-than-forty-characters";
    let profile = prop_oneof![9 => Just("claude"), 2 => Just("codex"), 1 => Just(long), 1 => Just("a b")];
    let role = prop_oneof![6 => Just(Role::Worker), 1 => select(Role::ALL)];
    let place = prop_oneof![6 => Just("fix"), 2 => Just("lane-1"), 1 => Just("../up")];
    let dispatch = prop_oneof![1 => Just(None), 4 => id(1..4).prop_map(Some), 1 => number().prop_map(Some)];
    let member = prop_oneof![4 => Just(0), 2 => 1..4u64];
    let most = prop_oneof![1 => 0..3u64, 4 => 3..9u64];
    let project = prop_oneof![4 => Just("web".to_owned()), 1 => project()];
    (name, profile, role, any::<bool>(), project, place, dispatch, member, most).prop_map(
        |(name, profile, role, standing, project, worktree, dispatch, member, most)| {
            let (name, profile, worktree) = (name.map(str::to_owned), profile.to_owned(), worktree.to_owned());
            Command::StartAgent(Request { name, profile, role, standing, project, worktree, dispatch, member, most })
        },
    )
}
