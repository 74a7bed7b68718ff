//! What needs a person. One function decides it; the inbox, the home page and the tones of the page follow from its result.

use crate::agent::{Agent, Ending};
use crate::brief::Status;
use crate::ids::{BriefId, DispatchId, LandingId, MessageId, PermissionId};
use crate::landing::{Landing, State};
use crate::main_branch::{Alarm, Main, PutBack};
use crate::permission::Permission;
use crate::word::words;
use crate::{Actor, ActorType};

words! {
    /// The kinds of items, most urgent first.
    ItemKind ("kind of inbox item") {
        Alarm = "alarm",
        Permission = "permission",
        Question = "question",
        Approval = "approval",
        Message = "message",
    }
}

words! {
    /// Why something needs a person.
    Cause ("cause of an inbox item") {
        /// MAIN's branch, checkout or files were changed by another program.
        MainChanged = "main_changed",
        /// MAIN's `flower.toml` is not valid, so an older version is in force.
        SettingsInvalid = "settings_invalid",
        /// Commits of MAIN's remote do not merge with MAIN.
        RemoteConflicts = "remote_conflicts",
        /// An agent did not finish its work, and flower requests no further dispatch.
        AgentFailed = "agent_failed",
        /// A running agent cannot call flower's tools.
        AgentWithoutTools = "agent_without_tools",
        /// A dispatch waits for an agent that cannot start here.
        DispatchStuck = "dispatch_stuck",
        /// An agent waits until it may do something.
        PermissionAsked = "permission_asked",
        /// An agent or a person asked a question about a brief.
        QuestionAsked = "question_asked",
        /// An agent or a person cannot go on with a brief without an answer.
        HelpAsked = "help_asked",
        /// A plan was proposed for a draft.
        PlanProposed = "plan_proposed",
        /// An accepted plan was refined.
        SpecRefined = "spec_refined",
        /// A result without a landing waits to be accepted.
        ResultInReview = "result_in_review",
        /// The gate holds a landing back.
        LandingHeld = "landing_held",
        /// An agent wrote to the operator.
        MessageReceived = "message_received",
        /// Something has happened to the brief of an agent. Only the agent's own inbox has this.
        News = "news",
    }
}

words! {
    /// How the page shows an item.
    Tone ("tone") { Danger = "danger", Attention = "attention", Info = "info" }
}

impl Cause {
    pub fn kind(self) -> ItemKind {
        match self {
            Cause::MainChanged
            | Cause::SettingsInvalid
            | Cause::RemoteConflicts
            | Cause::AgentFailed
            | Cause::DispatchStuck => ItemKind::Alarm,
            Cause::PermissionAsked => ItemKind::Permission,
            Cause::QuestionAsked | Cause::HelpAsked => ItemKind::Question,
            Cause::PlanProposed | Cause::SpecRefined | Cause::ResultInReview | Cause::LandingHeld => ItemKind::Approval,
            Cause::MessageReceived | Cause::AgentWithoutTools | Cause::News => ItemKind::Message,
        }
    }

    pub fn tone(self) -> Tone {
        match self.kind() {
            ItemKind::Alarm => Tone::Danger,
            ItemKind::Permission | ItemKind::Question | ItemKind::Approval => Tone::Attention,
            ItemKind::Message => Tone::Info,
        }
    }
}

/// A question that is not answered.
#[derive(Clone, Debug)]
pub struct OpenQuestion {
    pub brief: BriefId,
    pub title: String,
    pub question: u64,
    pub text: String,
    /// The work cannot go on without the answer.
    pub help: bool,
    pub by: Actor,
    pub at: String,
}

/// A brief with a spec or a result that is not accepted.
#[derive(Clone, Debug)]
pub struct Unaccepted {
    pub brief: BriefId,
    pub title: String,
    pub status: Status,
    pub by: Actor,
    pub at: String,
    /// The version of the spec; absent for a result.
    pub version: Option<u64>,
    /// A result without commits.
    pub no_commits: bool,
}

/// A dispatch whose agent cannot start.
#[derive(Clone, Debug)]
pub struct Stuck {
    pub dispatch: DispatchId,
    pub brief: BriefId,
    pub title: String,
    pub why: String,
    pub at: String,
}

/// A message to the operator that is not marked as seen.
#[derive(Clone, Debug)]
pub struct Unseen {
    pub number: MessageId,
    pub by: Actor,
    pub text: String,
    pub at: String,
    /// The event that brought it.
    pub seq: u64,
}

/// MAIN of a project, and what is wrong with its `flower.toml`.
#[derive(Clone, Debug)]
pub struct ProjectMain {
    pub project: String,
    pub main: Main,
    pub settings_problem: Option<String>,
}

/// Everything that can need a person.
#[derive(Clone, Debug, Default)]
pub struct Situation {
    pub questions: Vec<OpenQuestion>,
    pub unaccepted: Vec<Unaccepted>,
    /// Open landings.
    pub landings: Vec<Landing>,
    pub mains: Vec<ProjectMain>,
    /// Landings of a remote's commits that do not merge and that MAIN does not have.
    pub remote_conflicts: Vec<Landing>,
    /// Permissions that are not decided.
    pub permissions: Vec<Permission>,
    /// Agents of the newest dispatch of a brief that is still open, when that dispatch failed.
    pub failed: Vec<Agent>,
    /// Running agents whose session has no tools of flower.
    pub without_tools: Vec<Agent>,
    pub stuck: Vec<Stuck>,
    pub messages: Vec<Unseen>,
}

/// Something that needs a person, and the command that settles it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub cause: Cause,
    pub title: String,
    pub text: String,
    pub next: String,
    pub by: Actor,
    pub at: String,
    pub brief: Option<BriefId>,
    pub landing: Option<LandingId>,
    pub permission: Option<PermissionId>,
    pub question: Option<u64>,
    pub version: Option<u64>,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub seq: Option<u64>,
    /// Seconds after `at` until it is decided without a person.
    pub seconds: Option<u64>,
}

impl Item {
    /// An item by flower itself; the other fields are empty.
    fn new(cause: Cause, at: &str) -> Item {
        Item {
            cause,
            title: String::new(),
            text: String::new(),
            next: String::new(),
            by: Actor::system(),
            at: at.to_owned(),
            brief: None,
            landing: None,
            permission: None,
            question: None,
            version: None,
            project: None,
            agent: None,
            seq: None,
            seconds: None,
        }
    }
}

/// Everything that needs a person, oldest first.
pub fn attention(situation: &Situation) -> Vec<Item> {
    let questions = situation.questions.iter().map(question);
    let unaccepted = situation.unaccepted.iter().filter_map(acceptance);
    let landings = situation.landings.iter().filter_map(landing);
    let mains = situation.mains.iter().flat_map(main);
    let remotes = situation.remote_conflicts.iter().map(remote_conflict);
    let permissions = situation.permissions.iter().filter_map(permission);
    let agents = situation.failed.iter().filter_map(agent);
    let without_tools = situation.without_tools.iter().filter_map(without_tools);
    let stuck = situation.stuck.iter().map(stuck);
    let messages = situation.messages.iter().map(message);
    let mut items: Vec<Item> = questions
        .chain(unaccepted)
        .chain(landings)
        .chain(mains)
        .chain(remotes)
        .chain(permissions)
        .chain(agents)
        .chain(without_tools)
        .chain(stuck)
        .chain(messages)
        .collect();
    items.sort_by(|a, b| a.at.cmp(&b.at));
    items
}

fn question(asked: &OpenQuestion) -> Item {
    let (cause, title) = match asked.help {
        true => (Cause::HelpAsked, format!("{} asks for help: {}", asked.by.name, asked.title)),
        false => (Cause::QuestionAsked, asked.title.clone()),
    };
    Item {
        brief: Some(asked.brief),
        title,
        question: Some(asked.question),
        text: asked.text.clone(),
        by: asked.by.clone(),
        next: format!("flower brief answer {} {} TEXT", asked.brief, asked.question),
        ..Item::new(cause, &asked.at)
    }
}

fn acceptance(waiting: &Unaccepted) -> Option<Item> {
    let (cause, text) = match waiting.status {
        Status::Draft => (Cause::PlanProposed, "a plan was proposed and waits to be accepted"),
        Status::Planned | Status::InProgress => {
            (Cause::SpecRefined, "the accepted plan was refined, and the refinement waits to be accepted")
        }
        Status::InReview if waiting.no_commits => {
            (Cause::ResultInReview, "the result has no commits; it is in review and waits to be accepted")
        }
        Status::InReview => (Cause::ResultInReview, "the result is in review and waits to be accepted"),
        Status::Parked | Status::Cancelled | Status::Done | Status::Landed => return None,
    };
    Some(Item {
        brief: Some(waiting.brief),
        title: waiting.title.clone(),
        text: text.to_owned(),
        by: waiting.by.clone(),
        next: format!("flower brief accept {}", waiting.brief),
        version: waiting.version,
        ..Item::new(cause, &waiting.at)
    })
}

fn landing(landing: &Landing) -> Option<Item> {
    match landing.state {
        State::Approval => {}
        // The queue continues without a person, or the landing has ended; flower requests a `fix` of a rejected one.
        State::Queued | State::Checking | State::Landed | State::Rejected | State::RolledBack | State::Cancelled => {
            return None;
        }
    }
    let number = landing.number;
    Some(Item {
        brief: landing.briefs.first().copied(),
        landing: Some(number),
        title: landing.title.clone(),
        text: format!("landing {number} waits for your approval: {}", landing.reason.as_deref().unwrap_or_default()),
        next: format!("flower queue approve {number}"),
        ..Item::new(Cause::LandingHeld, &landing.queued_at)
    })
}

fn main(of: &ProjectMain) -> Vec<Item> {
    let project = &of.project;
    let next = format!("flower main --project {project}");
    let alarm = of.main.alarm.as_ref().map(|alarm| Item {
        title: format!("MAIN of {project}"),
        text: format!("{}; {}", alarm.text, alarm.what.way_out()),
        next: next.clone(),
        project: Some(project.clone()),
        ..Item::new(Cause::MainChanged, &alarm.at)
    });
    let settings = of.settings_problem.as_ref().map(|problem| Item {
        title: format!("flower.toml of {project}"),
        text: problem.clone(),
        next: next.clone(),
        project: Some(project.clone()),
        ..Item::new(Cause::SettingsInvalid, &of.main.since)
    });
    alarm.into_iter().chain(settings).collect()
}

fn remote_conflict(landing: &Landing) -> Item {
    let (number, project) = (landing.number, &landing.project);
    let commit = landing.commit.get(..12).unwrap_or(&landing.commit);
    Item {
        landing: Some(number),
        title: format!("The remote of {project}"),
        text: format!(
            "commit {commit} of the remote does not merge with MAIN in {}; `flower main settle` makes a worktree in which both \
             are merged: settle it there, commit, and land the worktree",
            landing.paths.join(", ")
        ),
        next: format!("flower main settle --project {project}"),
        project: Some(project.clone()),
        ..Item::new(Cause::RemoteConflicts, landing.ended_at.as_ref().unwrap_or(&landing.queued_at))
    }
}

fn permission(asked: &Permission) -> Option<Item> {
    if asked.allowed.is_some() {
        return None;
    }
    Some(Item {
        brief: asked.brief,
        permission: Some(asked.number),
        title: format!("{} wants to {}", asked.name, asked.sort.replace('_', " ")),
        text: match asked.paths.is_empty() {
            true => asked.title.clone(),
            false => format!("{} ({})", asked.title, asked.paths.join(", ")),
        },
        agent: Some(asked.name.clone()),
        by: Actor { sort: ActorType::Agent, name: asked.name.clone() },
        next: format!("flower agent allow {0}; flower agent deny {0}", asked.number),
        seconds: Some(asked.seconds),
        ..Item::new(Cause::PermissionAsked, &asked.at)
    })
}

fn agent(agent: &Agent) -> Option<Item> {
    let (end, at) = (agent.ended.as_ref()?, agent.ended_at.as_ref()?);
    match end.how {
        Ending::Failed => {}
        // A person stopped the agent, its work is done, or its work continues after the halt.
        Ending::Retired | Ending::Stopped | Ending::Halted => return None,
    }
    let again = agent.brief.map(|brief| format!("; flower dispatch {brief} --kind fix")).unwrap_or_default();
    Some(Item {
        brief: agent.brief,
        title: format!("{} was given up", agent.name),
        text: end.why.clone(),
        next: format!("flower agent log {}{again}", agent.name),
        agent: Some(agent.name.clone()),
        ..Item::new(Cause::AgentFailed, at)
    })
}

fn without_tools(agent: &Agent) -> Option<Item> {
    if !agent.is_live() || agent.tools != Some(false) {
        return None;
    }
    let name = &agent.name;
    Some(Item {
        brief: agent.brief,
        title: format!("{name} has no tools of flower"),
        text: "it has not asked for them in its session; its prompt tells it the command line instead".to_owned(),
        next: format!("flower agent log {name}; flower agent stop {name}"),
        agent: Some(name.clone()),
        ..Item::new(Cause::AgentWithoutTools, &agent.started_at)
    })
}

fn stuck(waiting: &Stuck) -> Item {
    let number = waiting.dispatch;
    Item {
        brief: Some(waiting.brief),
        title: waiting.title.clone(),
        text: format!("dispatch {number} cannot start: {}", waiting.why),
        next: format!("flower dispatch packet {number}; flower dispatch cancel {number}"),
        ..Item::new(Cause::DispatchStuck, &waiting.at)
    }
}

/// A message as the agent that it is for sees it.
pub fn message_to_agent(message: &Unseen) -> Item {
    Item { next: READ_IN_INBOX.to_owned(), seq: None, ..self::message(message) }
}

/// An event of its brief, as an agent sees it.
pub fn news_to_agent(brief: Option<BriefId>, text: String, by: Actor, at: &str) -> Item {
    Item {
        title: "News of your brief".to_owned(),
        text,
        by,
        brief,
        next: READ_IN_INBOX.to_owned(),
        ..Item::new(Cause::News, at)
    }
}

const READ_IN_INBOX: &str = "it counts as read once the tool `check_inbox` or `flower inbox` has shown it";

fn message(message: &Unseen) -> Item {
    Item {
        title: format!("Message {}", message.number),
        text: message.text.clone(),
        next: format!("flower agent tell {} TEXT; flower inbox --seen", message.by.name),
        by: message.by.clone(),
        seq: Some(message.seq),
        ..Item::new(Cause::MessageReceived, &message.at)
    }
}

impl PutBack {
    /// What has happened, and the command for what the person wanted.
    pub fn note(&self) -> String {
        let commit = &self.commit;
        let next = match self.upstream {
            true => "to take the commits of the remote in: `flower main pull`".to_owned(),
            false => {
                format!("to work with it: `flower worktree new NAME --from {}`", commit.get(..12).unwrap_or(commit))
            }
        };
        format!(
            "git was refused to move MAIN to {}, and its files were put back; the commit is kept as \
             refs/flower/saved/{commit}; {next}",
            commit.get(..12).unwrap_or(commit)
        )
    }
}

impl Alarm {
    /// The commands that end an alarm.
    pub fn way_out(self) -> &'static str {
        match self {
            Alarm::Dirty => {
                "move the changes into a worktree: `flower main rescue`; or put MAIN back and keep them under a ref: `flower main restore`"
            }
            Alarm::Moved => {
                "land it through the checks: `flower main adopt`; move it into a worktree: `flower main rescue`; or put MAIN back: `flower main restore`"
            }
            Alarm::Detached => {
                "check MAIN's branch out again with `git switch`; or `flower main restore`, which keeps edits under a ref"
            }
            Alarm::Gone => "put it back: `flower main restore`; nothing is lost by it",
        }
    }
}
