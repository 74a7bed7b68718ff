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
use crate::{Access, Briefs, Dispatcher, Leases, MergeQueue, Messages, Overview, Projects};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::ToolAnswer;
use flower_core::Caller;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

pub use crate::tool_names::TOOLS;

/// The tools of agents over MCP.
pub struct Tools {
    access: Arc<Access>,
    projects: Arc<Projects>,
    briefs: Arc<Briefs>,
    messages: Arc<Messages>,
    leases: Arc<Leases>,
    merge_queue: Arc<MergeQueue>,
    dispatcher: Arc<Dispatcher>,
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
            overview: overview.clone(),
        }
    }

    /// Runs a tool, and adds a notice about the caller's inbox to the answer.
    pub async fn call(
        self: &Arc<Self>,
        caller: &Caller,
        tool: &str,
        arguments: Map<String, Value>,
    ) -> Result<ToolAnswer, Problem> {
        let answer = self.run_tool(caller, tool, arguments).await;
        match answer {
            Ok(answer) if tool == "check_inbox" => Ok(answer),
            Ok(answer) => Ok(ToolAnswer { notice: self.inbox_notice(caller).await, ..answer }),
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
    ) -> Result<ToolAnswer, Problem> {
        let raw = RawArguments { tool, arguments };
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

/// The arguments of a call before they are parsed.
struct RawArguments<'a> {
    tool: &'a str,
    arguments: Map<String, Value>,
}

impl RawArguments<'_> {
    /// Parses the arguments. An error names the field.
    fn parse<T: DeserializeOwned>(self) -> Result<T, Problem> {
        serde_path_to_error::deserialize(Value::Object(self.arguments)).map_err(|error| {
            let field = error.path().to_string();
            let at = if field == "." { String::new() } else { format!("`{field}`: ") };
            let hint = format!("correct that and call `{}` again; nothing was done", self.tool);
            Problem::usage(format!("{at}{}", error.inner()), hint)
        })
    }
}

/// An answer without a notice.
fn text(text: String) -> ToolAnswer {
    ToolAnswer { text, notice: None }
}
