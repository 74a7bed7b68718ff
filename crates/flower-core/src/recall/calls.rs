//! How an agent calls flower: by the tools of MCP, or by the command line.

use super::Run;
use crate::ids::{BriefId, DispatchId};

/// The calls that a recall names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Calls {
    /// The tools of flower's MCP server.
    #[default]
    Tools,
    /// `flower` in a shell, for agents without MCP.
    Shell,
}

impl Calls {
    /// The tools, or the command line.
    fn either(self, tool: impl FnOnce() -> String, command: impl FnOnce() -> String) -> String {
        match self {
            Calls::Tools => tool(),
            Calls::Shell => format!("`{}`", command()),
        }
    }

    pub(super) fn inbox(self) -> &'static str {
        match self {
            Calls::Tools => "`check_inbox`",
            Calls::Shell => "`flower inbox`",
        }
    }

    pub(super) fn find_ready(self) -> &'static str {
        match self {
            Calls::Tools => "`list_briefs`",
            Calls::Shell => "`flower brief --ready`",
        }
    }

    pub(super) fn create_brief(self) -> &'static str {
        match self {
            Calls::Tools => "`create_brief` with `title` and `spec`",
            Calls::Shell => "`flower brief new TITLE --spec FILE`",
        }
    }

    pub(super) fn start(self, dispatch: DispatchId) -> String {
        match self {
            Calls::Tools => {
                format!("`start_work` with `dispatch` {dispatch} claims it and answers with the fence and the worktree")
            }
            Calls::Shell => format!("`flower claim {dispatch}` claims it and prints the fence and the worktree"),
        }
    }

    pub(super) fn propose_plan(self, brief: BriefId) -> String {
        self.either(
            || format!("`propose_plan` with `brief` {brief} and `markdown`"),
            || format!("flower brief plan {brief} --spec FILE"),
        )
    }

    pub(super) fn refine(self, brief: BriefId, base: u64) -> String {
        self.either(
            || format!("`refine_spec` with `brief` {brief}, `base` {base}, `markdown` and `why`"),
            || format!("flower brief refine {brief} --base {base} --spec FILE --why TEXT"),
        )
    }

    pub(super) fn ask(self, brief: BriefId) -> String {
        self.either(
            || format!("`add_note` with `brief` {brief}, `kind` `question` and `text`"),
            || format!("flower brief ask {brief} TEXT"),
        )
    }

    pub(super) fn comment(self, brief: BriefId) -> String {
        self.either(
            || format!("`add_note` with `brief` {brief}, `kind` `comment` and `text`"),
            || format!("flower brief note {brief} TEXT --comment"),
        )
    }

    pub(super) fn note(self, brief: BriefId) -> String {
        self.either(
            || format!("`add_note` with `brief` {brief}, `kind` `note` and `text`"),
            || format!("flower brief note {brief} TEXT"),
        )
    }

    pub(super) fn scratchpad(self, brief: BriefId) -> String {
        self.either(
            || format!("`write_scratchpad` with `brief` {brief} and `text`"),
            || format!("flower scratchpad new TITLE --brief {brief} --text FILE"),
        )
    }

    pub(super) fn reserve(self) -> &'static str {
        match self {
            Calls::Tools => "`reserve_paths` with `patterns`, such as `[\"src/\", \"docs/*.md\"]`",
            Calls::Shell => "`flower lease take PATTERN…`, such as `flower lease take src/ 'docs/*.md'`",
        }
    }

    pub(super) fn check_work(self) -> &'static str {
        match self {
            Calls::Tools => "`check_work`",
            Calls::Shell => "`flower check`",
        }
    }

    pub(super) fn hand_back(self, run: &Run) -> String {
        let Run { dispatch, fence, .. } = run;
        self.either(
            || format!("`hand_back` with `dispatch` {dispatch}, `fence` {fence} and `summary`"),
            || format!("flower handback {dispatch} --fence {fence} --summary TEXT"),
        )
    }

    /// How to get a longer recall.
    pub(super) fn recall_more(self, brief: BriefId) -> String {
        self.either(
            || "`recall_brief` with a larger `budget`".to_owned(),
            || format!("flower brief show {brief} --as-agent --budget TOKENS"),
        )
    }
}
