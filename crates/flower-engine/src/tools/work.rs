//! The tools with which agents work on a dispatch: start, recall, reserve paths, messages, hand back.

use super::arguments::{CheckInbox, HandBack, RecallBrief, ReservePaths, SendMessage, StartWork};
use super::text;
use crate::Tools;
use crate::agent_text::AgentText;
use crate::dispatch::{ClaimOptions, HandBackRequest, RecallOptions};
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::{DispatchView, LeaseView, ToolAnswer};
use flower_core::policy::{self, Read, Right};
use flower_core::recall::{DEFAULT_TOKENS, MIN_TOKENS, inline};
use flower_core::{Binding, BriefId, Caller, DispatchId, Fence};
use std::sync::Arc;
use std::time::Duration;

/// The part of the budget of `start_work` for the text before the brief.
const HEAD_TOKENS: u64 = 300;
/// Length of a name in an answer.
const NAME_BYTES: usize = 120;

/// Claims, reserves and recalls in one call. Calling it again is harmless and gives the same answer.
pub(super) async fn start_work(
    tools: &Arc<Tools>,
    caller: &Caller,
    arguments: StartWork,
) -> Result<ToolAnswer, Problem> {
    let number = arguments.dispatch.map(DispatchId).or(caller.run.map(|run| run.dispatch)).ok_or_else(|| {
        Problem::usage(
            "which dispatch?",
            "call `start_work` with the `dispatch` and the `token` of your packet; the operator makes one with \
             `flower dispatch BRIEF`",
        )
    })?;
    let member = caller.run == Some(Binding { dispatch: number, member: true });
    let dispatch = if member {
        tools.dispatcher.show(number).await?
    } else {
        let options = ClaimOptions { packet: arguments.token, wait: true, ..ClaimOptions::default() };
        tools.dispatcher.claim(caller, number, options).await?
    };
    // The claim has bound the token to this brief and worktree.
    let caller = Caller { brief: Some(BriefId(dispatch.brief)), worktree: dispatch.worktree.clone(), ..caller.clone() };
    let mut head = AgentText::new(None);
    head.line(&claim_text(&dispatch, member));
    if !arguments.paths.is_empty() {
        let choice = ProjectChoice { name: dispatch.project.clone(), dir: None };
        let worktree = dispatch.worktree.as_deref();
        match tools.leases.take(&caller, &choice, worktree, arguments.paths, None, None).await {
            Ok(lease) => head.line(&lease_text(&lease)),
            Err(problem) => head.line(&format!("Not reserved: {} ({})", problem.message, problem.hints.join("; "))),
        }
    }
    let budget = arguments.budget.unwrap_or(DEFAULT_TOKENS + HEAD_TOKENS);
    let rest = budget.saturating_sub(HEAD_TOKENS).max(MIN_TOKENS);
    let options = RecallOptions { budget: Some(rest), dispatch: Some(number), ..RecallOptions::default() };
    let recalled = tools.dispatcher.recall(BriefId(dispatch.brief), options).await?;
    tools.messages.mark_all_read(&caller).await?;
    head.line("");
    Ok(text(head.into_text() + &recalled.text))
}

fn claim_text(dispatch: &DispatchView, member: bool) -> String {
    let number = dispatch.id;
    let place = dispatch.worktree.as_ref().map_or_else(String::new, |name| format!(" Work in worktree `{name}`."));
    match (&dispatch.claim, member) {
        (Some(claim), false) => format!(
            "You hold dispatch {number} with fence {} until {}; every call renews it.{place} \
             Next: do what follows, commit, then `hand_back` with `dispatch` {number} and `fence` {}.",
            claim.fence, claim.expires_at, claim.fence
        ),
        (Some(claim), true) => {
            let holder = inline(&claim.holder, NAME_BYTES);
            format!(
                "You work beside {holder}, who holds dispatch {number} and hands it back.{place} Next: `reserve_paths`."
            )
        }
        (None, _) => format!("Dispatch {number} is `{}` and not claimed.{place} Next: `check_inbox`.", dispatch.state),
    }
}

fn lease_text(lease: &LeaseView) -> String {
    format!("Reserved until {}: {}", lease.expires_at, lease.patterns.join(" "))
}

pub(super) async fn recall_brief(
    tools: &Arc<Tools>,
    caller: &Caller,
    arguments: RecallBrief,
) -> Result<ToolAnswer, Problem> {
    let brief = arguments.brief.map(BriefId).or(caller.brief).ok_or_else(|| {
        Problem::usage("which brief?", "call `recall_brief` with `brief`; `list_briefs` and `search` find one")
    })?;
    tools.access.reader(caller).await?.require(Read::Brief { number: Some(brief) })?;
    let options = RecallOptions { budget: arguments.budget, ..RecallOptions::default() };
    Ok(text(tools.dispatcher.recall(brief, options).await?.text))
}

pub(super) async fn reserve_paths(
    tools: &Arc<Tools>,
    caller: &Caller,
    arguments: ReservePaths,
) -> Result<ToolAnswer, Problem> {
    let choice = tools.project_choice(caller).await?;
    let mut answer = AgentText::new(None);
    if arguments.release {
        let released = tools.leases.release(caller, &choice, None, None).await?;
        answer.line(&format!("{} of your leases are given back.", released.len()));
    }
    if !arguments.patterns.is_empty() {
        let time = arguments.minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
        let lease = tools.leases.take(caller, &choice, None, arguments.patterns, time, None).await?;
        answer.line(&lease_text(&lease));
    }
    let Some(worktree) = caller.worktree.as_deref() else {
        return Ok(text(answer.with_next_step("`start_work`: only then you have a worktree to reserve paths in.")));
    };
    for lease in
        tools.leases.list(caller, &choice, Some(worktree)).await?.iter().filter(|l| l.holder != caller.actor.name)
    {
        let row = format!("{} until {}: {}", lease.holder, lease.expires_at, lease.patterns.join(" "));
        if !answer.quoted_line(&row) {
            answer.line("[more are left out: `flower lease` lists them]");
            break;
        }
    }
    Ok(text(answer.with_next_step("change only what is yours, and commit it.")))
}

pub(super) async fn check_inbox(tools: &Arc<Tools>, caller: &Caller, _: CheckInbox) -> Result<ToolAnswer, Problem> {
    Ok(text(tools.messages.take_inbox(caller).await?))
}

pub(super) async fn send_message(
    tools: &Arc<Tools>,
    caller: &Caller,
    arguments: SendMessage,
) -> Result<ToolAnswer, Problem> {
    let sent = tools.messages.send(caller, &arguments.to, arguments.text).await?;
    let to = inline(&sent.to, NAME_BYTES);
    Ok(text(format!("Message {} is sent to {to}.\nNext: go on; an answer comes by `check_inbox`.", sent.id)))
}

pub(super) async fn hand_back(tools: &Arc<Tools>, caller: &Caller, arguments: HandBack) -> Result<ToolAnswer, Problem> {
    policy::require_role(caller, Right::Run(DispatchId(arguments.dispatch)))?;
    let back = HandBackRequest {
        fence: Fence(arguments.fence),
        summary: arguments.summary,
        not_done: arguments.not_done,
        failed: arguments.failed,
        by_exit: false,
    };
    // On a task of its own, because the agent's process may end before the hand-back is finished.
    let (tools, caller) = (tools.clone(), caller.clone());
    let task =
        tokio::spawn(async move { tools.dispatcher.hand_back(&caller, DispatchId(arguments.dispatch), back).await });
    let back = task.await.map_err(|error| Problem::bug(error.to_string()))??;
    let mut answer = AgentText::new(None);
    answer.line(&format!("Dispatch {} is `{}`.", arguments.dispatch, back.dispatch.state));
    if let Some(result) = back.dispatch.result.filter(|result| !result.commits.is_empty()) {
        let count = result.commits.len();
        let commits = if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
        answer.line(&format!("{commits}, the newest is {}.", result.tip.unwrap_or_default()));
    }
    for note in &back.notes {
        answer.line(note);
    }
    Ok(text(match back.landing {
        Some(landing) => answer.with_next_step(&format!(
            "nothing. Landing {landing} merges and checks it; if that goes wrong, a `fix` is dispatched with the evidence."
        )),
        None => answer.with_next_step("nothing; you are done."),
    }))
}
