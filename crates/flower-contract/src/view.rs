//! What the doors show: the objects of the JSON contract. The API writes them, the command line reads them.

mod agents;
mod dispatches;
mod landings;
mod worktrees;

pub use agents::*;
pub use dispatches::*;
pub use landings::*;
pub use worktrees::*;

use crate::schema;
use flower_core::attention::{Cause, Item, ItemKind, Tone};
use flower_core::landing::State;
use flower_core::readiness::{Readiness, ReasonCode};
use flower_core::{Actor, BriefKind, Description, Participant, Recorded, Role, Status, Topic};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BriefView {
    pub number: u64,
    pub title: String,
    #[schema(value_type = schema::BriefKind)]
    pub kind: BriefKind,
    #[schema(value_type = schema::Status)]
    pub status: Status,
    pub spec: SpecView,
    pub projects: Vec<BriefProject>,
    pub epic: Option<u64>,
    pub depends_on: Vec<u64>,
    pub dependents: Vec<u64>,
    pub dispatchable: Dispatchable,
    /// Where a parked one goes back to.
    #[serde(default)]
    #[schema(value_type = Option<schema::Status>)]
    pub parked_from: Option<Status>,
    pub auto_dispatch: bool,
    pub design_loop: bool,
    #[schema(value_type = Vec<schema::Participant>)]
    pub participants: Vec<Participant>,
    pub links: Vec<LinkView>,
    pub open_questions: Vec<u64>,
    pub created_at: String,
    pub updated_at: String,
}

/// A brief as a line of a long list.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BriefRow {
    pub number: u64,
    pub title: String,
    #[schema(value_type = schema::BriefKind)]
    pub kind: BriefKind,
    #[schema(value_type = schema::Status)]
    pub status: Status,
    pub epic: Option<u64>,
    pub projects: Vec<String>,
    pub open_questions: u64,
    /// It is planned, and all that it needs is there.
    pub ready: bool,
    pub updated_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpecView {
    /// 0 while there is none.
    pub version: u64,
    pub markdown: String,
    pub accepted_version: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BriefProject {
    pub name: String,
    pub primary: bool,
}

/// Whether the brief can be dispatched as what it naturally is, and as anything else.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Dispatchable {
    pub ok: bool,
    pub reasons: Vec<ReasonView>,
    /// The kind of dispatch that `ok` speaks of.
    pub kind: String,
    /// The answer for every kind.
    pub kinds: BTreeMap<String, KindReadiness>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct KindReadiness {
    pub ok: bool,
    pub reasons: Vec<ReasonView>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReasonView {
    #[schema(value_type = schema::ReasonCode)]
    pub code: ReasonCode,
    pub message: String,
}

impl From<Readiness> for KindReadiness {
    fn from(readiness: Readiness) -> KindReadiness {
        let reasons = readiness.reasons.into_iter();
        KindReadiness {
            ok: readiness.ok,
            reasons: reasons.map(|r| ReasonView { code: r.code, message: r.message }).collect(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct LinkView {
    pub kind: String,
    pub target: String,
    pub label: String,
    pub by: String,
    pub at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpecVersionView {
    pub version: u64,
    /// `plan` or `refinement`.
    pub origin: String,
    pub base: u64,
    pub why: Option<String>,
    #[schema(value_type = schema::Actor)]
    pub by: Actor,
    pub at: String,
    pub accepted: bool,
    pub bytes: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct DiffView {
    pub brief: u64,
    pub from: u64,
    pub to: u64,
    /// Unified, without colour; empty when the two are equal.
    pub diff: String,
}

/// An event. A line of `flower log export` is one of these, and holds all that the hash covers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    pub seq: u64,
    pub at: String,
    pub kind: String,
    pub actor: EventActor,
    pub door: String,
    // Always there, if only as `null`: an export in which it has another name was changed.
    #[serde(deserialize_with = "Option::deserialize")]
    pub brief: Option<u64>,
    #[schema(value_type = Object)]
    pub body: Box<RawValue>,
    pub hash: String,
    pub prev: String,
    pub stream: String,
    pub version: u64,
    pub schema: u64,
    /// What happened, in words. Not in exports: it is no part of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// What it changes; a reader of one of these reads it again. Not in exports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Topic>)]
    pub topics: Vec<Topic>,
}

/// As recorded; the type is a text, so that a damaged event can still be shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventActor {
    #[serde(rename = "type")]
    pub sort: String,
    pub name: String,
}

impl From<&Recorded> for EventView {
    fn from(event: &Recorded) -> EventView {
        let body = RawValue::from_string(event.body.clone()).unwrap_or_else(|_| {
            // Somebody edited the row: show the text as it is.
            serde_json::value::to_raw_value(&event.body).expect("a string is JSON")
        });
        EventView {
            seq: event.seq,
            at: event.at.clone(),
            kind: event.kind.clone(),
            actor: EventActor { sort: event.actor_type.clone(), name: event.actor_name.clone() },
            door: event.door.clone(),
            brief: event.brief,
            body,
            hash: event.hash.clone(),
            prev: event.prev.clone(),
            stream: event.stream.clone(),
            version: event.version,
            schema: event.schema,
            said: None,
            topics: Vec::new(),
        }
    }
}

impl EventView {
    /// What it says to its readers.
    pub fn description(&self) -> Description {
        Description::of_stored(&self.kind, self.schema, self.body.get())
    }

    /// With what happened in words, and what it changes.
    pub fn told(event: &Recorded) -> EventView {
        let described = event.description();
        EventView { said: Some(described.summary), topics: described.topics.to_vec(), ..EventView::from(event) }
    }
}

impl From<EventView> for Recorded {
    fn from(event: EventView) -> Recorded {
        Recorded {
            seq: event.seq,
            stream: event.stream,
            version: event.version,
            kind: event.kind,
            schema: event.schema,
            actor_type: event.actor.sort,
            actor_name: event.actor.name,
            door: event.door,
            at: event.at,
            brief: event.brief,
            body: event.body.get().to_owned(),
            prev: event.prev,
            hash: event.hash,
        }
    }
}

/// Something that waits for the operator.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InboxItem {
    #[schema(value_type = schema::ItemKind)]
    pub kind: ItemKind,
    #[schema(value_type = schema::Cause)]
    pub cause: Cause,
    #[schema(value_type = schema::Tone)]
    pub tone: Tone,
    /// Absent where it is about something else.
    pub brief: Option<u64>,
    /// The landing that waits.
    #[serde(default)]
    pub landing: Option<u64>,
    /// The permission that an agent waits for.
    #[serde(default)]
    pub permission: Option<u64>,
    pub title: String,
    pub question: Option<u64>,
    /// The version of the spec that waits to be accepted.
    #[serde(default)]
    pub version: Option<u64>,
    /// Whose MAIN it is about.
    #[serde(default)]
    pub project: Option<String>,
    /// The agent that it is about.
    #[serde(default)]
    pub agent: Option<String>,
    /// After this it is decided without you: what nobody allowed is denied.
    #[serde(default)]
    pub until: Option<String>,
    /// The event that brought a message.
    #[serde(default)]
    pub seq: Option<u64>,
    pub text: String,
    pub by: EventActor,
    pub at: String,
    /// The command that settles it.
    pub next: String,
}

impl InboxItem {
    /// `until` is when the item is decided without a person.
    pub fn new(item: Item, until: Option<String>) -> InboxItem {
        InboxItem {
            kind: item.cause.kind(),
            cause: item.cause,
            tone: item.cause.tone(),
            brief: item.brief,
            landing: item.landing,
            permission: item.permission,
            title: item.title,
            question: item.question,
            version: item.version,
            project: item.project,
            agent: item.agent,
            until,
            seq: item.seq,
            text: item.text,
            by: EventActor { sort: item.by.sort.to_string(), name: item.by.name },
            at: item.at,
            next: item.next,
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    /// Absent for a scratchpad that belongs to no brief.
    pub brief: Option<u64>,
    /// The brief's title, or the scratchpad's.
    pub title: String,
    /// `title`, `spec`, `trace` or `scratchpad`.
    #[serde(rename = "where")]
    pub place: String,
    /// The event or scratchpad, where it is one.
    pub reference: Option<u64>,
    pub snippet: String,
    /// Where the matches stand in the snippet: first character and length.
    pub marks: Vec<(usize, usize)>,
    pub score: f64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ScratchpadView {
    pub number: u64,
    pub title: String,
    pub brief: Option<u64>,
    pub version: u64,
    pub by: String,
    pub created_at: String,
    pub updated_at: String,
    /// Empty in lists.
    pub text: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProjectView {
    pub name: String,
    pub root: String,
    pub at: String,
    /// Keys of the repository's own git configuration that name programs, when it is registered. flower runs none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// How far the copy of the objects is that its worktrees may read, or why there is none, as long as it is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lending: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RemovedProject {
    pub removed: String,
    /// Branches and refs of flower's that stay in the repository, because their work is not in MAIN.
    pub branches_left: Vec<String>,
    /// Removed worktrees whose files and commits are kept in `archive`.
    pub archives_left: Vec<String>,
    pub archive: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct TokenView {
    pub id: String,
    pub agent: String,
    #[schema(value_type = schema::Role)]
    pub role: Role,
    pub brief: Option<u64>,
    pub worktree: Option<String>,
    pub at: String,
    pub revoked_at: Option<String>,
}

/// The only time that a token is shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NewToken {
    pub id: String,
    pub token: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    pub version: String,
    pub pid: u32,
    pub url: String,
    pub started_at: String,
    pub database: String,
    /// Why nothing is written, if so.
    pub read_only: Option<String>,
    pub project: Option<String>,
    /// The project's MAIN as the log has it; `flower main` looks at it live.
    #[serde(default)]
    pub main: Option<MainSummary>,
    /// How many landings are open.
    #[serde(default)]
    pub queue: u64,
    /// The one of them that is at it, or whose turn it is.
    #[serde(default)]
    pub next_landing: Option<NextLanding>,
    /// How many briefs in each status.
    pub briefs: BTreeMap<String, u64>,
    /// How many worktrees there are.
    #[serde(default)]
    pub worktrees: u64,
    /// How many dispatches somebody works on, and how many wait for somebody.
    #[serde(default)]
    pub at_work: u64,
    #[serde(default)]
    pub unclaimed: u64,
    /// How many agents flower runs, by what they do at this moment.
    #[serde(default)]
    pub agents: BTreeMap<String, u64>,
    /// How many things wait for the operator.
    pub inbox: u64,
    pub last_event: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MainSummary {
    pub branch: String,
    pub recorded_tip: String,
    /// `stable`, `dirty`, `moved`, `frozen` or `unknown`.
    pub state: String,
    pub reason: Option<String>,
    /// The way out of a state that is not `stable`.
    pub next: Option<String>,
    /// What is wrong with MAIN's `flower.toml`, and which version is in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NextLanding {
    pub id: u64,
    pub title: String,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// Where it stands, in words.
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VerifyView {
    pub ok: bool,
    /// Events that hold.
    pub verified: u64,
    /// The hash of the last of them.
    pub head: String,
    /// The first event that is not as it was recorded.
    pub bad_seq: Option<u64>,
    pub fault: Option<String>,
    /// The last event that something outside the database proves.
    pub proved: Option<u64>,
    /// Events after it.
    pub unproved: u64,
    /// Tables that differ from what the log says, if that was asked for.
    pub tables: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RebuildView {
    pub events: u64,
    pub rows: u64,
    /// Tables whose rows were not what the log says.
    pub mended: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OpenLink {
    /// Works once, within ten minutes.
    pub open_url: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// For the `Authorization` header.
    pub token: String,
}

/// Something that `flower doctor` looked at.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    pub check: String,
    /// `ok`, `bad` or `unknown`.
    pub state: String,
    pub evidence: String,
    /// What mends it; with `--fix`, what was done.
    pub fix: Option<String>,
}

/// What a tool answers, in Markdown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ToolAnswer {
    /// What waits in the caller's inbox, if anything; beside the answer, so that its bytes stay what they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    pub text: String,
}

/// A resource as agents read it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResourceView {
    pub uri: String,
    /// Markdown.
    pub text: String,
}
