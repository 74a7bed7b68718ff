//! The bodies of responses. The server writes them, clients read them.

mod agents;
mod dispatches;
mod landings;
mod network;
mod worktrees;

pub use agents::*;
pub use dispatches::*;
pub use landings::*;
pub use network::*;
pub use worktrees::*;

use crate::schema;
use crate::word::words;
use flower_core::attention::{Cause, Item, ItemKind, Tone};
use flower_core::landing::State;
use flower_core::readiness::{DispatchKind, Readiness, ReasonCode};
use flower_core::{
    Actor, BriefId, BriefKind, Description, LinkKind, Participant, Recorded, Role, SpecOrigin, Status, Topic,
};
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
    /// The status to which a parked brief returns.
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

/// A brief in a long list.
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
    /// The brief is planned, and all its needs are met.
    pub ready: bool,
    pub updated_at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpecView {
    /// 0 without a spec.
    pub version: u64,
    pub markdown: String,
    pub accepted_version: Option<u64>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BriefProject {
    pub name: String,
    pub primary: bool,
}

/// Whether the brief can be dispatched, as its default kind and as each other kind.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Dispatchable {
    pub ok: bool,
    pub reasons: Vec<ReasonView>,
    /// The kind of dispatch that `ok` is about.
    #[schema(value_type = schema::DispatchKind)]
    pub kind: DispatchKind,
    /// The result for each kind.
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
    #[schema(value_type = schema::LinkKind)]
    pub kind: LinkKind,
    pub target: String,
    pub label: String,
    pub by: String,
    pub at: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SpecVersionView {
    pub version: u64,
    #[schema(value_type = schema::SpecOrigin)]
    pub origin: SpecOrigin,
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
    /// A unified diff without colour; empty if both are equal.
    pub diff: String,
}

/// An event. Each line of `flower log export` is one, with all fields that the hash covers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    pub seq: u64,
    pub at: String,
    pub kind: String,
    pub actor: EventActor,
    pub door: String,
    // Required even if `null`: an export without the field was modified.
    #[serde(deserialize_with = "Option::deserialize")]
    pub brief: Option<u64>,
    #[schema(value_type = Object)]
    pub body: Box<RawValue>,
    pub hash: String,
    pub prev: String,
    pub stream: String,
    pub version: u64,
    pub schema: u64,
    /// A description of the event. Not in exports, because it is not a part of the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The topics that the event changes: a client that shows one of them must reload it. The first one is what the event is
    /// about; an event of an unknown kind has all topics. Not in exports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<schema::Topic>)]
    pub topics: Vec<Topic>,
}

/// The actor as recorded. The type is a string, so that a damaged event can still be shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct EventActor {
    #[serde(rename = "type")]
    pub sort: String,
    pub name: String,
}

impl From<&Recorded> for EventView {
    fn from(event: &Recorded) -> EventView {
        let body = RawValue::from_string(event.body.clone()).unwrap_or_else(|_| {
            // The row was edited outside flower: show its text unchanged.
            serde_json::value::to_raw_value(&event.body).expect("a string is JSON")
        });
        EventView {
            seq: event.seq,
            at: event.at.clone(),
            kind: event.kind.clone(),
            actor: EventActor { sort: event.actor_type.clone(), name: event.actor_name.clone() },
            door: event.door.clone(),
            brief: event.brief.map(u64::from),
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
    /// The description of the event.
    pub fn description(&self) -> Description {
        Description::of_stored(&self.kind, self.schema, self.body.get())
    }

    /// Adds the description and the topics.
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
            brief: event.brief.map(BriefId),
            body: event.body.get().to_owned(),
            prev: event.prev,
            hash: event.hash,
        }
    }
}

/// An item that waits for the operator.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct InboxItem {
    #[schema(value_type = schema::ItemKind)]
    pub kind: ItemKind,
    #[schema(value_type = schema::Cause)]
    pub cause: Cause,
    #[schema(value_type = schema::Tone)]
    pub tone: Tone,
    /// Absent if the item is not about a brief.
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
    /// The project whose MAIN the item is about.
    #[serde(default)]
    pub project: Option<String>,
    /// The project of the brief, landing or agent that the item is about.
    #[serde(default)]
    pub in_project: Option<String>,
    /// The agent that the item is about.
    #[serde(default)]
    pub agent: Option<String>,
    /// The deadline: a permission that is not granted by then is denied.
    #[serde(default)]
    pub until: Option<String>,
    /// The event of a message.
    #[serde(default)]
    pub seq: Option<u64>,
    pub text: String,
    #[schema(value_type = schema::Actor)]
    pub by: Actor,
    pub at: String,
    /// The command that settles the item.
    pub next: String,
}

impl InboxItem {
    /// `until` is when the item is decided without a person.
    pub fn new(item: Item, until: Option<String>) -> InboxItem {
        InboxItem {
            kind: item.cause.kind(),
            cause: item.cause,
            tone: item.cause.tone(),
            brief: item.brief.map(u64::from),
            landing: item.landing.map(u64::from),
            permission: item.permission.map(u64::from),
            title: item.title,
            question: item.question,
            version: item.version,
            in_project: item.project.clone(),
            project: item.project,
            agent: item.agent,
            until,
            seq: item.seq,
            text: item.text,
            by: item.by,
            at: item.at,
            next: item.next,
        }
    }
}

words! {
    SearchPlace { Title = "title", Spec = "spec", Trace = "trace", Scratchpad = "scratchpad" }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SearchHit {
    /// Absent for a scratchpad that belongs to no brief.
    pub brief: Option<u64>,
    /// The brief's title, or the scratchpad's.
    pub title: String,
    #[serde(rename = "where")]
    pub place: SearchPlace,
    /// The number of the event or scratchpad.
    pub reference: Option<u64>,
    pub snippet: String,
    /// Positions of the matches in the snippet: first character and length.
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
    /// Keys of the repository's git configuration that name programs, reported at registration. flower runs none of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
    /// The progress of copying the objects that worktrees may read, or why they are not copied. Absent when finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lending: Option<String>,
    /// What is special about the repository, reported at registration: what works differently there, and what to do about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<RepositoryNotice>,
    /// Why the repository cannot be used, if it is not at its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// The path from which the repository was moved, reported by the request that found it at its new path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
}

words! {
    /// A property of a repository that the operator should know.
    NoticeKind {
        OtherHooks = "other_hooks",
        OtherBranch = "other_branch",
        Detached = "detached",
        Partial = "partial",
        Shallow = "shallow",
        Sparse = "sparse",
        Lfs = "lfs",
        Submodules = "submodules",
        Unsigned = "unsigned",
        NoChecks = "no_checks",
        /// What `flower.toml` runs and opens is not approved yet.
        Unapproved = "unapproved",
        NoCommits = "no_commits",
        Copy = "copy",
    }
}

/// What is special about a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RepositoryNotice {
    pub kind: NoticeKind,
    pub text: String,
    /// The next step, with a command. Absent if nothing needs to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RemovedProject {
    pub removed: String,
    /// Whether the repository is still at its path. Otherwise nothing was changed in it.
    #[serde(default)]
    pub repository_found: bool,
    /// flower's branches and refs that stay in the repository, because their commits are not in MAIN.
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

/// The only response that contains the token.
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
    /// Why the store is read-only, if it is.
    pub read_only: Option<String>,
    pub project: Option<String>,
    /// The project's MAIN as recorded in the log; `flower main` shows its current state.
    #[serde(default)]
    pub main: Option<MainSummary>,
    /// Number of open landings.
    #[serde(default)]
    pub queue: u64,
    /// The open landing that is processed now or next.
    #[serde(default)]
    pub next_landing: Option<NextLanding>,
    /// Number of briefs in each status.
    pub briefs: BTreeMap<String, u64>,
    /// Number of worktrees.
    #[serde(default)]
    pub worktrees: u64,
    /// Number of dispatches that are claimed, and that wait for a claim.
    #[serde(default)]
    pub at_work: u64,
    #[serde(default)]
    pub unclaimed: u64,
    /// Number of running agents in each state.
    #[serde(default)]
    pub agents: BTreeMap<String, u64>,
    /// Number of items that wait for the operator.
    pub inbox: u64,
    pub last_event: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct MainSummary {
    pub branch: String,
    pub recorded_tip: String,
    pub state: MainState,
    pub reason: Option<String>,
    /// How to get back to `stable`.
    pub next: Option<String>,
    /// The error in MAIN's `flower.toml`, and which version is in effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
    /// No checks are configured, so every landing that merges reaches MAIN untested.
    #[serde(default)]
    pub unchecked: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NextLanding {
    pub id: u64,
    pub title: String,
    #[schema(value_type = schema::State)]
    pub state: State,
    /// A description of its state.
    pub reason: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct VerifyView {
    pub ok: bool,
    /// Number of verified events.
    pub verified: u64,
    /// The hash of the last verified event.
    pub head: String,
    /// The first event that differs from what was recorded.
    pub bad_seq: Option<u64>,
    pub fault: Option<String>,
    /// The last event that a record outside the database confirms.
    pub proved: Option<u64>,
    /// Number of events after that one.
    pub unproved: u64,
    /// Tables that differ from the log, if the request asked for the comparison.
    pub tables: Option<Vec<String>>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RebuildView {
    pub events: u64,
    pub rows: u64,
    /// Tables that differed from the log.
    pub mended: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct OpenLink {
    /// Valid once, for ten minutes.
    pub open_url: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Session {
    /// For the `Authorization` header.
    pub token: String,
}

words! {
    FindingState { Ok = "ok", Bad = "bad", Unknown = "unknown" }
}

/// A result of `flower doctor`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Finding {
    pub check: String,
    pub state: FindingState,
    pub evidence: String,
    /// How to fix it; with `--fix`, what was done.
    pub fix: Option<String>,
}

/// The response of a tool, in Markdown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ToolAnswer {
    /// The items in the caller's inbox. A separate field, so that the response itself stays the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
    pub text: String,
}

/// An MCP resource.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResourceView {
    pub uri: String,
    /// Markdown.
    pub text: String,
}
