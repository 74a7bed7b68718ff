//! Working on a dispatch: beginning, remembering, reserving, talking, handing back.

use super::arguments::{CheckInbox, HandBack, RecallBrief, ReservePaths, SendMessage, StartWork};
use super::text;
use crate::Tools;
use crate::agent_text::Page;
use crate::dispatch::{ClaimOptions, HandBackRequest};
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{DispatchView, LeaseView, ToolAnswer};
use flower_core::policy::Read;
use flower_core::recall::{DEFAULT_TOKENS, MIN_TOKENS, inline};
use flower_core::{Binding, Caller, Role};
use std::sync::Arc;
use std::time::Duration;

/// Of the budget of `start_work`, what stands before the brief.
const HEAD_TOKENS: u64 = 300;
/// Of one item in the inbox.
const NAME_BYTES: usize = 120;

/// Claims, recalls and reserves in one call. Asked again, it says the same again.
pub(super) async fn start_work(app: &Arc<Tools>, caller: &Caller, given: StartWork) -> Result<ToolAnswer, Problem> {
    let number = given.dispatch.or(caller.run.map(|run| run.dispatch)).ok_or_else(|| {
        Problem::usage(
            "which dispatch?",
            "call `start_work` with the `dispatch` and the `token` of your packet; the operator makes one with \
             `flower dispatch BRIEF`",
        )
    })?;
    let member = caller.run == Some(Binding { dispatch: number, member: true });
    let dispatch = if member {
        app.dispatcher.show(number).await?
    } else {
        let wish = ClaimOptions { packet: given.token, wait: true, ..ClaimOptions::default() };
        app.dispatcher.claim(caller, number, wish).await?
    };
    // From here on the token is good for this run.
    let caller = Caller { brief: Some(dispatch.brief), worktree: dispatch.worktree.clone(), ..caller.clone() };
    let mut head = Page::new(None);
    head.line(&begun(&dispatch, member));
    if !given.paths.is_empty() {
        let choice = ProjectChoice { name: dispatch.project.clone(), dir: None };
        let worktree = dispatch.worktree.as_deref();
        match app.leases.take(&caller, &choice, worktree, given.paths, None, None).await {
            Ok(lease) => head.line(&reserved(&lease)),
            Err(problem) => head.line(&format!("Not reserved: {} ({})", problem.message, problem.hints.join("; "))),
        }
    }
    let budget = given.budget.unwrap_or(DEFAULT_TOKENS + HEAD_TOKENS);
    let rest = budget.saturating_sub(HEAD_TOKENS).max(MIN_TOKENS);
    let recalled = app.dispatcher.recall(dispatch.brief, Some(rest), Some(number)).await?;
    app.messages.heard_all(&caller).await?;
    head.line("");
    Ok(text(head.into_text() + &recalled.text))
}

fn begun(dispatch: &DispatchView, member: bool) -> String {
    let number = dispatch.id;
    let place = dispatch.worktree.as_ref().map_or_else(String::new, |name| format!(" Work in worktree `{name}`."));
    match (&dispatch.claim, member) {
        (Some(claim), false) => format!(
            "You hold dispatch {number} with fence {}, until {} unless you are heard of; every call counts.{place} \
             Next: do what follows, commit, then `hand_back` with `dispatch` {number} and `fence` {}.",
            claim.fence, claim.expires_at, claim.fence
        ),
        (Some(claim), true) => {
            let holder = inline(&claim.holder, NAME_BYTES);
            format!(
                "You work beside {holder}, who holds dispatch {number} and hands it back.{place} Next: `reserve_paths`."
            )
        }
        (None, _) => format!("Dispatch {number} is `{}`; nobody holds it.{place} Next: `check_inbox`.", dispatch.state),
    }
}

fn reserved(lease: &LeaseView) -> String {
    format!("Reserved until {}: {}", lease.expires_at, lease.patterns.join(" "))
}

pub(super) async fn recall_brief(app: &Arc<Tools>, caller: &Caller, given: RecallBrief) -> Result<ToolAnswer, Problem> {
    let brief = given.brief.or(caller.brief).ok_or_else(|| {
        Problem::usage("which brief?", "call `recall_brief` with `brief`; `list_briefs` and `search` find one")
    })?;
    app.access.reader(caller).await?.require(Read::Brief { number: Some(brief) })?;
    Ok(text(app.dispatcher.recall(brief, given.budget, None).await?.text))
}

pub(super) async fn reserve_paths(
    app: &Arc<Tools>,
    caller: &Caller,
    given: ReservePaths,
) -> Result<ToolAnswer, Problem> {
    let choice = app.choice_of(caller).await?;
    let mut page = Page::new(None);
    if given.release {
        let released = app.leases.release(caller, &choice, None, None).await?;
        page.line(&format!("{} of your leases are given back.", released.len()));
    }
    if !given.patterns.is_empty() {
        let time = given.minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
        let lease = app.leases.take(caller, &choice, None, given.patterns, time, None).await?;
        page.line(&reserved(&lease));
    }
    let Some(worktree) = caller.worktree.as_deref() else {
        return Ok(text(page.next("`start_work`: only then you have a worktree to reserve paths in.")));
    };
    for lease in
        app.leases.list(caller, &choice, Some(worktree)).await?.iter().filter(|l| l.holder != caller.actor.name)
    {
        let row = format!("{} until {}: {}", lease.holder, lease.expires_at, lease.patterns.join(" "));
        if !page.quoted_line(&row) {
            page.line("[more are left out: `flower lease` lists them]");
            break;
        }
    }
    Ok(text(page.next("change only what is yours, and commit it.")))
}

pub(super) async fn check_inbox(app: &Arc<Tools>, caller: &Caller, _: CheckInbox) -> Result<ToolAnswer, Problem> {
    Ok(text(app.messages.take_inbox(caller).await?))
}

pub(super) async fn send_message(app: &Arc<Tools>, caller: &Caller, given: SendMessage) -> Result<ToolAnswer, Problem> {
    let sent = app.messages.send(caller, &given.to, given.text).await?;
    let to = inline(&sent.to, NAME_BYTES);
    Ok(text(format!("Message {} is sent to {to}.\nNext: go on; an answer comes by `check_inbox`.", sent.id)))
}

pub(super) async fn hand_back(app: &Arc<Tools>, caller: &Caller, given: HandBack) -> Result<ToolAnswer, Problem> {
    if caller.role == Role::Ops {
        return Err(Problem::new(ProblemKind::Forbidden, "ops hands nothing back", "write a note: `add_note`"));
    }
    let back =
        HandBackRequest { fence: given.fence, summary: given.summary, not_done: given.not_done, failed: given.failed };
    // On a task of its own: whoever hands back may be gone before its work is on its way.
    let (app, caller) = (app.clone(), caller.clone());
    let handing = tokio::spawn(async move { app.dispatcher.hand_back(&caller, given.dispatch, back).await });
    let back = handing.await.map_err(|error| Problem::bug(error.to_string()))??;
    let mut page = Page::new(None);
    page.line(&format!("Dispatch {} is `{}`.", given.dispatch, back.dispatch.state));
    if let Some(result) = back.dispatch.result.filter(|result| !result.commits.is_empty()) {
        let count = result.commits.len();
        let commits = if count == 1 { "1 commit".to_owned() } else { format!("{count} commits") };
        page.line(&format!("{commits}, the newest is {}.", result.tip.unwrap_or_default()));
    }
    for note in &back.notes {
        page.line(note);
    }
    Ok(text(match back.landing {
        Some(landing) => page.next(&format!(
            "nothing. Landing {landing} merges and checks it; if that goes wrong, a `fix` is dispatched with the evidence."
        )),
        None => page.next("nothing; you are done."),
    }))
}
