//! The simulated operator: plans, dispatches, hands packets to agents, cancels, and lands results.

use crate::simulation::sim::{Sim, operator};
use flower_core::dispatch::{self, Step};
use flower_core::landing::{self, Priority, Source, Verdict};
use flower_core::readiness::DispatchKind;
use flower_core::{
    Binding, BriefId, BriefKind, Caller, Command, Dispatch, DispatchId, Role, Status, chain, main_branch, token,
};

#[derive(Clone, Copy)]
enum Wish {
    Create,
    Plan,
    Refine,
    Dispatch,
    HandPacket,
    CancelDispatch,
    CancelBrief,
    Park,
    Accept,
    Land,
    WorkByHand,
}

const WISHES: &[(u64, Wish)] = &[
    (6, Wish::Create),
    (8, Wish::Plan),
    (5, Wish::Refine),
    (10, Wish::Dispatch),
    (50, Wish::HandPacket),
    (4, Wish::CancelDispatch),
    (1, Wish::CancelBrief),
    (3, Wish::Park),
    (3, Wish::Accept),
    (16, Wish::Land),
    (4, Wish::WorkByHand),
];

impl Sim {
    pub fn operator_acts(&mut self) {
        let brief = self.chance.id(self.world.last_brief);
        match self.chance.weighed(WISHES) {
            Wish::Create => self.operator_creates(),
            Wish::Plan => self.operator_plans(brief),
            Wish::Refine => {
                let markdown = "# Plan\n\nmore\n".to_owned();
                self.asks(&Command::Refine { brief, markdown, base: None, why: None });
            }
            Wish::Dispatch => {
                let kind = if self.chance.percent(60) { None } else { self.chance.pick(DispatchKind::ALL) };
                self.asks(&Command::RequestDispatch(dispatch::Request { brief, kind, ..Default::default() }));
            }
            Wish::HandPacket => self.hands_packet(),
            Wish::CancelDispatch => {
                let number = self.chance.id(self.world.last_dispatch);
                self.asks(&Command::Dispatch { number, step: Step::Cancel { why: None } });
            }
            Wish::CancelBrief => self.moves(brief, Status::Cancelled),
            Wish::Park => {
                let to = self.world.briefs[&brief].parked_from.unwrap_or(Status::Parked);
                self.moves(brief, to);
            }
            Wish::Accept => self.asks(&Command::Accept { brief, version: None }),
            Wish::Land => self.lands(brief),
            Wish::WorkByHand => self.works_by_hand(),
        }
    }

    pub fn make_project(&mut self) {
        self.asks(&Command::RegisterProject { name: "web".into(), root: "/web".into() });
        let step = main_branch::Step::Record { branch: "main".into(), tip: commit(0) };
        self.asks(&Command::Main { project: "web".into(), step });
    }

    pub fn operator_creates(&mut self) {
        let kind = self.chance.pick(&[BriefKind::Feature, BriefKind::Fix, BriefKind::Feature, BriefKind::Research]);
        let needs = if self.chance.percent(30) { vec![self.chance.id(self.world.last_brief)] } else { vec![] };
        let needs = needs.into_iter().filter(|needs| self.world.briefs.contains_key(needs)).collect();
        let (auto_dispatch, design_loop) = (self.chance.percent(65), self.chance.percent(20));
        let spec = self.chance.percent(70).then(|| "# Plan\n".to_owned());
        let (title, projects, epic) = ("A change".to_owned(), vec!["web".to_owned()], None);
        let kind = kind.expect("there are some");
        self.asks(&Command::CreateBrief(flower_core::brief::Request {
            title,
            kind,
            spec,
            projects,
            epic,
            needs,
            auto_dispatch,
            design_loop,
        }));
    }

    /// Proposes a plan, and mostly accepts it.
    pub fn operator_plans(&mut self, brief: BriefId) {
        if self.world.briefs[&brief].status != Status::Draft {
            return;
        }
        if self.world.briefs[&brief].spec_version == 0 {
            self.asks(&Command::ProposePlan { brief, markdown: "# Plan\n".into() });
        }
        if self.chance.percent(80) {
            self.asks(&Command::Accept { brief, version: None });
        }
    }

    /// As `flower dispatch packet` does: gives an idle agent a token that may claim once.
    fn hands_packet(&mut self) {
        // Mostly for a waiting dispatch, sometimes for one that has a holder.
        let any = self.chance.percent(30);
        let wanted = |d: &&Dispatch| d.is_open() && (any || d.claim.is_none());
        let open: Vec<DispatchId> = self.world.dispatches.values().filter(wanted).map(|d| d.number).collect();
        let free: Vec<usize> = (0..self.agents.len()).filter(|&at| self.agents[at].is_free()).collect();
        let (Some(number), Some(at)) = (self.chance.pick(&open), self.chance.pick(&free)) else { return };
        let dispatch = &self.world.dispatches[&number];
        let (brief, worktree) = (Some(dispatch.brief), dispatch.worktree.clone());
        self.tokens += 1;
        let id = format!("t{}", self.tokens);
        // Packets of one dispatch may go to agents with the same name.
        let agent = if self.chance.percent(30) { format!("agent-{number}") } else { self.agents[at].name.clone() };
        let run = Some(Binding { dispatch: number, member: self.chance.percent(20) });
        let sha256 = chain::sha256(id.as_bytes());
        let request = token::Request { id, agent, role: Role::Worker, brief, worktree, sha256, run };
        if self.submit(&operator(), &Command::IssueToken(request.clone())).is_ok() {
            self.agents[at].takes_packet(&request);
        }
    }

    /// Claims for a holder without a token, and hands back for it.
    fn works_by_hand(&mut self) {
        let number = self.chance.id(self.world.last_dispatch);
        let Some(dispatch) = self.world.dispatches.get(&number) else { return };
        let fence = dispatch.fence;
        let is_mine = dispatch.claim.is_some() && dispatch.runs.last().is_some_and(|run| run.token.is_none());
        let moment = self.clock.moment();
        let step = if is_mine && self.chance.percent(40) {
            let (summary, failed) = ("by hand".to_owned(), self.chance.percent(30));
            let (not_done, tip, commits) = (None, None, Vec::new());
            Step::HandBack(dispatch::HandBack { fence, summary, not_done, failed, tip, commits })
        } else if is_mine {
            self.asks(&Command::Heartbeat { dispatch: number, fence, moment });
            return;
        } else {
            Step::Claim { holder: Some("by-hand".into()), packet: None, seconds: 120, moment }
        };
        self.asks(&Command::Dispatch { number, step });
    }

    /// Queues briefs in review, and lands or rejects queued landings.
    fn lands(&mut self, brief: BriefId) {
        let open = self.world.landings.values().find(|landing| landing.is_open()).map(|landing| landing.number);
        if let Some(number) = open {
            let (onto, merge_commit) = (commit(0), commit(1_000 + number.0));
            let step = if self.chance.percent(65) {
                landing::Step::Land { onto, merge_commit, note: None, commands: None }
            } else {
                let (verdict, why) = (Verdict::Checks, "red".to_owned());
                landing::Step::Reject { verdict, why, paths: Vec::new(), landed_there: Vec::new() }
            };
            let _ = self.submit(&Caller::system(), &Command::Landing { number, step });
            return;
        }
        if self.world.briefs[&brief].status != Status::InReview {
            return;
        }
        let worktree = self.world.dispatches.values().rev().find(|d| d.brief == brief).and_then(|d| d.worktree.clone());
        let (commit, title) = (commit(self.world.last_landing.next().0), "A change".to_owned());
        let (project, source, priority) = ("web".to_owned(), Source::Worktree, Priority::Normal);
        let (briefs, worktree_number, reverts) = (vec![brief], None, None);
        let request =
            landing::Request { project, source, worktree, worktree_number, commit, title, briefs, priority, reverts };
        self.asks(&Command::QueueLanding(request));
    }

    fn moves(&mut self, brief: BriefId, status: Status) {
        self.asks(&Command::SetStatus { brief, status, why: None });
    }

    /// Submits a command; the watch checks whether a refusal is correct.
    fn asks(&mut self, command: &Command) {
        let _ = self.submit(&operator(), command);
    }
}

fn commit(number: u64) -> String {
    chain::sha256(&number.to_be_bytes())[..40].to_owned()
}
