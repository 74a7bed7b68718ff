//! The tool with which an agent tries its work before it hands back: the merge with MAIN, who else changes the same paths, and the
//! checks of the landing.

use super::arguments::CheckWork;
use super::text;
use crate::Tools;
use crate::agent_text::AgentText;
use crate::merge_queue::{CheckOptions, Subject};
use crate::projects::ProjectChoice;
use flower_contract::error::Problem;
use flower_contract::view::{CheckRunState, CheckRunView, CheckView, ToolAnswer};
use flower_core::Caller;
use flower_core::recall::inline;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a call waits for the checks. Clients give up after a minute; the next call joins the run.
const WAIT_TIMEOUT: Duration = Duration::from_secs(40);
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Entries about other work in an answer.
const MAX_OTHERS: usize = 10;
/// Paths in one line.
const MAX_PATHS: usize = 10;
const PATH_BYTES: usize = 200;

pub(super) async fn check_work(
    tools: &Arc<Tools>,
    caller: &Caller,
    arguments: CheckWork,
) -> Result<ToolAnswer, Problem> {
    let Some(worktree) = caller.worktree.clone() else {
        return Err(Problem::usage("you have no worktree yet", "call `start_work` first"));
    };
    let choice = tools.project_choice(caller).await?;
    let options = CheckOptions { only: arguments.check, approve: None };
    let began = tools.merge_queue.check_worktree(caller, &choice, &worktree, options).await?;
    let run = wait(tools, &choice, began).await?;
    Ok(text(describe(&run, AgentText::new(arguments.budget))))
}

/// Waits until the run has ended, or the call must answer.
async fn wait(tools: &Tools, choice: &ProjectChoice, mut run: CheckRunView) -> Result<CheckRunView, Problem> {
    let start = Instant::now();
    let subject = Subject::Worktree(run.worktree.clone().unwrap_or_default());
    while run.ended_at.is_none() && start.elapsed() < WAIT_TIMEOUT {
        tokio::time::sleep(POLL_INTERVAL).await;
        run = tools.merge_queue.show_check(choice, &subject).await?;
    }
    Ok(run)
}

fn describe(run: &CheckRunView, mut answer: AgentText) -> String {
    let onto = run.merge.onto.get(..12).unwrap_or(&run.merge.onto);
    match run.merge.ok {
        true => answer.line(&format!("Merges with MAIN at {onto}, {} paths change.", run.merge.changes)),
        false => {
            answer.line(&format!("Does not merge with MAIN at {onto}. These paths conflict:"));
            quote_paths(&mut answer, "", &run.merge.paths);
        }
    }
    for note in &run.notes {
        answer.line(&format!("Note: {note}."));
    }
    for other in run.others.iter().take(MAX_OTHERS) {
        let who = match &other.reserved_by {
            Some(holder) => {
                format!("{} in {} has reserved:", inline(holder, PATH_BYTES), inline(&other.worktree, PATH_BYTES))
            }
            None => format!("{} changes the same paths:", inline(&other.worktree, PATH_BYTES)),
        };
        quote_paths(&mut answer, &who, &other.paths);
    }
    for check in &run.checks {
        answer.line(&result(check));
    }
    for held in &run.held {
        answer.quote("Its landing would wait for the operator:", &held.text, "the operator sees all of it");
    }
    let failed = run.checks.iter().find(|check| !check.ok);
    if let Some(failed) = failed {
        let rest = format!("all of it: `flower check --check {}` in a shell", failed.name);
        answer.quote(&format!("The end of the output of `{}`:", failed.name), &failed.log, &rest);
    }
    let reason = run.reason.clone().unwrap_or_default();
    match run.state {
        CheckRunState::Passed if run.checks.is_empty() => {
            answer.line(&format!("Nothing was checked: {reason}."));
            answer.with_next_step("`hand_back` when you are done.")
        }
        CheckRunState::Passed => {
            answer.with_next_step("`hand_back` when you are done; its landing reuses these results.")
        }
        CheckRunState::Waiting | CheckRunState::Running => {
            let running = run.running.as_ref().map_or(reason, |running| format!("`{}` is running", running.name));
            answer.line(&format!("The checks have not ended: {running}."));
            answer.with_next_step("call `check_work` again; it waits for the same run.")
        }
        CheckRunState::Cancelled => {
            answer.line(&format!("The checks were cancelled: {reason}."));
            answer.with_next_step("call `check_work` again when you have committed.")
        }
        CheckRunState::Failed if !run.merge.ok => answer.with_next_step(
            "`git merge origin/main` in your worktree, settle the conflicts, commit, `check_work` again.",
        ),
        CheckRunState::Failed => {
            if failed.is_none() {
                answer.line(&format!("Not checked: {reason}."));
            }
            answer.with_next_step("correct that, commit, and `check_work` again.")
        }
    }
}

fn quote_paths(answer: &mut AgentText, label: &str, paths: &[String]) {
    if !label.is_empty() {
        answer.line(label);
    }
    for path in paths.iter().take(MAX_PATHS) {
        if !answer.quoted_line(path) {
            return;
        }
    }
    if paths.len() > MAX_PATHS {
        answer.line(&format!("[and {} more]", paths.len() - MAX_PATHS));
    }
}

fn result(check: &CheckView) -> String {
    let CheckView { name, seconds, code, .. } = check;
    match (check.ok, check.skipped, &check.reused) {
        (_, true, _) => format!("- {name}: skipped, none of its paths changed"),
        (true, _, Some(before)) => format!("- {name}: passed before, {before}, reused"),
        (true, ..) => format!("- {name}: passed, {seconds:.1} s"),
        (false, ..) if *code == 124 => format!("- {name}: failed, took too long"),
        (false, ..) if *code == 127 => format!("- {name}: failed, its command was not found"),
        (false, ..) => format!("- {name}: failed with exit code {code}, {seconds:.1} s"),
    }
}
