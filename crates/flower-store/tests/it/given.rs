//! Common setup of tests: callers, and short forms of commands.

use crate::ledger::Ledger;
use flower_core::agent::{self, Ending};
use flower_core::event::LeaseBreached;
use flower_core::landing::{self, Priority, Source};
use flower_core::readiness::DispatchKind;
use flower_core::worktree::{self, Seal, WorktreeKind};
use flower_core::{
    Actor, ActorType, AgentId, Binding, BootTime, BriefId, BriefKind, Caller, Command, DispatchId, Door, Fence,
    LinkKind, PermissionId, Role, ScratchpadId, Status, WorktreeId, chain, dispatch, lease, main_branch, permission,
    review,
};

pub use crate::commands::operator;

pub fn worker(brief: BriefId) -> Caller {
    let actor = Actor { sort: ActorType::Agent, name: format!("worker-{brief}") };
    let worktree = Some(format!("lane-{brief}"));
    Caller { brief: Some(brief), worktree, ..Caller::unbound(actor, Role::Worker, Door::Mcp) }
}

pub fn brief(title: &str) -> Command {
    brief_in(title, BriefKind::Feature, None, &[], &[])
}

pub fn brief_in(title: &str, kind: BriefKind, epic: Option<BriefId>, needs: &[BriefId], projects: &[&str]) -> Command {
    let (title, needs) = (title.to_owned(), needs.to_vec());
    let projects = projects.iter().map(|&name| name.to_owned()).collect();
    Command::CreateBrief(flower_core::brief::Request {
        title,
        kind,
        spec: None,
        projects,
        epic,
        needs,
        auto_dispatch: false,
        design_loop: false,
    })
}

pub fn plan(brief: BriefId, markdown: &str) -> Command {
    Command::ProposePlan { brief, markdown: markdown.to_owned() }
}

pub fn accept(brief: BriefId) -> Command {
    Command::Accept { brief, version: None }
}

pub fn status(brief: BriefId, status: Status) -> Command {
    Command::SetStatus { brief, status, why: None }
}

pub fn note(brief: BriefId, text: &str) -> Command {
    Command::AddNote { brief, text: text.to_owned(), comment: false, images: Vec::new() }
}

pub fn ask(brief: BriefId, text: &str) -> Command {
    Command::Ask { brief, text: text.to_owned(), help: false }
}

pub fn link(brief: BriefId, kind: LinkKind, target: &str) -> Command {
    Command::AddLink { brief, kind, target: target.to_owned(), label: None }
}

pub fn scratchpad(title: &str, brief: Option<BriefId>, text: &str) -> Command {
    Command::CreateScratchpad { title: title.to_owned(), brief, text: Some(text.to_owned()) }
}

/// An agent that works on `web`, in the worktree of [`a_life`].
pub fn start_agent(name: &str, dispatch: Option<DispatchId>, member: u64) -> Command {
    let (name, profile, role) = (Some(name.to_owned()), "claude".to_owned(), Role::Worker);
    let (project, worktree, standing, most) = ("web".to_owned(), "fix".to_owned(), dispatch.is_none(), 8);
    Command::StartAgent(agent::Request { name, profile, role, standing, project, worktree, dispatch, member, most })
}

pub fn project(name: &str) -> Command {
    Command::RegisterProject { name: name.to_owned(), root: format!("/src/{name}") }
}

pub fn token(id: &str, brief: Option<BriefId>) -> Command {
    let (agent, sha256) = (format!("agent-{id}"), chain::sha256(id.as_bytes()));
    let worktree = brief.map(|number| format!("lane-{number}"));
    let (id, role) = (id.to_owned(), Role::Worker);
    Command::IssueToken(flower_core::token::Request { id, agent, role, brief, worktree, sha256, run: None })
}

pub fn worktree(project: &str, name: &str, brief: Option<BriefId>) -> Command {
    let (project, name, base, from) = (project.to_owned(), name.to_owned(), "c0ffee".repeat(6), "main".to_owned());
    let (kind, seal) = (WorktreeKind::Lane, Seal::Sealed);
    Command::RequestWorktree(worktree::Request { project, name, kind, seal, base, from, brief })
}

pub fn landing(project: &str, worktree: Option<&str>, briefs: &[BriefId]) -> Command {
    Command::QueueLanding(landing::Request {
        project: project.to_owned(),
        source: Source::Worktree,
        worktree: worktree.map(str::to_owned),
        worktree_number: worktree.map(|_| WorktreeId(1)),
        commit: "decade".repeat(6),
        title: "A change".to_owned(),
        briefs: briefs.to_vec(),
        priority: Priority::Normal,
        reverts: None,
    })
}

/// Some objects of every kind: 3 projects, 4 briefs in several states, links, questions, scratchpads and tokens.
pub fn a_life(ledger: &Ledger) {
    for name in ["web", "api", "docs"] {
        ledger.done(project(name));
    }
    ledger.done(brief_in("Uploads that never fail", BriefKind::Epic, None, &[], &["web"]));
    ledger.done(brief_in("Retry failed uploads", BriefKind::Feature, Some(BriefId(1)), &[], &["web", "api"]));
    ledger.done(plan(BriefId(2), "# Plan\n\nTry three times, then say so.\n"));
    ledger.done(accept(BriefId(2)));
    ledger.done(status(BriefId(2), Status::InProgress));
    ledger.done(brief_in("Show the progress", BriefKind::Fix, Some(BriefId(1)), &[BriefId(2)], &["web"]));
    ledger.done(ask(BriefId(2), "How long between two tries?"));
    ledger.done(Command::Answer { brief: BriefId(2), question: 1, text: "Twice as long each time.".into() });
    ledger.done(ask(BriefId(3), "As a bar or as a number?"));
    ledger.done(link(BriefId(2), LinkKind::Commit, "abcdef1234"));
    ledger.done(link(BriefId(2), LinkKind::Brief, "3"));
    ledger.done(scratchpad("Findings", Some(BriefId(2)), "The server closes early.\n"));
    let more = Command::WriteScratchpad {
        number: ScratchpadId(1),
        text: "Only at night.\n".into(),
        append: true,
        base: Some(1),
    };
    ledger
        .submit(
            &worker(BriefId(2)),
            &Command::WriteScratchpad { number: ScratchpadId(1), text: "x".into(), append: false, base: Some(9) },
        )
        .expect_err("a stale base");
    ledger.submit(&worker(BriefId(2)), &more).expect("a worker writes to its brief's scratchpad");
    let (markdown, why) = ("# Plan\n\nTry five times.\n".to_owned(), Some("measured".to_owned()));
    ledger.done(Command::Refine { brief: BriefId(2), markdown, base: Some(1), why });
    ledger.done(brief_in("Where the time goes", BriefKind::Research, None, &[], &["docs"]));
    ledger.done(plan(BriefId(4), "Measure, then write it down."));
    ledger.done(accept(BriefId(4)));
    for next in [Status::InProgress, Status::InReview, Status::Done] {
        ledger.done(status(BriefId(4), next));
    }
    ledger.done(status(BriefId(3), Status::Parked));
    ledger.done(token("night", None));
    ledger.done(token("lane", Some(BriefId(2))));
    ledger.done(Command::RevokeToken { id: "night".into() });
    ledger.done(Command::RemoveProject { name: "docs".into() });
    ledger.done(project("draft"));
    ledger.done(Command::RenameProject { name: "draft".into(), to: "shop".into() });
    ledger.done(worktree("web", "fix", Some(BriefId(2))));
    ledger.done(Command::FinishWorktree { number: WorktreeId(1), path: "/w/fix".into() });
    ledger.done(Command::ApproveCommands { project: "web".into(), sha256: chain::sha256(b"npm ci") });
    let main = main_branch::Step::Record { branch: "main".into(), tip: "c0ffee".repeat(6) };
    ledger.done(Command::Main { project: "web".into(), step: main });
    ledger.done(landing("web", Some("fix"), &[BriefId(4)]));
    ledger.done(plan(BriefId(1), "# Plan\n"));
    let (kind, place) = (Some(DispatchKind::Fix), Some("fix".to_owned()));
    let request =
        dispatch::Request { brief: BriefId(2), kind, worktree: place, agents: 2, ..dispatch::Request::default() };
    ledger.done(Command::RequestDispatch(request));
    let run = Some(Binding { dispatch: DispatchId(1), member: false });
    let mut packet = token("packet", Some(BriefId(2)));
    if let Command::IssueToken(request) = &mut packet {
        request.run = run;
    }
    ledger.done(packet);
    let moment = BootTime { boot: "m:a".into(), now: 5_000, since: 0 };
    let claim = dispatch::Step::Claim { holder: None, packet: None, seconds: 60, moment: moment.clone() };
    let agent = Caller { token: Some("packet".into()), run, ..worker(BriefId(2)) };
    ledger.submit(&agent, &Command::Dispatch { number: DispatchId(1), step: claim }).expect("a packet claims");
    ledger
        .submit(&agent, &Command::Heartbeat { dispatch: DispatchId(1), fence: Fence(1), moment: moment.clone() })
        .expect("a heartbeat");
    let patterns = vec!["src/".to_owned()];
    let (project, worktree) = ("web".to_owned(), "fix".to_owned());
    let lease = lease::Request { project, worktree, holder: None, patterns, seconds: 60, moment };
    ledger.done(Command::TakeLease(lease));
    ledger.done(Command::BreachLease(LeaseBreached {
        project: "web".into(),
        worktree: "fix".into(),
        commit: "decade".repeat(6),
        by: None,
        holder: "worker-2".into(),
        paths: vec!["src/a.rs".into()],
    }));
    ledger.submit(&agent, &Command::SendMessage { to: "operator".into(), text: "begun".into() }).expect("a message");
    let (project, worktree, file) = ("web".to_owned(), "fix".to_owned(), "src/a.rs".to_owned());
    let (commit, quote, text) = ("facade".repeat(6), "let a = 1;".to_owned(), "why one?".to_owned());
    let remark = review::Remark { project, worktree, file, line: 7, side: review::Side::New, commit, quote, text };
    ledger.done(Command::Remark(review::Request { remark, to: None }));
    for (name, dispatch, member) in [("worker-2", None, 0), ("night-shift", Some(DispatchId(1)), 1)] {
        ledger.done(start_agent(name, dispatch, member));
    }
    let step = |number, step| Command::Agent { number, step };
    let (tokens, cost, currency) = (Some(48_000), Some(310_000), Some("USD".to_owned()));
    ledger.done(step(AgentId(2), agent::Step::Spend { tokens, cost, currency }));
    let (title, sort, paths) = ("Publish it".to_owned(), "execute".to_owned(), vec!["ci.yml".to_owned()]);
    ledger.done(Command::AskPermission(permission::Request { agent: AgentId(2), title, sort, paths, seconds: 300 }));
    ledger.done(Command::DecidePermission { number: PermissionId(1), allow: true, why: None });
    let (how, why, output) = (Ending::Failed, "it ended 3 times".to_owned(), Some("no such file\n".to_owned()));
    ledger.done(step(AgentId(2), agent::Step::Stop { how, why, output }));
    ledger.done(note(BriefId(1), "„Grüße“ aus dem 世界 🌱 \\ 'quoted' \"twice\""));
}
