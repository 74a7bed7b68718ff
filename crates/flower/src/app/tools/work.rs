//! Working on a dispatch: beginning, remembering, reserving, talking, handing back.

use super::arguments::{CheckInbox, HandBack, RecallBrief, ReservePaths, SendMessage, StartWork};
use crate::app::App;
use crate::error::{Problem, ProblemKind};
use crate::view::ToolAnswer;
use flower_core::Caller;
use std::sync::Arc;

pub(super) async fn start_work(_: &Arc<App>, _: &Caller, given: StartWork) -> Result<ToolAnswer, Problem> {
    let _ = (given.dispatch, given.token, given.paths, given.budget);
    not_yet("start_work")
}

pub(super) async fn recall_brief(_: &Arc<App>, _: &Caller, given: RecallBrief) -> Result<ToolAnswer, Problem> {
    let _ = (given.brief, given.budget);
    not_yet("recall_brief")
}

pub(super) async fn reserve_paths(_: &Arc<App>, _: &Caller, given: ReservePaths) -> Result<ToolAnswer, Problem> {
    let _ = (given.patterns, given.minutes, given.release);
    not_yet("reserve_paths")
}

pub(super) async fn check_inbox(_: &Arc<App>, _: &Caller, _: CheckInbox) -> Result<ToolAnswer, Problem> {
    not_yet("check_inbox")
}

pub(super) async fn send_message(_: &Arc<App>, _: &Caller, given: SendMessage) -> Result<ToolAnswer, Problem> {
    let _ = (given.to, given.text);
    not_yet("send_message")
}

pub(super) async fn hand_back(_: &Arc<App>, _: &Caller, given: HandBack) -> Result<ToolAnswer, Problem> {
    let _ = (given.dispatch, given.fence, given.summary, given.not_done, given.failed);
    not_yet("hand_back")
}

fn not_yet(tool: &str) -> Result<ToolAnswer, Problem> {
    Err(Problem::new(
        ProblemKind::Refused,
        format!("`{tool}` does nothing yet: this flower has no dispatches"),
        "use `list_briefs`, `search` and `add_note`",
    ))
}
