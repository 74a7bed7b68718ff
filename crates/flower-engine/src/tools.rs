//! The MCP tools for agents, one function per tool. Each answers in short Markdown, quotes text by other authors, and says what
//! to do next.

mod arguments;
mod briefs;
mod checks;
mod resources;
mod scratchpads;
mod work;

pub use resources::{MAIN, changed_resources, is_resource};

use super::projects::ProjectChoice;
use crate::{Access, Agents, Briefs, Dispatcher, Leases, MergeQueue, Messages, Overview, Projects};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::ToolAnswer;
use flower_core::readiness::DispatchKind;
use flower_core::{Caller, Role};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

pub use crate::tool_names::TOOLS;

/// Arguments that clients add to each call for themselves. Gemini adds this one.
const ADDED_BY_CLIENTS: [&str; 1] = ["wait_for_previous"];
/// Ignored arguments that an answer names.
const MAX_NAMED: usize = 5;

/// The tools of agents over MCP.
pub struct Tools {
    access: Arc<Access>,
    projects: Arc<Projects>,
    briefs: Arc<Briefs>,
    messages: Arc<Messages>,
    leases: Arc<Leases>,
    merge_queue: Arc<MergeQueue>,
    dispatcher: Arc<Dispatcher>,
    agents: Arc<Agents>,
    overview: Arc<Overview>,
}

impl Tools {
    #[expect(clippy::too_many_arguments, reason = "it uses most services, and is made once")]
    pub(crate) fn new(
        access: &Arc<Access>,
        projects: &Arc<Projects>,
        briefs: &Arc<Briefs>,
        messages: &Arc<Messages>,
        leases: &Arc<Leases>,
        merge_queue: &Arc<MergeQueue>,
        dispatcher: &Arc<Dispatcher>,
        agents: &Arc<Agents>,
        overview: &Arc<Overview>,
    ) -> Tools {
        Tools {
            access: access.clone(),
            projects: projects.clone(),
            briefs: briefs.clone(),
            messages: messages.clone(),
            leases: leases.clone(),
            merge_queue: merge_queue.clone(),
            dispatcher: dispatcher.clone(),
            agents: agents.clone(),
            overview: overview.clone(),
        }
    }

    /// The tools that the caller can use. An agent that asks for them has them.
    pub async fn list(&self, caller: &Caller) -> Vec<&'static str> {
        self.agents.note_tools_seen(caller);
        // flower has claimed the work of an agent that it has started, and the first prompt has the brief.
        let is_started = self.agents.has_work(caller);
        // A brief that is built has an accepted spec, which is refined.
        let builds = match caller.run {
            Some(run) => self
                .dispatcher
                .get(run.dispatch)
                .await
                .is_ok_and(|dispatch| matches!(dispatch.kind, DispatchKind::Build | DispatchKind::Fix)),
            None => false,
        };
        let can_use = |tool: &&str| match *tool {
            "start_work" => !is_started,
            "propose_plan" => !builds,
            _ => true,
        };
        tools_of(caller.role).into_iter().filter(can_use).collect()
    }

    /// Runs a tool, and adds a notice about ignored arguments and the caller's inbox to the answer.
    pub async fn call(
        self: &Arc<Self>,
        caller: &Caller,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolAnswer, Problem> {
        self.agents.note_tools_seen(caller);
        let mut ignored = Vec::new();
        match self.run_tool(caller, tool, arguments, &mut ignored).await {
            Ok(answer) => {
                let inbox = if tool == "check_inbox" { None } else { self.inbox_notice(caller).await };
                let notices: Vec<String> = [ignored_notice(tool, &ignored), inbox].into_iter().flatten().collect();
                Ok(ToolAnswer { notice: (!notices.is_empty()).then(|| notices.join("\n")), ..answer })
            }
            Err(problem) => {
                if problem.kind == ProblemKind::Forbidden {
                    self.access.record_refused(caller, tool, &problem.message).await;
                }
                Err(problem)
            }
        }
    }

    /// The number of new messages and events, if there are any.
    async fn inbox_notice(&self, caller: &Caller) -> Option<String> {
        let unread = self.messages.unread(caller, false).await.ok()?;
        let count = unread.messages.len() + unread.news.len();
        let more = if unread.more { " or more" } else { "" };
        (count > 0).then(|| format!("[{count}{more} new in your inbox: `check_inbox`]"))
    }

    async fn run_tool(
        self: &Arc<Self>,
        caller: &Caller,
        tool: &str,
        arguments: Map<String, Value>,
        ignored: &mut Vec<String>,
    ) -> Result<ToolAnswer, Problem> {
        let raw = RawArguments { tool, arguments, ignored };
        match tool {
            "start_work" => work::start_work(self, caller, raw.parse()?).await,
            "recall_brief" => work::recall_brief(self, caller, raw.parse()?).await,
            "list_briefs" => briefs::list(self, caller, raw.parse()?).await,
            "search" => briefs::search(self, caller, raw.parse()?).await,
            "create_brief" => briefs::create(self, caller, raw.parse()?).await,
            "propose_plan" => briefs::propose_plan(self, caller, raw.parse()?).await,
            "refine_spec" => briefs::refine_spec(self, caller, raw.parse()?).await,
            "add_note" => briefs::add_note(self, caller, raw.parse()?).await,
            "write_scratchpad" => scratchpads::write(self, caller, raw.parse()?).await,
            "reserve_paths" => work::reserve_paths(self, caller, raw.parse()?).await,
            "check_work" => checks::check_work(self, caller, raw.parse()?).await,
            "check_inbox" => work::check_inbox(self, caller, raw.parse()?).await,
            "send_message" => work::send_message(self, caller, raw.parse()?).await,
            "hand_back" => work::hand_back(self, caller, raw.parse()?).await,
            _ => Err(Problem::new(
                ProblemKind::NotFound,
                format!("there is no tool `{tool}`"),
                format!("known: {}", TOOLS.join(", ")),
            )),
        }
    }

    async fn project_choice(&self, caller: &Caller) -> Result<ProjectChoice, Problem> {
        self.access.choice(caller, ProjectChoice { name: self.access.project_of(caller).await?, dir: None }).await
    }
}

/// The tools that a role can use, in the order in which agents see them. [`flower_core::policy`] decides each call.
pub fn tools_of(role: Role) -> Vec<&'static str> {
    let may_use = |tool: &str| match role {
        Role::Operator | Role::Orchestrator | Role::Worker => true,
        // It reads everything, opens incidents, and writes notes.
        Role::Ops => matches!(
            tool,
            "recall_brief" | "list_briefs" | "search" | "create_brief" | "add_note" | "check_inbox" | "send_message"
        ),
    };
    TOOLS.into_iter().filter(|tool| may_use(tool)).collect()
}

fn ignored_notice(tool: &str, ignored: &[String]) -> Option<String> {
    let unexpected: Vec<String> = ignored
        .iter()
        .filter(|name| !ADDED_BY_CLIENTS.contains(&name.as_str()))
        .map(|name| format!("`{}`", flower_core::text::visible(name, 40)))
        .take(MAX_NAMED)
        .collect();
    (!unexpected.is_empty())
        .then(|| format!("[ignored, because `{tool}` has no such argument: {}]", unexpected.join(", ")))
}

/// The arguments of a call before they are parsed.
struct RawArguments<'a> {
    tool: &'a str,
    arguments: Map<String, Value>,
    /// Gets the names of the arguments that the tool does not know.
    ignored: &'a mut Vec<String>,
}

impl RawArguments<'_> {
    /// Parses the arguments. An error names the field.
    fn parse<T: DeserializeOwned>(self) -> Result<T, Problem> {
        let RawArguments { tool, arguments, ignored } = self;
        let mut note_ignored = |path: serde_ignored::Path<'_>| ignored.push(path.to_string());
        let mut track = serde_path_to_error::Track::new();
        let arguments = Value::Object(arguments);
        let known = serde_ignored::Deserializer::new(&arguments, &mut note_ignored);
        T::deserialize(serde_path_to_error::Deserializer::new(known, &mut track)).map_err(|error| {
            let field = track.path().to_string();
            let at = if field == "." { String::new() } else { format!("`{field}`: ") };
            let hint = format!("correct that and call `{tool}` again; nothing was done");
            Problem::usage(format!("{at}{error}"), hint)
        })
    }
}

/// An answer without a notice.
fn text(text: String) -> ToolAnswer {
    ToolAnswer { text, notice: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flower_core::policy::{Right, require_role};
    use flower_core::{Actor, DispatchId, Door};

    /// A tool that is listed for a role but refused to it would cost tokens and calls for nothing.
    #[test]
    fn a_role_sees_the_tools_whose_rights_it_has() {
        let right = |role: Role, tool: &str| match tool {
            "start_work" | "hand_back" => Some(Right::Run(DispatchId(1))),
            "create_brief" if role == Role::Ops => Some(Right::OpenIncident),
            "create_brief" => Some(Right::Propose),
            "propose_plan" | "refine_spec" | "add_note" | "write_scratchpad" => Some(Right::Contribute),
            "reserve_paths" => Some(Right::Reserve),
            "check_work" => Some(Right::Enter),
            "check_inbox" | "send_message" => Some(Right::Speak),
            _ => None,
        };
        for role in [Role::Operator, Role::Orchestrator, Role::Worker, Role::Ops] {
            let caller = Caller::unbound(Actor::system(), role, Door::Mcp);
            let listed = tools_of(role);
            for tool in TOOLS {
                let has_right = right(role, tool).is_none_or(|right| require_role(&caller, right).is_ok());
                // The right to contribute of the role ops covers notes only.
                let only_notes = matches!(tool, "propose_plan" | "refine_spec" | "write_scratchpad");
                let expected = has_right && !(role == Role::Ops && only_notes);
                assert_eq!(listed.contains(&tool), expected, "{tool} for {role}");
            }
        }
    }

    #[test]
    fn ignored_arguments_are_named_unless_clients_add_them() {
        let mut ignored = Vec::new();
        let arguments = serde_json::json!({ "brief": "7", "wait_for_previous": true, "colour": 1 });
        let Value::Object(arguments) = arguments else { panic!("an object") };
        let raw = RawArguments { tool: "recall_brief", arguments, ignored: &mut ignored };
        assert_eq!(raw.parse::<arguments::RecallBrief>().unwrap().brief, Some(7));
        let notice = ignored_notice("recall_brief", &ignored).unwrap();
        assert_eq!(notice, "[ignored, because `recall_brief` has no such argument: `colour`]");
        assert_eq!(ignored_notice("recall_brief", &ignored[..0]), None);
    }
}
