//! One description of each event: its summary, the text that its author wrote, the topics that it changes, and whether
//! agents are told about it. The page, the command line, recall and the live stream all use this description.

use crate::brief::Status;
use crate::event::Event;
use crate::ids::{DispatchId, LandingId};
use crate::review::Remark;
use crate::text::head;
use crate::word::words;

/// Maximum characters of a summary; the event itself has the whole text.
const MAX_SUMMARY: usize = 240;

words! {
    /// A part of the state that clients show. An event names the topics that it changes; a client that shows a topic
    /// then reads it again.
    Topic ("topic") {
        Agents = "agents",
        Archives = "archives",
        Briefs = "briefs",
        Commands = "commands",
        Dispatches = "dispatches",
        Inbox = "inbox",
        Landings = "landings",
        Leases = "leases",
        Links = "links",
        Log = "log",
        Main = "main",
        Messages = "messages",
        Permissions = "permissions",
        Projects = "projects",
        Questions = "questions",
        Scratchpads = "scratchpads",
        Specs = "specs",
        Spending = "spending",
        Tokens = "tokens",
        Worktrees = "worktrees",
    }
}

/// Whether the agents that work on a brief are told about an event in its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum News {
    /// Agents are not told.
    No,
    /// Agents are told when they ask for news.
    WhenAsked,
    /// Agents are told before their next turn.
    BeforeNextTurn,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// One line of text.
    pub summary: String,
    /// The text that a person or an agent wrote, in full.
    pub text: Option<String>,
    /// The first one is what the event is about.
    pub topics: &'static [Topic],
    pub news: News,
    /// Whether a recall of the brief quotes the event.
    pub recalled: bool,
}

impl Description {
    /// The description of a stored event. A damaged event is described by its stored text.
    pub fn of_stored(kind: &str, schema: u64, body: &str) -> Description {
        let damaged = |_| Event::Unknown { kind: kind.to_owned(), body: body.to_owned() };
        Event::decode(kind, schema, body).unwrap_or_else(damaged).description()
    }

    fn text(mut self, text: impl Into<String>) -> Description {
        self.text = Some(text.into());
        self
    }

    fn news(mut self, news: News) -> Description {
        self.news = news;
        self
    }

    fn recalled(mut self) -> Description {
        self.recalled = true;
        self
    }
}

impl Event {
    pub fn description(&self) -> Description {
        use News::{BeforeNextTurn, WhenAsked};
        use Topic::{
            Agents, Archives, Briefs, Commands, Dispatches, Inbox, Landings, Leases, Links, Log, Main, Messages,
            Permissions, Projects, Questions, Scratchpads, Specs, Spending, Tokens, Worktrees,
        };
        match self {
            Event::BriefCreated(e) => of(&e.title, &[Briefs, Inbox]),
            Event::PlanProposed(e) => {
                of(format!("version {}: {}", e.version, first_line(&e.markdown)), &[Specs, Inbox])
                    .text(&e.markdown)
                    .news(BeforeNextTurn)
            }
            Event::Refinement(e) => {
                let why = e.why.as_deref().filter(|why| !why.is_empty());
                of(format!("version {}: {}", e.version, first_line(why.unwrap_or(&e.markdown))), &[Specs, Inbox])
                    .text(&e.markdown)
                    .news(BeforeNextTurn)
            }
            Event::SpecSnapshot(e) => {
                of(format!("version {} accepted", e.version), &[Specs, Inbox]).news(BeforeNextTurn)
            }
            Event::StatusChanged(e) => {
                let change = with_reason(&format!("{} → {}", words(e.from), words(e.to)), e.why.as_deref());
                let described = of(change, &[Briefs, Inbox]).news(WhenAsked);
                // Most other changes follow from a claim, a hand-back or a landing, which have events of their own.
                let by_decision = e.from == Status::Parked
                    || matches!(e.to, Status::Parked | Status::Cancelled | Status::Done)
                    || (e.from, e.to) == (Status::InReview, Status::InProgress);
                if by_decision { described.recalled() } else { described }
            }
            Event::BriefRenamed(e) => of(format!("{} → {}", e.from, e.to), &[Briefs, Inbox]),
            Event::KindChanged(e) => of(format!("{} → {}", e.from, e.to), &[Briefs, Inbox]),
            Event::EpicChanged(e) => match e.to {
                Some(epic) => of(format!("part of #{epic}"), &[Briefs]),
                None => of("part of no epic", &[Briefs]),
            },
            Event::ProjectsChanged(e) => of(e.projects.join(", "), &[Briefs]),
            Event::DispatchOptionsChanged(e) => {
                let on = |on: bool| if on { "on" } else { "off" };
                of(format!("auto-dispatch {}, design-loop {}", on(e.auto_dispatch), on(e.design_loop)), &[Briefs])
            }
            Event::DependencyAdded(e) => of(format!("needs #{}", e.needs), &[Briefs]).news(WhenAsked),
            Event::DependencyDropped(e) => of(format!("no longer needs #{}", e.needs), &[Briefs]),
            Event::DependencyMet(e) => of(format!("#{} is in MAIN", e.needs), &[Briefs]),
            Event::CommentAdded(e) => {
                of(with_pictures(&e.text, e.images.len()), &[Briefs]).text(&e.text).news(BeforeNextTurn).recalled()
            }
            Event::NoteAdded(e) => of(with_pictures(&e.text, e.images.len()), &[Briefs]).text(&e.text).recalled(),
            Event::QuestionAsked(e) => {
                let what = if e.help { "asks for help, question" } else { "question" };
                of(format!("{what} {}: {}", e.question, e.text), &[Questions, Inbox]).text(&e.text)
            }
            Event::DecisionMade(e) => of(format!("answer to question {}: {}", e.question, e.text), &[Questions, Inbox])
                .text(&e.text)
                .news(BeforeNextTurn),
            Event::LinkAdded(e) => {
                let target = if e.label.is_empty() { &e.target } else { &e.label };
                of(format!("{} {target}", e.kind), &[Links, Briefs])
            }
            Event::ParticipantJoined(e) => of(&e.name, &[Briefs]),
            Event::ScratchpadCreated(e) => {
                of(format!("scratchpad {}: {}", e.number, e.title), &[Scratchpads]).recalled()
            }
            Event::ScratchpadWritten(e) => {
                of(format!("scratchpad {}, version {}", e.number, e.version), &[Scratchpads])
            }
            Event::ProjectRegistered(e) => of(&e.name, &[Projects, Main]),
            Event::ProjectRemoved(e) => of(&e.name, &[Projects, Main]),
            Event::ProjectMoved(e) => of(format!("{}: {} → {}", e.name, e.from, e.root), &[Projects, Main, Worktrees]),
            Event::ProjectRenamed(e) => of(
                format!("{} → {}", e.from, e.to),
                &[Projects, Main, Briefs, Worktrees, Landings, Dispatches, Agents, Leases, Commands, Inbox],
            ),
            Event::TokenIssued(e) => of(format!("{} as {}", e.agent, e.role), &[Tokens]),
            Event::TokenRevoked(e) => of(&e.id, &[Tokens]),
            Event::WorktreeRequested(e) => of(&e.name, &[Worktrees]),
            Event::WorktreeCreated(e) => of(&e.name, &[Worktrees]),
            Event::WorktreeFailed(e) => of(format!("worktree {} was not made: {}", e.number, e.why), &[Worktrees]),
            Event::WorktreeDiverged(e) => of(
                format!(
                    "worktree {}: both sides committed; the operator's {} is kept at {}, the branch is at {}",
                    e.number,
                    short(&e.operators),
                    e.kept_at,
                    short(&e.inside)
                ),
                &[Worktrees, Inbox],
            ),
            Event::WorktreeRemoving(e) => of(format!("worktree {}", e.number), &[Worktrees]),
            Event::WorktreeRemoved(e) => of(format!("worktree {}", e.number), &[Worktrees, Archives]),
            Event::WorktreeRestoring(e) => of(format!("worktree {}", e.number), &[Worktrees, Archives]),
            Event::WorktreeRestored(e) => of(format!("worktree {}", e.number), &[Worktrees, Archives]),
            Event::ArchiveDropped(e) => of(format!("archive of worktree {} deleted", e.number), &[Archives]),
            Event::WorktreeSynced(e) => match &e.why_not {
                Some(why) => of(format!("not up to date with {}: {why}", short(&e.onto)), &[Worktrees]),
                None => of(format!("up to date with {}", short(&e.onto)), &[Worktrees]),
            },
            Event::CommandsApproved(e) => of(format!("commands of {}", e.project), &[Commands]),
            Event::LandingQueued(e) => of(format!("landing {}: {}", e.number, e.title), &[Landings, Inbox, Worktrees]),
            Event::LandingChecking(e) => of(landing(e.number), &[Landings]),
            Event::LandingHeld(e) => {
                of(format!("landing {}: {}", e.number, e.why.join("; ")), &[Landings, Inbox]).news(WhenAsked).recalled()
            }
            Event::LandingApproved(e) => of(landing(e.number), &[Landings, Inbox]),
            Event::LandingRequeued(e) => of(format!("landing {}: {}", e.number, e.why), &[Landings, Inbox]),
            Event::ChecksRan(e) => of(landing(e.number), &[Landings]),
            Event::CheckFlaked(e) => of(format!("landing {}: {}", e.number, e.check), &[Landings]),
            Event::Landed(e) => of(
                format!("landing {} as {}", e.number, short(&e.merge_commit)),
                &[Landings, Main, Briefs, Worktrees, Inbox, Links, Commands],
            )
            .news(WhenAsked)
            .recalled(),
            Event::LandingRejected(e) => of(format!("landing {}: {}", e.number, e.why), &[Landings, Inbox, Worktrees])
                .text(format!("landing {}: {}", e.number, e.why))
                .news(WhenAsked)
                .recalled(),
            Event::LandingCancelled(e) => {
                of(with_reason(&landing(e.number), e.why.as_deref()), &[Landings, Inbox, Worktrees])
            }
            Event::RolledBack(e) => of(
                format!("landing {} by landing {}", e.number, e.by),
                &[Landings, Main, Briefs, Worktrees, Inbox, Commands],
            )
            .news(WhenAsked)
            .recalled(),
            Event::MainRecorded(e) => of(format!("{} at {}", e.branch, short(&e.tip)), &[Main, Inbox, Commands]),
            Event::MainAlarm(e) => of(&e.text, &[Main, Inbox]),
            Event::MainSettled(e) => of(format!("{}, at {}", e.how, short(&e.tip)), &[Main, Inbox, Commands]),
            Event::MainPutBack(e) => of(
                format!("{} files of {}, to which git may not move MAIN", e.files.len(), short(&e.commit)),
                &[Main, Inbox],
            ),
            Event::QueueFrozen(e) => of(format!("{}: {}", e.project, e.why), &[Landings, Main]),
            Event::QueueThawed(e) => of(&e.project, &[Landings, Main]),
            Event::Pushed(e) => of(format!("{} to {}", short(&e.commit), e.remote), &[Main]),
            Event::PushFailed(e) => of(format!("to {}: {}", e.remote, e.why), &[Main]),
            Event::DispatchRequested(e) => {
                let origin = match e.of {
                    _ if e.auto => ", by itself".to_owned(),
                    Some(of) => format!(", to mend landing {of}"),
                    None => String::new(),
                };
                of(format!("dispatch {}: {}{origin}", e.number, e.kind), &[Dispatches])
            }
            Event::DispatchClaimed(e) => {
                of(format!("dispatch {} by {}, fence {}", e.number, e.holder, e.fence), &[Dispatches, Agents])
            }
            Event::DispatchExecuting(e) => of(dispatch(e.number), &[Dispatches, Worktrees]),
            Event::DispatchExpired(e) => {
                let why = e.why.as_deref().map_or("no heartbeat any more".to_owned(), |why| format!("let go: {why}"));
                of(format!("dispatch {}: {}, {why}", e.number, e.holder), &[Dispatches, Agents])
                    .news(WhenAsked)
                    .recalled()
            }
            Event::DispatchHandedBack(e) => {
                of(format!("dispatch {} by {}: {}", e.number, e.holder, e.summary), &[Dispatches, Agents, Inbox])
                    .text(with_open_work(&e.summary, e.not_done.as_deref()))
                    .recalled()
            }
            Event::DispatchFailed(e) => {
                of(format!("dispatch {} by {}: {}", e.number, e.holder, e.summary), &[Dispatches, Agents, Inbox])
                    .text(with_open_work(&e.summary, e.not_done.as_deref()))
                    .recalled()
            }
            Event::DispatchLate(e) => {
                of(format!("dispatch {}, too late, by {}: {}", e.number, e.holder, e.summary), &[Dispatches])
                    .text(format!("too late, by {}: {}", e.holder, e.summary))
                    .recalled()
            }
            Event::DispatchCancelled(e) => {
                of(with_reason(&dispatch(e.number), e.why.as_deref()), &[Dispatches, Agents, Inbox])
                    .news(WhenAsked)
                    .recalled()
            }
            Event::DispatchLanded(e) => of(dispatch(e.number), &[Dispatches]),
            Event::LeaseTaken(e) => of(format!("{} has {}", e.holder, e.patterns.join(" ")), &[Leases]),
            Event::LeaseReleased(e) => of(format!("lease {}: {}", e.number, e.why), &[Leases]),
            Event::LeaseBreached(e) => of(
                format!("{} changes {}, reserved by {}", short(&e.commit), e.paths.join(" "), e.holder),
                &[Leases, Worktrees],
            )
            .news(WhenAsked)
            .recalled(),
            Event::MessageSent(e) => {
                let described = of(message(&e.to, e.about.as_ref(), &e.text), &[Messages, Inbox]).text(&e.text);
                if e.about.is_some() { described.recalled() } else { described }
            }
            Event::AgentStarted(e) => {
                let dispatch = e.dispatch.map_or_else(String::new, |dispatch| format!(", for dispatch {dispatch}"));
                of(format!("{} in {}{dispatch}", e.name, e.worktree), &[Agents, Worktrees, Inbox])
            }
            Event::AgentAssigned(e) => of(format!("agent {} gets dispatch {}", e.number, e.dispatch), &[Agents]),
            Event::AgentRestarted(e) => {
                of(format!("agent {}, time {}: {}", e.number, e.restarts, e.why), &[Agents, Inbox])
            }
            Event::AgentConnected(e) => {
                let model = e.model.as_deref().map_or("unknown".to_owned(), |model| format!("`{model}`"));
                let tools = if e.tools == Some(false) { ", without flower's tools" } else { "" };
                of(format!("agent {}: model {model}{tools}", e.number), &[Agents, Inbox])
            }
            Event::AgentRefreshed(e) => {
                of(format!("agent {}: {}", e.number, e.note), &[Agents, Spending]).text(&e.note)
            }
            Event::AgentSpent(e) => {
                let tokens = e.tokens.map(|tokens| format!("{tokens} tokens"));
                let cost = e.cost.map(|millionths| {
                    format!(
                        "{}.{:04} {}",
                        millionths / 1_000_000,
                        millionths % 1_000_000 / 100,
                        e.currency.as_deref().unwrap_or_default()
                    )
                });
                let spent: Vec<String> = tokens.into_iter().chain(cost).collect();
                of(format!("agent {}: {}", e.number, spent.join(", ")), &[Agents, Spending])
            }
            Event::AgentStopped(e) => {
                of(format!("agent {} is {}: {}", e.number, e.how, e.why), &[Agents, Worktrees, Leases, Spending, Inbox])
            }
            Event::PermissionAsked(e) => {
                of(format!("permission {}: {}: {}", e.number, e.name, e.title), &[Permissions, Agents, Inbox])
            }
            Event::PermissionDecided(e) => {
                let how = if e.allow { "given" } else { "denied" };
                of(
                    with_reason(&format!("permission {} is {how}", e.number), e.why.as_deref()),
                    &[Permissions, Agents, Inbox],
                )
            }
            Event::CallRefused(e) => of(format!("{}: {}", e.what, e.why), &[Log]),
            Event::LossAccepted(e) => {
                of(format!("the log goes on at event {}; events up to {} are lost", e.found_seq, e.proved_seq), &[Log])
            }
            // Written by another version of flower: the stored text is shown, and all topics count as changed.
            Event::Unknown { body, .. } => of(body, Topic::ALL),
        }
    }
}

fn of(summary: impl AsRef<str>, topics: &'static [Topic]) -> Description {
    Description { summary: one_line(summary.as_ref()), text: None, topics, news: News::No, recalled: false }
}

/// `in progress` for `in_progress`.
fn words(status: Status) -> String {
    status.as_str().replace('_', " ")
}

fn landing(number: LandingId) -> String {
    format!("landing {number}")
}

fn dispatch(number: DispatchId) -> String {
    format!("dispatch {number}")
}

fn message(to: &str, about: Option<&Remark>, text: &str) -> String {
    match about {
        Some(remark) => format!("to {to}, about {}:{}: {}", remark.file, remark.line, remark.text),
        None => format!("to {to}: {text}"),
    }
}

fn with_reason(what: &str, why: Option<&str>) -> String {
    match why.filter(|why| !why.is_empty()) {
        Some(why) => format!("{what}: {why}"),
        None => what.to_owned(),
    }
}

fn with_pictures(text: &str, pictures: usize) -> String {
    if pictures > 0 { format!("[{pictures} picture(s)] {text}") } else { text.to_owned() }
}

fn with_open_work(summary: &str, not_done: Option<&str>) -> String {
    match not_done {
        Some(not_done) => format!("{summary}\nNot done: {not_done}"),
        None => summary.to_owned(),
    }
}

/// The first twelve digits, as git shows them in lists.
fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    head(first_line(text), MAX_SUMMARY)
}
