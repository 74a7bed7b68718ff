//! Landings: how work reaches MAIN. The findings of git and of the checks come in as steps; this module decides what
//! follows from them.

use crate::Event;
use crate::aggregate::{Aggregate, Context, subject};
use crate::brief::link::once;
use crate::brief::status::follow;
use crate::brief::{Brief, Status};
use crate::event::{
    CheckFlaked, ChecksRan, DependencyMet, Draft, Landed, LandingApproved, LandingCancelled, LandingChecking,
    LandingEvent, LandingHeld, LandingQueued, LandingRejected, LandingRequeued, MainSettled, RolledBack, StatusChanged,
    Stream,
};
use crate::ids::{BriefId, LandingId, WorktreeId};
use crate::link::LinkKind;
use crate::main_branch::Settlement;
use crate::refusal::Refusal;
use crate::text;
use crate::word::words;
use crate::worktree;
use crate::world::World;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

words! {
    State ("landing state") {
        Queued = "queued",
        Checking = "checking",
        /// The landing waits for the operator's approval.
        Approval = "approval",
        Landed = "landed",
        Rejected = "rejected",
        RolledBack = "rolled_back",
        Cancelled = "cancelled",
    }
}

impl State {
    /// The state in a sentence, where the stored word is no adjective.
    pub fn in_words(self) -> &'static str {
        match self {
            State::Approval => "waiting for approval",
            State::RolledBack => "rolled back",
            State::Queued | State::Checking | State::Landed | State::Rejected | State::Cancelled => self.as_str(),
        }
    }
}

words! {
    /// Where the commit comes from.
    Source ("source of a landing") {
        Worktree = "worktree",
        /// MAIN's remote.
        Upstream = "upstream",
        /// Commits that were made in MAIN by hand.
        Adopted = "adopted",
        /// The revert of another landing.
        Revert = "revert",
        /// flower's own proposal of a `flower.toml`.
        Settings = "settings",
    }
}

words! {
    Priority ("priority") { High = "high", Normal = "normal", Low = "low" }
}

words! {
    /// The reason for a rejection.
    Verdict ("verdict") {
        Conflict = "conflict",
        Checks = "checks",
        /// The gate found content that is never allowed.
        Gate = "gate",
        /// MAIN already has the commit, or the commit does not exist any more.
        Nothing = "nothing",
    }
}

words! {
    /// Why a landing waits for the operator.
    HoldCode ("reason of a held landing") {
        ManyFiles = "many_files",
        LargeFiles = "large_files",
        /// A path that needs the operator.
        SensitivePath = "sensitive_path",
        /// A path that a setting of git in MAIN names.
        GitSettingPath = "git_setting_path",
        /// A merge commit that cannot be followed, or that changes what neither side had.
        Merge = "merge",
        /// A path that another agent had reserved.
        ReservedPath = "reserved_path",
        /// A landing of the same brief was reverted.
        RevertedBefore = "reverted_before",
        /// It changes the checks in `flower.toml`.
        ChecksChanged = "checks_changed",
        /// MAIN's `flower.toml` is not valid.
        SettingsInvalid = "settings_invalid",
        /// Every landing waits for the operator.
        ApprovalRequired = "approval_required",
        /// Commands of `flower.toml` that the operator has not approved.
        CommandsNotApproved = "commands_not_approved",
    }
}

/// A reason why a landing waits for the operator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldReason {
    pub code: HoldCode,
    pub text: String,
    /// The commands that are not approved.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The digest of what an approval approves beyond this landing: a list of commands, or a change of `flower.toml`. The same
    /// text does not wait again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// One check that has run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: String,
    pub ok: bool,
    /// The exit code, with the values of a shell: 124 for a timeout, 127 for a command that was not found.
    pub code: i64,
    pub milliseconds: u64,
    /// Path below the landing's own folder.
    pub log: String,
    /// It did not run, because the landing changes none of its paths.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
    /// It did not run, because it passed before on the same tree. Says where, such as `in landing 12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Landing {
    pub number: LandingId,
    pub project: String,
    pub source: Source,
    pub worktree: Option<String>,
    pub worktree_number: Option<WorktreeId>,
    /// The commit that lands. Later changes of the branch do not affect it.
    pub commit: String,
    pub title: String,
    pub briefs: Vec<BriefId>,
    pub priority: Priority,
    /// The landing that this one reverts.
    pub of: Option<LandingId>,
    /// For a revert: the reason that the operator gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// For a revert: whether a `fix` follows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fix: bool,
    pub state: State,
    /// In words: why the landing waits, or how it ended.
    pub reason: Option<String>,
    /// Only for a rejected landing.
    pub verdict: Option<Verdict>,
    /// Why it waits for the operator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HoldReason>,
    pub approved: bool,
    /// The operator approved the landing without the checks that it removes or changes in `flower.toml`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waived: bool,
    /// The tip of MAIN that the commit was merged with, and the merge commit.
    pub onto: Option<String>,
    pub merge_commit: Option<String>,
    /// If `merge_commit` is a commit of the remote, to which MAIN is moved forward: how many commits of the remote are on the
    /// first-parent history from there to `onto`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<u64>,
    pub checks: Vec<Check>,
    pub flaky: Vec<String>,
    /// The paths that conflict, or that the gate found.
    pub paths: Vec<String>,
    pub by: String,
    pub queued_at: String,
    pub ended_at: Option<String>,
}

impl Aggregate for Landing {
    subject!(Landing "landing", LandingEvent, LandingId);

    fn create(change: LandingEvent<'_>, context: &Context<'_>) -> Option<Landing> {
        let LandingEvent::LandingQueued(new) = change else { return None };
        Some(Landing {
            number: new.number,
            project: new.project.clone(),
            source: new.source,
            worktree: new.worktree.clone(),
            worktree_number: new.worktree_number,
            commit: new.commit.clone(),
            title: new.title.clone(),
            briefs: new.briefs.clone(),
            priority: new.priority,
            of: new.of,
            why: new.why.clone(),
            fix: new.fix,
            state: State::Queued,
            reason: None,
            verdict: None,
            held: Vec::new(),
            approved: false,
            waived: false,
            onto: None,
            merge_commit: None,
            upstream: None,
            checks: Vec::new(),
            flaky: Vec::new(),
            paths: Vec::new(),
            by: context.by.to_owned(),
            queued_at: context.at.to_owned(),
            ended_at: None,
        })
    }

    fn evolve(&mut self, change: LandingEvent<'_>, context: &Context<'_>) {
        let at = context.at;
        match change {
            LandingEvent::LandingQueued(_) => {}
            LandingEvent::LandingChecking(begun) => {
                self.state = State::Checking;
                self.reason = None;
                self.onto = Some(begun.onto.clone());
                self.merge_commit = Some(begun.merge_commit.clone());
                self.upstream = begun.upstream;
                self.checks.clear();
            }
            LandingEvent::LandingHeld(held) => {
                self.state = State::Approval;
                self.reason = Some(held.why.join("; "));
                self.held.clone_from(&held.reasons);
                self.paths.clone_from(&held.paths);
            }
            LandingEvent::LandingApproved(approved) => {
                self.approved = true;
                self.waived |= approved.waive;
                self.state = State::Queued;
                self.held.clear();
                self.reason = None;
            }
            LandingEvent::LandingRequeued(requeued) => {
                self.state = State::Queued;
                self.reason = Some(requeued.why.clone());
            }
            LandingEvent::ChecksRan(ran) => self.checks.clone_from(&ran.checks),
            LandingEvent::CheckFlaked(flaked) => self.flaky.push(flaked.check.clone()),
            LandingEvent::Landed(landed) => {
                self.end(State::Landed, landed.note.clone(), at);
                self.onto = Some(landed.onto.clone());
                self.merge_commit = Some(landed.merge_commit.clone());
                self.paths.clear();
            }
            LandingEvent::LandingRejected(rejected) => {
                self.end(State::Rejected, Some(rejected.why.clone()), at);
                self.verdict = Some(rejected.verdict);
                self.paths.clone_from(&rejected.paths);
            }
            LandingEvent::LandingCancelled(cancelled) => self.end(State::Cancelled, cancelled.why.clone(), at),
            LandingEvent::RolledBack(back) => {
                self.end(State::RolledBack, Some(format!("taken back by landing {}", back.by)), at);
            }
        }
    }
}

impl Landing {
    fn end(&mut self, state: State, reason: Option<String>, at: &str) {
        self.state = state;
        self.reason = reason;
        self.ended_at = Some(at.to_owned());
    }

    /// Whether the landing has not ended yet.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Queued | State::Checking | State::Approval)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub project: String,
    pub source: Source,
    pub worktree: Option<String>,
    pub worktree_number: Option<WorktreeId>,
    pub commit: String,
    pub title: String,
    pub briefs: Vec<BriefId>,
    pub priority: Priority,
    pub reverts: Option<Revert>,
}

/// The landing that a revert reverts, and what follows for its briefs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revert {
    pub of: LandingId,
    pub why: String,
    /// Dispatches a `fix`. If false, the briefs are parked.
    pub fix: bool,
}

/// A change of a landing's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The commit was merged, and the checks start.
    Begin {
        onto: String,
        merge_commit: String,
        /// See [`Landing::upstream`].
        upstream: Option<u64>,
    },
    Hold {
        reasons: Vec<HoldReason>,
        paths: Vec<String>,
    },
    Approve {
        /// Approves without the checks that the landing removes or changes in `flower.toml`.
        waive: bool,
    },
    /// Starts the landing again from the beginning, for example because MAIN has moved.
    Requeue {
        why: String,
    },
    ChecksRan {
        attempt: u64,
        checks: Vec<Check>,
    },
    /// A check failed, then passed, on the same commit.
    Flaked {
        check: String,
    },
    /// MAIN was moved to the merge commit.
    Land {
        onto: String,
        merge_commit: String,
        note: Option<String>,
        /// The digest of the commands in the `flower.toml` of the merge commit; an approval of the landing approves
        /// them as well.
        commands: Option<String>,
    },
    Reject {
        verdict: Verdict,
        why: String,
        paths: Vec<String>,
        landed_there: Vec<LandingId>,
    },
    Cancel {
        why: Option<String>,
    },
}

/// Maximum open landings per project. A longer queue waits for a person, not for a machine.
pub const MAX_OPEN: usize = 1_000;
const WHY_CHARS: usize = 2_000;
const TITLE_CHARS: usize = 250;
/// Maximum characters of the reason that a brief's trace gives when a landing sends the brief back.
const BACK_CHARS: usize = 500;

pub(crate) fn queue(world: &World, request: &Request) -> Result<Vec<Draft>, Refusal> {
    world.require_project(&request.project)?;
    for &brief in &request.briefs {
        world.brief(brief)?;
    }
    let mut briefs = request.briefs.clone();
    briefs.sort_unstable();
    briefs.dedup();
    let number = world.last_landing.next();
    let open: Vec<&Landing> =
        world.landings.values().filter(|landing| landing.is_open() && landing.project == request.project).collect();
    if open.len() >= MAX_OPEN {
        return Err(Refusal::TooMany { what: "landings", count: open.len() + 1, most: MAX_OPEN });
    }
    if let Some(same) = open.iter().find(|landing| landing.commit == request.commit) {
        return Err(Refusal::LandingOpen { number: same.number, state: same.state });
    }
    let mut why = None;
    if let Some(Revert { of, why: given, .. }) = &request.reverts {
        let of = *of;
        why = Some(text::line("reason", given, WHY_CHARS)?);
        let reverted = world.landing(of)?;
        if reverted.project != request.project {
            return Err(Refusal::NoLanding { number: of, newest: world.last_landing });
        }
        if reverted.state != State::Landed {
            return Err(Refusal::LandingState { number: of, state: reverted.state, wanted: "landed" });
        }
        if let Some(same) = open.iter().find(|landing| landing.of == Some(of)) {
            return Err(Refusal::LandingOpen { number: same.number, state: same.state });
        }
    }
    let queued = LandingQueued {
        number,
        project: request.project.clone(),
        source: request.source,
        worktree: request.worktree.clone(),
        worktree_number: request.worktree_number,
        commit: request.commit.clone(),
        title: text::line("title", &request.title, TITLE_CHARS)?,
        briefs: briefs.clone(),
        priority: request.priority,
        of: request.reverts.as_ref().map(|revert| revert.of),
        why,
        fix: request.reverts.as_ref().is_some_and(|revert| revert.fix),
    };
    let first = briefs.first().copied();
    let mut drafts = Vec::new();
    // Only the newest landing of a worktree counts.
    let older =
        open.iter().filter(|l| request.worktree_number.is_some() && l.worktree_number == request.worktree_number);
    for older in older {
        let why = Some(format!("replaced by landing {number}"));
        drafts.push(draft(older, LandingCancelled { number: older.number, why }));
    }
    drafts.push(Draft { stream: Stream::Landing(number), brief: first, event: queued.into() });
    for brief in briefs.iter().filter_map(|number| world.briefs.get(number)) {
        drafts.extend(once(world, brief.number, LinkKind::Landing, &number.to_string(), ""));
        if matches!(brief.status, Status::Planned | Status::InProgress) {
            drafts.push(follow(brief, Status::InReview, format!("landing {number} is queued")));
        }
    }
    Ok(drafts)
}

pub(crate) fn step(world: &World, number: LandingId, step: &Step) -> Result<Vec<Draft>, Refusal> {
    let landing = world.landing(number)?;
    let wanted = |wanted: &'static str| Refusal::LandingState { number, state: landing.state, wanted };
    match step {
        Step::Begin { onto, merge_commit, upstream } => match landing.state {
            State::Queued => {
                let (onto, merge_commit) = (onto.clone(), merge_commit.clone());
                let begun = LandingChecking { number, onto, merge_commit, upstream: *upstream };
                Ok(vec![draft(landing, begun)])
            }
            _ => Err(wanted("queued")),
        },
        Step::Hold { reasons, paths } => match landing.state {
            // The operator approved the landing while the gate was still checking it.
            State::Queued | State::Checking if landing.approved => Ok(Vec::new()),
            State::Queued | State::Checking => {
                let why = reasons.iter().map(|reason| reason.text.clone()).collect();
                let (reasons, paths) = (reasons.clone(), paths.clone());
                Ok(vec![draft(landing, LandingHeld { number, why, paths, reasons })])
            }
            _ => Err(wanted("queued or checking")),
        },
        Step::Approve { waive } => match landing.state {
            // An approval before the gate asks for it counts as well.
            State::Queued if landing.approved && (landing.waived || !waive) => Ok(Vec::new()),
            State::Approval | State::Queued => {
                let mut drafts = vec![draft(landing, LandingApproved { number, waive: *waive })];
                // The settings that it was held for are approved at once: if its checks fail, the next attempt with the same
                // settings does not wait again.
                let approved: BTreeSet<&String> =
                    landing.held.iter().filter_map(|reason| reason.sha256.as_ref()).collect();
                for sha256 in approved {
                    // The project may be gone, and then its settings do not matter.
                    drafts.extend(worktree::approve(world, &landing.project, sha256).unwrap_or_default());
                }
                Ok(drafts)
            }
            _ => Err(wanted("waiting for approval")),
        },
        Step::Requeue { why } => match landing.state {
            State::Checking => Ok(vec![draft(landing, LandingRequeued { number, why: text::cut(why, WHY_CHARS) })]),
            State::Queued => Ok(Vec::new()),
            _ => Err(wanted("checking")),
        },
        Step::ChecksRan { attempt, checks } => match landing.state {
            State::Checking => {
                Ok(vec![draft(landing, ChecksRan { number, attempt: *attempt, checks: checks.clone() })])
            }
            _ => Err(wanted("checking")),
        },
        Step::Flaked { check } => Ok(vec![draft(landing, CheckFlaked { number, check: check.clone() })]),
        Step::Land { onto, merge_commit, note, commands } => {
            if landing.state == State::Landed && landing.merge_commit.as_ref() == Some(merge_commit) {
                return Ok(Vec::new());
            }
            if !landing.is_open() {
                return Err(wanted("checking"));
            }
            let mut drafts = landed(world, landing, onto, merge_commit, note.as_deref());
            drafts.extend(settled(world, landing, merge_commit));
            // Approving a landing approves the commands that it brings.
            if let (true, Some(sha256)) = (landing.approved, commands) {
                drafts.extend(worktree::approve(world, &landing.project, sha256)?);
            }
            Ok(drafts)
        }
        Step::Reject { verdict, why, paths, landed_there } => {
            if !landing.is_open() {
                return Err(wanted("open"));
            }
            let why = text::cut(why, WHY_CHARS);
            let rejected = LandingRejected {
                number,
                verdict: *verdict,
                why: why.clone(),
                paths: paths.clone(),
                landed_there: landed_there.clone(),
            };
            Ok(with_briefs_back(world, landing, draft(landing, rejected), &format!("landing {number}: {why}")))
        }
        Step::Cancel { why } => {
            if !landing.is_open() {
                return Err(wanted("open"));
            }
            let why = why.as_deref().map(|why| text::line("reason", why, WHY_CHARS)).transpose()?;
            let cancelled = draft(landing, LandingCancelled { number, why });
            Ok(with_briefs_back(world, landing, cancelled, &format!("landing {number} was cancelled")))
        }
    }
}

/// The landing's briefs become landed, and dependencies on them become met.
fn landed(world: &World, landing: &Landing, onto: &str, merge_commit: &str, note: Option<&str>) -> Vec<Draft> {
    let number = landing.number;
    let event = Landed {
        number,
        project: landing.project.clone(),
        commit: landing.commit.clone(),
        onto: onto.to_owned(),
        merge_commit: merge_commit.to_owned(),
        note: note.map(str::to_owned),
    };
    let mut drafts = vec![draft(landing, event)];
    if let Some(reverted) = landing.of.and_then(|of| world.landings.get(&of)) {
        drafts.push(draft(reverted, RolledBack { number: reverted.number, by: number }));
        for brief in reverted.briefs.iter().filter_map(|number| world.briefs.get(number)) {
            if brief.status == Status::Landed {
                drafts.extend(sent_back(brief, landing));
            }
        }
        return drafts;
    }
    let mut met = BTreeSet::new();
    for brief in landing.briefs.iter().filter_map(|number| world.briefs.get(number)) {
        drafts.extend(once(world, brief.number, LinkKind::Commit, merge_commit, &landing.title));
        if !brief.status.is_closed() && in_every_project(world, brief, landing) {
            met.insert(brief.number);
            drafts.push(follow(brief, Status::Landed, format!("landing {number}: {merge_commit}")));
        }
    }
    // An epic lands when all of its children have landed, and another epic may wait for it in turn.
    let mut fresh: Vec<BriefId> = met.iter().copied().collect();
    while let Some(child) = fresh.pop() {
        let Some(epic) = world.briefs.get(&child).and_then(|b| b.epic).and_then(|epic| world.briefs.get(&epic)) else {
            continue;
        };
        let is_met = |brief: &Brief| met.contains(&brief.number) || brief.status.is_met();
        let children = world.briefs.values().filter(|brief| brief.epic == Some(epic.number));
        let whole = children.into_iter().all(|brief| is_met(brief) || brief.status == Status::Cancelled);
        if whole && !epic.status.is_closed() && met.insert(epic.number) {
            fresh.push(epic.number);
            drafts.push(follow(epic, Status::Landed, "all of its briefs are landed".to_owned()));
        }
    }
    for brief in world.briefs.values().filter(|brief| !brief.status.is_closed() && !met.contains(&brief.number)) {
        for &needs in brief.depends_on.intersection(&met) {
            drafts.push(Draft::brief(brief.number, DependencyMet { needs }));
        }
    }
    drafts
}

/// What a revert does to a landed brief: it returns to in progress, and is parked unless a `fix` follows.
fn sent_back(brief: &Brief, revert: &Landing) -> Vec<Draft> {
    let reason = revert.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    let why = text::cut(&format!("landing {} reverted it{reason}", revert.number), BACK_CHARS);
    let mut drafts = vec![follow(brief, Status::InProgress, why.clone())];
    if !revert.fix {
        let parked = StatusChanged { from: Status::InProgress, to: Status::Parked, why: Some(why) };
        drafts.push(Draft::brief(brief.number, parked));
    }
    drafts
}

/// Landing the commits that were found in MAIN ends the alarm about them.
fn settled(world: &World, landing: &Landing, merge_commit: &str) -> Option<Draft> {
    let raised = world.mains.get(&landing.project).is_some_and(|main| main.alarm.is_some());
    if landing.source != Source::Adopted || !raised {
        return None;
    }
    let (how, tip) = (Settlement::Adopted, merge_commit.to_owned());
    let event = MainSettled { project: landing.project.clone(), how, tip, worktree: None }.into();
    Some(Draft { stream: Stream::Project(landing.project.clone()), brief: None, event })
}

/// The newest landing of a brief in this project, if it was reverted and MAIN does not have it. The next landing of
/// that brief needs the operator's approval.
pub fn reverted_before<'a>(landings: &'a [Landing], project: &str) -> Option<&'a Landing> {
    let ended = landings.iter().filter(|landing| landing.project == project && landing.of.is_none());
    let ended = ended.filter(|landing| matches!(landing.state, State::Landed | State::RolledBack));
    ended.max_by_key(|landing| landing.number).filter(|landing| landing.state == State::RolledBack)
}

/// A brief with several projects is landed when it has landed in all of them.
fn in_every_project(world: &World, brief: &Brief, landing: &Landing) -> bool {
    let mut others = brief.projects.iter().filter(|project| **project != landing.project);
    others.all(|project| {
        world
            .landings
            .values()
            .any(|l| l.state == State::Landed && l.project == *project && l.briefs.contains(&brief.number))
    })
}

fn with_briefs_back(world: &World, landing: &Landing, first: Draft, why: &str) -> Vec<Draft> {
    let mut drafts = vec![first];
    for brief in landing.briefs.iter().filter_map(|number| world.briefs.get(number)) {
        if brief.status == Status::InReview {
            drafts.push(follow(brief, Status::InProgress, text::cut(why, BACK_CHARS)));
        }
    }
    drafts
}

fn draft(landing: &Landing, event: impl Into<Event>) -> Draft {
    Draft { stream: Stream::Landing(landing.number), brief: landing.briefs.first().copied(), event: event.into() }
}
