//! Permission requests of agents: allowed, denied, or passed on to the operator.

use super::agent_handle::AgentHandle;
use super::call_facts::CallFacts;
use crate::Agents;
use crate::acp::schema::{
    PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, RequestPermissionResponse,
    SelectedPermissionOutcome, ToolKind,
};
use crate::profiles::config::Permissions;
use flower_contract::error::Problem;
use flower_contract::view::PermissionView;
use flower_core::{ActorType, AgentId, Caller, Command, Permission, PermissionId, Refusal};
use flower_store::agents;
use std::path::{Component, Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Allow,
    Ask,
    Deny,
}

/// A permission request, with what the agent has told of its tool call before.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) request: Box<RequestPermissionRequest>,
    pub(super) facts: CallFacts,
}

impl Asked {
    pub(super) fn title(&self) -> String {
        self.facts.title(&self.request.tool_call.tool_call_id.0)
    }

    fn is_flower_tool(&self) -> bool {
        self.facts.is_flower_tool(&self.request.tool_call.tool_call_id.0)
    }
}

/// Judges a request of an agent that works in `tree`.
pub(super) fn judge(policy: Permissions, asked: &Asked, tree: &Path) -> Verdict {
    match policy {
        Permissions::Allow => Verdict::Allow,
        Permissions::Deny => Verdict::Deny,
        Permissions::Ask => Verdict::Ask,
        Permissions::Worktree => judge_within_worktree(asked, tree),
    }
}

/// Reading and running commands is allowed, because the jail limits both. Changing files is allowed in the worktree.
fn judge_within_worktree(asked: &Asked, tree: &Path) -> Verdict {
    match asked.facts.kind() {
        _ if asked.is_flower_tool() => Verdict::Allow,
        ToolKind::Read | ToolKind::Search | ToolKind::Think | ToolKind::Execute => Verdict::Allow,
        ToolKind::Edit | ToolKind::Delete | ToolKind::Move => {
            let paths = asked.facts.paths();
            let inside = !paths.is_empty() && paths.iter().all(|path| is_inside(path, tree));
            if inside { Verdict::Allow } else { Verdict::Ask }
        }
        _ => Verdict::Ask,
    }
}

/// Whether the path is below the tree without `..`. Links out of the tree are left to the jail.
fn is_inside(path: &Path, tree: &Path) -> bool {
    let below = if path.is_absolute() { path.strip_prefix(tree).ok() } else { Some(path) };
    below.is_some_and(|below| below.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)))
}

/// Selects the option by its kind, not by its position, and prefers to allow or reject once.
pub(super) fn select_option(request: &RequestPermissionRequest, allow: bool) -> RequestPermissionResponse {
    use PermissionOptionKind::{AllowAlways, AllowOnce, RejectAlways, RejectOnce};
    let wanted = if allow { [AllowOnce, AllowAlways] } else { [RejectOnce, RejectAlways] };
    let option = wanted.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
    RequestPermissionResponse::new(match option {
        Some(option) => RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone())),
        None => RequestPermissionOutcome::Cancelled,
    })
}

impl Agents {
    pub(super) async fn ask_permission(
        &self,
        handle: &AgentHandle,
        asked: &Asked,
        seconds: u64,
    ) -> Result<PermissionId, Problem> {
        let sort = serde_json::to_value(asked.facts.kind());
        let sort = sort.ok().and_then(|sort| sort.as_str().map(str::to_owned)).unwrap_or_else(|| "other".to_owned());
        let masked = |text: &str| handle.transcript.masked(text);
        let asked = flower_core::permission::Request {
            agent: handle.number,
            title: masked(&asked.title()),
            sort,
            paths: asked.facts.paths().iter().map(|path| masked(&path.to_string_lossy())).collect(),
            seconds,
        };
        let permission: Permission = self.store.create(&Caller::system(), Command::AskPermission(asked)).await?;
        Ok(permission.number)
    }

    /// The decision about a permission, if there is one.
    pub(super) async fn permission_decision(&self, number: PermissionId) -> Option<bool> {
        self.store.read(move |conn| agents::permission(conn, number)).await.ok().flatten()?.allowed
    }

    pub async fn permissions(&self) -> Result<Vec<PermissionView>, Problem> {
        let open = self.store.read(agents::permissions).await?;
        Ok(open.into_iter().map(PermissionView::from).collect())
    }

    pub async fn decide_permission(
        &self,
        caller: &Caller,
        number: PermissionId,
        allow: bool,
        why: Option<String>,
    ) -> Result<PermissionView, Problem> {
        let reason = why.clone();
        let events = self.store.execute(caller, Command::DecidePermission { number, allow, why }).await?;
        let decided = self.store.read(move |conn| agents::permission(conn, number)).await?;
        // ACP has no place for a reason, so it reaches the agent as a message: at the latest before its next turn.
        if let (false, Some(why), Some(denied), false) = (allow, reason, &decided, events.is_empty())
            && caller.actor.sort != ActorType::System
        {
            let text = format!("Permission {number} is denied: {}\n\nThe reason: {why}", denied.title);
            if let Err(problem) = self.messages.send(caller, &denied.name, text).await {
                tracing::debug!("permission {number}: {}", problem.message);
            }
        }
        self.wake_all();
        decided.map(PermissionView::from).ok_or_else(|| Refusal::NoPermission { number }.into())
    }

    /// Denies the open permissions of an agent, or of all, that no process waits for any more.
    pub(super) async fn deny_open_permissions(&self, agent: Option<AgentId>, why: &str) {
        let open = self.store.read(agents::permissions).await.unwrap_or_default();
        for permission in open.into_iter().filter(|permission| agent.is_none_or(|agent| permission.agent == agent)) {
            let (number, why) = (permission.number, Some(why.to_owned()));
            let decided = Command::DecidePermission { number, allow: false, why };
            if let Err(problem) = self.store.execute(&Caller::system(), decided).await {
                tracing::debug!("permission {number}: {}", problem.message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn request(call: Value, options: &[&str]) -> RequestPermissionRequest {
        let options: Vec<Value> =
            options.iter().map(|kind| json!({ "optionId": kind, "name": kind, "kind": kind })).collect();
        let mut call = call;
        call["toolCallId"] = json!("1");
        serde_json::from_value(json!({ "sessionId": "s", "toolCall": call, "options": options })).unwrap()
    }

    #[test]
    fn within_the_worktree_it_is_allowed_and_beyond_it_asked() {
        let tree = Path::new("/w/price");
        for (call, expected) in [
            (json!({ "kind": "edit", "locations": [{ "path": "/w/price/src/a.rs" }] }), Verdict::Allow),
            (json!({ "kind": "edit", "locations": [{ "path": "src/a.rs" }] }), Verdict::Allow),
            (json!({ "kind": "edit", "locations": [{ "path": "/w/price/../main/a.rs" }] }), Verdict::Ask),
            (json!({ "kind": "edit", "locations": [{ "path": "/w/price-2/a.rs" }] }), Verdict::Ask),
            (json!({ "kind": "edit" }), Verdict::Ask),
            (
                json!({ "kind": "edit", "content": [{ "type": "diff", "path": "/etc/passwd", "newText": "" }],
                     "locations": [{ "path": "a" }] }),
                Verdict::Ask,
            ),
            (json!({ "kind": "execute", "title": "make" }), Verdict::Allow),
            (json!({ "kind": "fetch", "title": "a page" }), Verdict::Ask),
            (json!({ "kind": "other", "title": "mcp__flower__hand_back" }), Verdict::Allow),
            (json!({ "kind": "other", "title": "mcp__other__hand_back" }), Verdict::Ask),
            (json!({ "kind": "edit", "title": "flower_write_scratchpad" }), Verdict::Allow),
            (json!({ "kind": "edit", "rawInput": { "file_path": "/w/price/a" } }), Verdict::Allow),
            (json!({ "kind": "edit", "rawInput": { "file_path": "/etc/passwd" } }), Verdict::Ask),
            (json!({ "kind": "from_the_future" }), Verdict::Ask),
        ] {
            let request = request(call, &["allow_once"]);
            let mut facts = CallFacts::default();
            facts.add(&request.tool_call.fields, request.tool_call.meta.as_ref());
            let asked = Asked { request: Box::new(request), facts };
            assert_eq!(judge(Permissions::Worktree, &asked, tree), expected, "{asked:?}");
            assert_eq!(judge(Permissions::Deny, &asked, tree), Verdict::Deny);
        }
    }

    #[test]
    fn options_are_chosen_by_their_kind() {
        let chosen = |options: &[&str], allow| {
            let answer = select_option(&request(json!({}), options), allow);
            serde_json::to_value(answer).unwrap()["outcome"].clone()
        };
        let options = ["allow_always", "reject_always", "allow_once", "reject_once"];
        assert_eq!(chosen(&options, true)["optionId"], "allow_once");
        assert_eq!(chosen(&options, false)["optionId"], "reject_once");
        assert_eq!(chosen(&["allow_always"], true)["optionId"], "allow_always");
        assert_eq!(chosen(&["allow_always"], false)["outcome"], "cancelled");
    }
}
