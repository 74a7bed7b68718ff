//! Working on a dispatch: beginning, remembering, reserving, talking, handing back.

use super::arguments::{CheckInbox, HandBack, RecallBrief, ReservePaths, SendMessage, StartWork};
use super::page::Page;
use super::text;
use crate::App;
use crate::dispatch::{Back, ClaimWish};
use crate::projects::ProjectChoice;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{DispatchView, EventView, LeaseView, ToolAnswer};
use flower_core::policy::Read;
use flower_core::recall::{DEFAULT_TOKENS, MIN_TOKENS, inline};
use flower_core::{Binding, Caller, Event, Role};
use std::sync::Arc;
use std::time::Duration;

/// Of the budget of `start_work`, what stands before the brief.
const HEAD_TOKENS: u64 = 300;
/// Of one item in the inbox.
const NAME_BYTES: usize = 120;

/// Claims, recalls and reserves in one call. Asked again, it says the same again.
pub(super) async fn start_work(app: &Arc<App>, caller: &Caller, given: StartWork) -> Result<ToolAnswer, Problem> {
    let number = given.dispatch.or(caller.run.map(|run| run.dispatch)).ok_or_else(|| {
        Problem::usage(
            "which dispatch?",
            "call `start_work` with the `dispatch` and the `token` of your packet; the operator makes one with \
             `flower dispatch BRIEF`",
        )
    })?;
    let member = caller.run == Some(Binding { dispatch: number, member: true });
    let dispatch = if member {
        app.dispatch_view(number).await?
    } else {
        let wish = ClaimWish { packet: given.token, wait: true, ..ClaimWish::default() };
        app.claim(caller, number, wish).await?
    };
    // From here on the token is good for this run.
    let caller = Caller { brief: Some(dispatch.brief), worktree: dispatch.worktree.clone(), ..caller.clone() };
    let mut head = Page::new(None);
    head.line(&begun(&dispatch, member));
    if !given.paths.is_empty() {
        let choice = ProjectChoice { name: dispatch.project.clone(), dir: None };
        let worktree = dispatch.worktree.as_deref();
        match app.take_lease(&caller, &choice, worktree, given.paths, None, None).await {
            Ok(lease) => head.line(&reserved(&lease)),
            Err(problem) => head.line(&format!("Not reserved: {} ({})", problem.message, problem.hints.join("; "))),
        }
    }
    let budget = given.budget.unwrap_or(DEFAULT_TOKENS + HEAD_TOKENS);
    let rest = budget.saturating_sub(HEAD_TOKENS).max(MIN_TOKENS);
    let recalled = app.recall(dispatch.brief, Some(rest), Some(number)).await?;
    app.heard_all(&caller).await?;
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

pub(super) async fn recall_brief(app: &Arc<App>, caller: &Caller, given: RecallBrief) -> Result<ToolAnswer, Problem> {
    let brief = given.brief.or(caller.brief).ok_or_else(|| {
        Problem::usage("which brief?", "call `recall_brief` with `brief`; `list_briefs` and `search` find one")
    })?;
    app.reader(caller).await?.require(Read::Brief { number: Some(brief) })?;
    Ok(text(app.recall(brief, given.budget, None).await?.text))
}

pub(super) async fn reserve_paths(app: &Arc<App>, caller: &Caller, given: ReservePaths) -> Result<ToolAnswer, Problem> {
    let choice = app.choice_of(caller).await?;
    let mut page = Page::new(None);
    if given.release {
        let released = app.release_leases(caller, &choice, None, None).await?;
        page.line(&format!("{} of your leases are given back.", released.len()));
    }
    if !given.patterns.is_empty() {
        let time = given.minutes.map(|minutes| Duration::from_secs(minutes.saturating_mul(60)));
        let lease = app.take_lease(caller, &choice, None, given.patterns, time, None).await?;
        page.line(&reserved(&lease));
    }
    let Some(worktree) = caller.worktree.as_deref() else {
        return Ok(text(page.next("`start_work`: only then you have a worktree to reserve paths in.")));
    };
    for lease in app.leases(caller, &choice, Some(worktree)).await?.iter().filter(|l| l.holder != caller.actor.name) {
        let row = format!("{} until {}: {}", lease.holder, lease.expires_at, lease.patterns.join(" "));
        if !page.quoted_line(&row) {
            page.line("[more are left out: `flower lease` lists them]");
            break;
        }
    }
    Ok(text(page.next("change only what is yours, and commit it.")))
}

pub(super) async fn check_inbox(app: &Arc<App>, caller: &Caller, _: CheckInbox) -> Result<ToolAnswer, Problem> {
    let heard = app.hear(caller, true).await?;
    if heard.messages.is_empty() && heard.news.is_empty() {
        return Ok(text("Nothing new.\nNext: go on with your work.".to_owned()));
    }
    let mut page = Page::new(None);
    for message in &heard.messages {
        let by = inline(&message.by, NAME_BYTES);
        let label =
            format!("Message {} from {} {by} to `{}`, {}:", message.id, message.by_type, message.to, message.at);
        page.quote(&label, &message.text, "`search` finds the rest");
    }
    for event in &heard.news {
        tell(&mut page, event);
    }
    if heard.more {
        page.line("[there is more; call `check_inbox` again]");
    }
    Ok(text(page.next("take it into account; `recall_brief` has the whole; `send_message` answers.")))
}

/// Something that happened to the brief, and what was said with it.
fn tell(page: &mut Page, event: &EventView) {
    let by = format!("{} {}, {}", event.actor.sort, inline(&event.actor.name, NAME_BYTES), event.at);
    let Ok(what) = Event::decode(&event.kind, event.schema, event.body.get()) else { return };
    let rest = "`recall_brief` has the rest";
    match what {
        Event::PlanProposed(plan) => page.line(&format!("A plan was proposed, version {}, by {by}.", plan.version)),
        Event::Refinement(refined) => {
            page.line(&format!(
                "The spec moved to version {}, by {by}. Read what changed: `recall_brief`.",
                refined.version
            ));
            if let Some(why) = refined.why {
                page.quote("Why:", &why, rest);
            }
        }
        Event::SpecSnapshot(snapshot) => {
            page.line(&format!("Version {} of the spec was accepted by {by}.", snapshot.version));
        }
        Event::DecisionMade(made) => {
            page.quote(&format!("Answer to question {}, by {by}:", made.question), &made.text, rest);
        }
        Event::CommentAdded(comment) => page.quote(&format!("Comment by {by}:"), &comment.text, rest),
        Event::StatusChanged(moved) => {
            page.line(&format!("The brief is `{}` now, by {by}.", moved.to));
            if let Some(why) = moved.why {
                page.quote("Why:", &why, rest);
            }
        }
        Event::LandingRejected(no) => page.quote(&format!("Landing {} was rejected:", no.number), &no.why, rest),
        Event::LandingHeld(held) => {
            page.quote(&format!("Landing {} waits for the operator:", held.number), &held.why.join("\n"), rest);
        }
        Event::Landed(landed) => page.line(&format!("Landing {} is in MAIN.", landed.number)),
        Event::RolledBack(back) => page.line(&format!("Landing {} was taken back out of MAIN.", back.number)),
        Event::DispatchExpired(over) => page.line(&format!("The claim of dispatch {} ran out.", over.number)),
        Event::DispatchCancelled(over) => page.line(&format!("Dispatch {} was cancelled: stop here.", over.number)),
        Event::LeaseBreached(breach) => {
            let holder = inline(&breach.holder, NAME_BYTES);
            page.quote(
                &format!("Commit {} changes what {holder} had reserved:", breach.commit),
                &breach.paths.join("\n"),
                rest,
            );
        }
        _ => page.line(&format!("{} by {by}.", event.kind)),
    }
}

pub(super) async fn send_message(app: &Arc<App>, caller: &Caller, given: SendMessage) -> Result<ToolAnswer, Problem> {
    let sent = app.send_message(caller, &given.to, given.text).await?;
    let to = inline(&sent.to, NAME_BYTES);
    Ok(text(format!("Message {} is sent to {to}.\nNext: go on; an answer comes by `check_inbox`.", sent.id)))
}

pub(super) async fn hand_back(app: &Arc<App>, caller: &Caller, given: HandBack) -> Result<ToolAnswer, Problem> {
    if caller.role == Role::Ops {
        return Err(Problem::new(ProblemKind::Forbidden, "ops hands nothing back", "write a note: `add_note`"));
    }
    let back = Back { fence: given.fence, summary: given.summary, not_done: given.not_done, failed: given.failed };
    // On a task of its own: whoever hands back may be gone before its work is on its way.
    let (app, caller) = (app.clone(), caller.clone());
    let handing = tokio::spawn(async move { app.hand_back(&caller, given.dispatch, back).await });
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
