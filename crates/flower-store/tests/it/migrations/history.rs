//! A history to upgrade from: events in their first stored form, in a database that has no table but the log.

use flower_core::agent::{self, Author, Ending};
use flower_core::command::BriefChanges;
use flower_core::event::{Image, LeaseBreached, WorktreeDiverged, WorktreeRemoved};
use flower_core::landing::{self, Check, HoldCode, HoldReason, Priority, Source, Verdict};
use flower_core::main_branch::{self, Alarm, Settlement};
use flower_core::readiness::DispatchKind;
use flower_core::review;
use flower_core::worktree::{self, Seal, WorktreeKind};
use flower_core::{
    AgentId, Binding, BootTime, BriefId, BriefKind, Caller, Command, DispatchId, Fence, LandingId, LeaseId, LinkKind,
    PermissionId, Role, Status, WorktreeId, World, chain, decide, dispatch, lease, permission, token,
};
use flower_store::Conn;
use flower_store::log::{self, Tail};
use std::collections::HashMap;

/// Writes a log with every kind of event and `lives` briefs, in one transaction.
pub fn write(conn: &mut Conn, lives: u64) {
    let mut history = History { tail: Tail::read(conn).unwrap(), conn, world: World::default(), second: 0 };
    history.conn.begin_write().unwrap();
    for name in ["web", "api", "docs"] {
        history.does(Command::RegisterProject { name: name.into(), root: format!("/src/{name}") });
    }
    history.does(brief("Uploads that never fail", BriefKind::Epic, None));
    for number in 2..=lives + 1 {
        history.life(number);
    }
    history.worktrees();
    history.landings();
    history.dispatches();
    history.agents();
    history.does(Command::RemoveProject { name: "docs".into() });
    history.does(Command::MoveProject { name: "api".into(), root: "/src/moved".into() });
    history.does(Command::RenameProject { name: "api".into(), to: "interface".into() });
    for id in ["night", "lane"] {
        let (agent, sha256) = (format!("agent-{id}"), chain::sha256(id.as_bytes()));
        let (role, brief, worktree) = (Role::Worker, Some(BriefId(2)), Some("lane-2".to_owned()));
        history.does(Command::IssueToken(token::Request {
            id: id.into(),
            agent,
            role,
            brief,
            worktree,
            sha256,
            run: None,
        }));
    }
    history.does(Command::RevokeToken { id: "night".into() });
    let (proved_hash, found_hash) = (chain::sha256(b"proved"), chain::sha256(b"found"));
    history.does(Command::AcceptLoss { proved_seq: 9, proved_hash, found_seq: 7, found_hash });
    history.conn.script("COMMIT").unwrap();
}

fn brief(title: &str, kind: BriefKind, epic: Option<BriefId>) -> Command {
    let (title, projects) = (title.to_owned(), vec!["web".to_owned(), "docs".to_owned()]);
    let (auto_dispatch, design_loop) = (false, true);
    Command::CreateBrief(flower_core::brief::Request {
        title,
        kind,
        spec: None,
        projects,
        epic,
        needs: vec![],
        auto_dispatch,
        design_loop,
    })
}

struct History<'a> {
    conn: &'a mut Conn,
    tail: Tail,
    world: World,
    second: u64,
}

impl History<'_> {
    #[expect(clippy::needless_pass_by_value, reason = "a list of commands reads better without a `&` before each")]
    fn does(&mut self, command: Command) {
        self.second += 1;
        let s = self.second;
        let at =
            format!("2026-11-{:02}T{:02}:{:02}:{:02}.000000Z", 1 + s / 86_400, s / 3_600 % 24, s / 60 % 60, s % 60);
        let drafts = decide(&self.world, &Caller::system(), &command).unwrap_or_else(|no| panic!("{command:?}: {no}"));
        for event in
            log::append(self.conn, &mut self.tail, &mut HashMap::new(), &Caller::system(), &at, &drafts).unwrap()
        {
            self.world.apply(&event).unwrap();
        }
    }

    /// One worktree for each way it can end.
    fn worktrees(&mut self) {
        let fates = [("fix", Some(BriefId(2))), ("night", None), ("gone", None), ("back", None), ("broken", None)];
        for (number, (name, brief)) in (1..).map(WorktreeId).zip(fates) {
            let (project, name, base, from) =
                ("web".to_owned(), name.to_owned(), "c0ffee".repeat(6), "main".to_owned());
            let (kind, seal) = if number == WorktreeId(1) {
                (WorktreeKind::Lane, Seal::Sealed)
            } else {
                (WorktreeKind::Ephemeral, Seal::Linked)
            };
            self.does(Command::RequestWorktree(worktree::Request { project, name, kind, seal, base, from, brief }));
            if number == WorktreeId(5) {
                self.does(Command::FailWorktree { number, why: "the disk is full".into() });
                continue;
            }
            self.does(Command::FinishWorktree { number, path: format!("/w/{number}") });
            if number > WorktreeId(1) {
                self.does(Command::RemoveWorktree { number });
                let (tip, until, left_out) = ("c0ffee".repeat(6), "2026-12-15T12:00:00Z".to_owned(), vec![]);
                let (branch_kept, files, bytes) = (true, 2, 11);
                let kept = WorktreeRemoved { number, tip, branch_kept, files, bytes, left_out, until };
                self.does(Command::WorktreeGone(kept));
            }
        }
        let (operators, inside) = ("c0ffee".repeat(6), "facade".repeat(6));
        let kept_at = format!("refs/flower/keep/fix/{operators}");
        self.does(Command::DivergeWorktree(WorktreeDiverged { number: WorktreeId(1), operators, inside, kept_at }));
        self.does(Command::DropArchive { number: WorktreeId(3) });
        self.does(Command::RestoreWorktree { number: WorktreeId(4) });
        self.does(Command::FinishWorktree { number: WorktreeId(4), path: "/w/4".into() });
        self.does(Command::ApproveCommands { project: "web".into(), sha256: chain::sha256(b"npm ci") });
    }

    /// One dispatch for each way it can end: late and handed back, failed, cancelled, landed; with path leases in
    /// between.
    fn dispatches(&mut self) {
        use dispatch::{HandBack, Step};
        let commit = |n: u64| chain::sha256(&n.to_be_bytes())[..40].to_owned();
        let brief = self.world.last_brief.next();
        self.does(Command::CreateBrief(flower_core::brief::Request {
            title: "Where the time goes".into(),
            kind: BriefKind::Feature,
            spec: Some("# Plan\n".into()),
            projects: vec!["web".into()],
            epic: None,
            needs: vec![],
            auto_dispatch: true,
            design_loop: false,
        }));
        self.does(Command::Accept { brief, version: None });
        self.does(Command::AutoDispatch { brief });
        let moment = |now| BootTime { boot: "m:a".into(), now, since: 0 };
        let claim = |now| Step::Claim { holder: Some("ada".into()), packet: None, seconds: 10, moment: moment(now) };
        let back = |fence, failed| {
            let (summary, not_done) = ("measured".to_owned(), Some("the index".to_owned()));
            Step::HandBack(HandBack {
                fence,
                summary,
                not_done,
                failed,
                tip: Some(commit(5)),
                commits: vec![commit(5)],
            })
        };
        let run = Some(Binding { dispatch: DispatchId(1), member: false });
        let (id, agent, role, sha256) = ("p1".to_owned(), "agent-1".to_owned(), Role::Worker, chain::sha256(b"p1"));
        let (of, worktree) = (Some(brief), Some("fix".to_owned()));
        self.does(Command::IssueToken(token::Request { id, agent, role, brief: of, worktree, sha256, run }));
        for step in [
            claim(0),
            Step::Execute { fence: Fence(1), base: Some(commit(1)) },
            Step::Commits(vec![(commit(5), "Measure".into())]),
            Step::Expire { moment: moment(20_000) },
            claim(30_000),
            back(Fence(1), false),
            back(Fence(2), false),
        ] {
            self.does(Command::Dispatch { number: DispatchId(1), step });
        }
        let (project, worktree, patterns) = ("web".to_owned(), "fix".to_owned(), vec!["src/".to_owned()]);
        let request = lease::Request { project, worktree, holder: None, patterns, seconds: 60, moment: moment(0) };
        self.does(Command::TakeLease(request.clone()));
        self.does(Command::ReleaseLease { number: LeaseId(1), why: "done".into(), over: None });
        self.does(Command::TakeLease(request));
        let (project, worktree, holder) = ("web".to_owned(), "fix".to_owned(), "flower".to_owned());
        let (commit, by, paths) = (commit(5), None, vec!["src/a.rs".to_owned()]);
        self.does(Command::BreachLease(LeaseBreached { project, worktree, commit, by, holder, paths }));
        self.does(Command::SendMessage { to: "agent-1".into(), text: "begun".into() });
        self.does(Command::Remark(review::Request {
            remark: review::Remark {
                project: "web".into(),
                worktree: "fix".into(),
                file: "src/a.rs".into(),
                line: 7,
                side: review::Side::New,
                commit: "5".repeat(40),
                quote: "let a = 1;".into(),
                text: "why one?".into(),
            },
            to: None,
        }));
        self.does(Command::NoteRefused { what: "hand_back".into(), why: "not yours".into() });
        self.does(Command::Dispatch { number: DispatchId(1), step: Step::Land });
        for (number, last) in
            [(DispatchId(2), back(Fence(1), true)), (DispatchId(3), Step::Cancel { why: Some("not now".into()) })]
        {
            let kind = Some(DispatchKind::Fix);
            self.does(Command::RequestDispatch(dispatch::Request { brief, kind, ..dispatch::Request::default() }));
            self.does(Command::Dispatch { number, step: claim(40_000) });
            self.does(Command::Dispatch { number, step: last });
        }
    }

    /// A standing agent, and one that fails with its claim; their usage and permission requests.
    fn agents(&mut self) {
        use agent::Step;
        let brief = self.world.last_brief;
        for number in [4, 5].map(DispatchId) {
            let (kind, worktree) = (Some(DispatchKind::Fix), Some("fix".to_owned()));
            let request = dispatch::Request { brief, kind, worktree, agents: 2, ..dispatch::Request::default() };
            self.does(Command::RequestDispatch(request));
            if number == DispatchId(4) {
                let why = Some("only one at a time".to_owned());
                self.does(Command::Dispatch { number, step: dispatch::Step::Cancel { why } });
            }
        }
        for (name, standing, dispatch, member) in
            [(Some("night-shift"), true, None, 0), (None, false, Some(DispatchId(5)), 1), (None, true, None, 0)]
        {
            let (name, profile, role) = (name.map(str::to_owned), "claude".to_owned(), Role::Worker);
            let (project, worktree, most) = ("web".to_owned(), "fix".to_owned(), 3);
            let request = agent::Request { name, profile, role, standing, project, worktree, dispatch, member, most };
            self.does(Command::StartAgent(request));
        }
        let moment = BootTime { boot: "m:a".into(), now: 50_000, since: 0 };
        let claim = dispatch::Step::Claim { holder: Some("night-shift".into()), packet: None, seconds: 10, moment };
        let mut step = |number, step| self.does(Command::Agent { number, step });
        step(AgentId(1), Step::Assign { dispatch: DispatchId(5) });
        step(AgentId(1), Step::Restart { why: "its process ended with code 137".into() });
        let (note, author) = ("# Where I am\n\nThe index is built.\n".to_owned(), Author::Agent);
        step(AgentId(1), Step::Connect { model: Some("opus".into()), tools: Some(true) });
        step(AgentId(1), Step::Refresh { note, author, used: Some(180_000), size: Some(200_000) });
        step(AgentId(1), Step::Spend { tokens: Some(48_000), cost: Some(310_000), currency: Some("USD".into()) });
        step(AgentId(2), Step::Spend { tokens: Some(1_200), cost: None, currency: None });
        self.does(Command::Dispatch { number: DispatchId(5), step: claim });
        for (title, paths) in [("Publish", vec![]), ("Edit", vec!["ci.yml".to_owned()]), ("Read", vec![])] {
            let (agent, title, sort) = (AgentId(1), title.to_owned(), "edit".to_owned());
            self.does(Command::AskPermission(permission::Request { agent, title, sort, paths, seconds: 300 }));
        }
        self.does(Command::DecidePermission { number: PermissionId(1), allow: true, why: None });
        self.does(Command::DecidePermission { number: PermissionId(2), allow: false, why: Some("not there".into()) });
        let output = Some("error: no such file\n".to_owned());
        for (number, how, output) in [(AgentId(2), Ending::Retired, None), (AgentId(1), Ending::Failed, output)] {
            let step = Step::Stop { how, why: "it is over".into(), output };
            self.does(Command::Agent { number, step });
        }
    }

    /// One landing for each way it can end, and the changes to MAIN in between.
    fn landings(&mut self) {
        use landing::Step;
        use main_branch::Step as MainStep;
        let commit = |n: u64| chain::sha256(&n.to_be_bytes())[..40].to_owned();
        let main = |step| Command::Main { project: "web".into(), step };
        self.does(main(MainStep::Record { branch: "main".into(), tip: commit(0) }));
        for (number, briefs, of) in [
            (1, vec![BriefId(2)], None),
            (2, vec![], None),
            (3, vec![], None),
            (4, vec![], Some(LandingId(1))),
            (5, vec![BriefId(3)], None),
        ] {
            let (project, source, priority) = ("web".to_owned(), Source::Worktree, Priority::Normal);
            let (worktree, worktree_number) = (Some(format!("lane-{number}")), Some(WorktreeId(number)));
            let (commit_, title) = (commit(number), format!("Change {number}"));
            let request = landing::Request {
                project,
                source,
                worktree,
                worktree_number,
                commit: commit_,
                title,
                briefs,
                priority,
                reverts: of.map(|of| landing::Revert { of, why: "it broke the page".into(), fix: true }),
            };
            self.does(Command::QueueLanding(request));
            let mut step = |step| self.does(Command::Landing { number: LandingId(number), step });
            let begin = || Step::Begin { onto: commit(0), merge_commit: commit(number + 10), upstream: None };
            step(Step::Hold {
                reasons: vec![HoldReason {
                    code: HoldCode::SensitivePath,
                    text: "it changes CI".into(),
                    commands: Vec::new(),
                    sha256: Some("5e77".repeat(16)),
                }],
                paths: vec!["ci.yml".into()],
            });
            step(Step::Approve { waive: false });
            step(begin());
            step(Step::Requeue { why: "MAIN has moved meanwhile".into() });
            step(begin());
            let check = Check {
                name: "test".into(),
                ok: true,
                code: 0,
                milliseconds: 9,
                log: "1-test.log".into(),
                skipped: false,
                reused: None,
            };
            step(Step::ChecksRan { attempt: 1, checks: vec![check] });
            step(Step::Flaked { check: "test".into() });
            step(match number {
                2 => {
                    let (verdict, why) = (Verdict::Conflict, "it does not merge".to_owned());
                    Step::Reject { verdict, why, paths: vec!["a.txt".into()], landed_there: vec![LandingId(1)] }
                }
                3 => Step::Cancel { why: None },
                _ => Step::Land { onto: commit(0), merge_commit: commit(number + 10), note: None, commands: None },
            });
        }
        self.does(Command::NoteSync { number: WorktreeId(1), onto: commit(0), why_not: None });
        self.does(main(MainStep::Freeze { why: Some("release".into()) }));
        self.does(main(MainStep::Thaw));
        let (what, found, text) = (Alarm::Moved, Some(commit(7)), "somebody moved it".to_owned());
        self.does(main(MainStep::Alarm { what, found, text, files: vec![] }));
        self.does(main(MainStep::Settle { how: Settlement::Restored, tip: commit(15), worktree: None }));
        self.does(main(MainStep::PutBack { commit: commit(16), upstream: true, files: vec!["a.txt".into()] }));
        let remote = || "origin".to_owned();
        self.does(main(MainStep::PushFailed { remote: remote(), commit: commit(15), why: "no".into() }));
        self.does(main(MainStep::Pushed { remote: remote(), commit: commit(15) }));
    }

    /// The events of one brief, with variations by its number.
    fn life(&mut self, number: u64) {
        let title = format!("Retry failed uploads, part {number}");
        self.does(brief(&title, BriefKind::Feature, number.is_multiple_of(2).then_some(BriefId(1))));
        let brief = BriefId(number);
        self.does(Command::ProposePlan {
            brief,
            markdown: format!("# Plan {number}\n\n1. try it's \"three\" times\n"),
        });
        self.does(Command::Accept { brief, version: Some(1) });
        let (markdown, why) = (format!("# Plan {number}\n\nFünf mal – „sicher“ 🌱\n"), Some("measured".to_owned()));
        self.does(Command::Refine { brief, markdown, base: Some(1), why });
        self.does(Command::SetStatus { brief, status: Status::InProgress, why: None });
        self.does(Command::Ask { brief, text: "How long between two tries?".into(), help: false });
        let (question, text) = (1, "Twice as long each time.".to_owned());
        self.does(Command::Answer { brief, question, text });
        self.does(Command::Ask { brief, text: "And at night?".into(), help: false });
        let image =
            Image { sha256: chain::sha256(b"x"), media_type: "image/png".into(), bytes: 1, width: 2, height: 3 };
        for (comment, images) in [(false, vec![image]), (true, vec![])] {
            self.does(Command::AddNote { brief, text: format!("seen {number} times"), comment, images });
        }
        self.does(Command::AddLink { brief, kind: LinkKind::Brief, target: "1".into(), label: None });
        let pad = self.world.last_scratchpad.next();
        let (title, text) = (format!("Findings {number}"), Some("The server closes early.\n".to_owned()));
        self.does(Command::CreateScratchpad { title, brief: Some(brief), text });
        self.does(Command::WriteScratchpad { number: pad, text: "At night.\n".into(), append: true, base: None });
        if number > 2 {
            self.does(Command::AddNeed { brief, needs: BriefId(number - 1) });
        }
        if number.is_multiple_of(3) {
            self.does(Command::DropNeed { brief, needs: BriefId(number - 1) });
            let changes = BriefChanges {
                title: Some(format!("Repeat broken uploads, part {number}")),
                kind: Some(BriefKind::Fix),
                epic: Some(if number.is_multiple_of(2) { None } else { Some(BriefId(1)) }),
                auto_dispatch: Some(true),
                drop_projects: vec!["docs".into()],
                ..BriefChanges::default()
            };
            self.does(Command::EditBrief { brief, changes });
            self.does(Command::SetStatus { brief, status: Status::Parked, why: Some("waits".into()) });
        }
    }
}
