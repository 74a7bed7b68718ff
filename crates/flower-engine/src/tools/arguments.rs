//! The arguments of each tool. `mcp/tools.rs` describes them to agents.

use flower_core::{BriefKind, Status};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartWork {
    pub(super) dispatch: Option<u64>,
    /// The token of the packet.
    pub(super) token: Option<String>,
    #[serde(default, alias = "patterns")]
    pub(super) paths: Vec<String>,
    pub(super) budget: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecallBrief {
    pub(super) brief: Option<u64>,
    pub(super) budget: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListBriefs {
    pub(super) status: Option<Status>,
    #[serde(default)]
    pub(super) ready: bool,
    pub(super) limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Search {
    pub(super) text: String,
    pub(super) limit: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateBrief {
    pub(super) title: String,
    pub(super) kind: Option<BriefKind>,
    pub(super) spec: Option<String>,
    pub(super) epic: Option<u64>,
    #[serde(default)]
    pub(super) needs: Vec<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProposePlan {
    pub(super) brief: u64,
    #[serde(alias = "spec")]
    pub(super) markdown: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RefineSpec {
    pub(super) brief: u64,
    #[serde(alias = "spec")]
    pub(super) markdown: String,
    /// The version that the text was made from.
    pub(super) base: Option<u64>,
    pub(super) why: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum NoteKind {
    #[default]
    Note,
    Comment,
    Question,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddNote {
    pub(super) brief: u64,
    pub(super) text: String,
    #[serde(default)]
    pub(super) kind: NoteKind,
    /// Base64, or a data URL.
    pub(super) image: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteScratchpad {
    /// Absent for a new scratchpad.
    pub(super) number: Option<u64>,
    pub(super) title: Option<String>,
    pub(super) brief: Option<u64>,
    pub(super) text: String,
    #[serde(default)]
    pub(super) append: bool,
    /// The version that the text was made from.
    pub(super) base: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReservePaths {
    #[serde(default, alias = "paths")]
    pub(super) patterns: Vec<String>,
    pub(super) minutes: Option<u64>,
    #[serde(default)]
    pub(super) release: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CheckInbox {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendMessage {
    pub(super) to: String,
    pub(super) text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HandBack {
    pub(super) dispatch: u64,
    pub(super) fence: u64,
    pub(super) summary: String,
    pub(super) not_done: Option<String>,
    #[serde(default)]
    pub(super) failed: bool,
}
