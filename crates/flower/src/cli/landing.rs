//! Prints a landing, and turns its end into the exit code of a command.

use super::Context;
use super::output::{Style, ago, plain};
use crate::client::{Client, escape};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::{CheckView, LandingView, StatusView};
use flower_core::landing::{Source, State, Verdict};
use std::io::IsTerminal;

/// Paths on a page.
const MAX_PATHS: usize = 10;

/// Said wherever it matters: without checks, flower keeps nothing broken out of MAIN.
pub const NO_CHECKS: &str =
    "no checks are configured, so every landing that merges reaches MAIN untested; `flower init` proposes some";

/// A warning on standard error if the project has no checks.
pub async fn warn_without_checks(context: &Context, client: &Client, project: Option<&str>) {
    if context.json {
        return;
    }
    let query = project.map_or_else(|| context.project_query(), |name| format!("project={}", escape(name)));
    let status: Result<StatusView, Problem> = client.get(&format!("/api/status?{query}")).await;
    if status.is_ok_and(|status| status.main.is_some_and(|main| main.unchecked)) {
        let style = if std::io::stderr().is_terminal() { context.style } else { Style::new(false) };
        eprintln!("{}", style.bad(NO_CHECKS));
    }
}

pub fn state(state: State, style: Style) -> String {
    let word = state.in_words();
    match state {
        State::Landed => style.good(word),
        State::Rejected | State::RolledBack => style.bad(word),
        State::Checking | State::Approval => style.mark(word),
        State::Queued | State::Cancelled => style.dim(word),
    }
}

/// `#1 #4`.
pub fn briefs(numbers: &[u64]) -> String {
    numbers.iter().map(|brief| format!("#{brief}")).collect::<Vec<_>>().join(" ")
}

pub fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// A page about one landing.
pub fn page(l: &LandingView, style: Style) -> String {
    let now = jiff::Timestamp::now();
    let title = style.bold(&format!("landing {}: {}", l.id, plain(&l.title)));
    let mut text = format!("{title}  {}\n", state(l.state, style));
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{key:10}"))));
    if let Some(reason) = l.reason.as_ref().filter(|reason| !reason.is_empty()) {
        line("why", &plain(reason));
    }
    line("project", &l.project);
    match (&l.worktree, l.source) {
        (Some(worktree), _) => line("worktree", worktree),
        (None, Source::Revert) => {
            line("reverts", &l.reverts.map_or_else(String::new, |of| format!("landing {of}")));
            if let Some(why) = &l.why {
                line("because", &plain(why));
            }
            if l.state == State::Landed {
                // To git reverted commits may be merged still; then landing their branch again changes nothing.
                line(
                    "redo",
                    &format!("`flower revert {} --why TEXT` reverts the revert, to fix the work from there", l.id),
                );
            }
        }
        (None, source) => line("from", source.as_str()),
    }
    if !l.briefs.is_empty() {
        line("briefs", &briefs(&l.briefs));
    }
    line("commit", short(&l.commit));
    if let Some(count) = l.upstream {
        let commits = if count == 1 { "commit" } else { "commits" };
        line("forward", &format!("by {count} {commits} of the remote, checked at the last one"));
    }
    if let Some(merged) = &l.merge_commit {
        line("merge", &format!("{} on {}", short(merged), l.onto.as_deref().map_or("nothing", short)));
    }
    for one in &l.checks {
        line("check", &check(one, style));
    }
    if let Some(running) = &l.running {
        line("running", &running.name);
    }
    for name in &l.flaky {
        line("flaky", &format!("{name} failed, then passed, on the same commit"));
    }
    for path in l.paths.iter().take(MAX_PATHS) {
        line("path", &plain(path));
    }
    if l.paths.len() > MAX_PATHS {
        line("", &format!("and {} more", l.paths.len() - MAX_PATHS));
    }
    let ended = l.ended_at.as_ref().map_or_else(String::new, |at| format!(", ended {}", ago(at, now)));
    line("queued", &format!("{} by {}{ended}", ago(&l.queued_at, now), plain(&l.by)));
    text
}

/// `✓ test  1.2s`.
pub fn check(check: &CheckView, style: Style) -> String {
    if check.skipped {
        return format!("{} {}  skipped, none of its paths changed", style.dim("-"), check.name);
    }
    if let Some(before) = &check.reused {
        return format!("{} {}  passed before, {}, reused", style.good("✓"), check.name, plain(before));
    }
    let (mark, how) = match (check.ok, check.code) {
        (true, _) => (style.good("✓"), String::new()),
        (false, 124) => (style.bad("✗"), ", timed out".to_owned()),
        (false, 127) => (style.bad("✗"), ", its command was not found".to_owned()),
        (false, code) => (style.bad("✗"), format!(", exit code {code}")),
    };
    format!("{mark} {}  {:.1}s{how}", check.name, check.seconds)
}

/// The next step for a landing that has not ended.
pub fn follow_hint(l: &LandingView) -> String {
    match l.state {
        State::Approval => format!("read it: `flower queue diff {0}`; approve it: `flower queue approve {0}`\n", l.id),
        State::Queued | State::Checking => format!("follow it: `flower queue show {}`\n", l.id),
        _ => String::new(),
    }
}

/// An error unless the landing has landed.
pub fn verdict(l: &LandingView) -> Result<(), Problem> {
    let id = l.id;
    let reason = l.reason.clone().unwrap_or_default();
    let because = if reason.is_empty() { reason.clone() } else { format!(": {reason}") };
    let again = match (&l.worktree, l.source) {
        (Some(worktree), _) => format!("`flower land {worktree} --wait`"),
        (None, Source::Revert) => l.reverts.map_or_else(String::new, |of| format!("`flower revert {of} --why TEXT`")),
        (None, Source::Upstream) => "`flower main pull`".to_owned(),
        (None, Source::Adopted) => "`flower main adopt`".to_owned(),
        (None, _) => "`flower init`".to_owned(),
    };
    let (kind, message, hint) = match l.state {
        State::Landed => return Ok(()),
        State::Rejected if l.verdict == Some(Verdict::Conflict) && l.source == Source::Upstream => {
            let hint = "make a worktree in which it is settled: `flower main settle`".to_owned();
            (ProblemKind::Conflict, format!("landing {id} was rejected{because}"), hint)
        }
        State::Rejected if l.verdict == Some(Verdict::Conflict) => {
            let merge = l.worktree.as_ref().map_or_else(
                || "resolve the conflict on MAIN's side".to_owned(),
                |worktree| format!("merge MAIN there: `flower worktree sync {worktree}`, resolve the conflict, commit"),
            );
            (ProblemKind::Conflict, format!("landing {id} was rejected{because}"), format!("{merge}, then {again}"))
        }
        State::Rejected => {
            let red = l.checks.iter().find(|check| !check.ok);
            let look = red.map_or_else(
                || format!("`flower queue show {id}` shows why"),
                |check| format!("read its output: `flower queue log {id} {}`", check.name),
            );
            (ProblemKind::Refused, format!("landing {id} was rejected{because}"), format!("{look}; then {again}"))
        }
        State::Cancelled => {
            (ProblemKind::Refused, format!("landing {id} was cancelled{because}"), format!("to land it again: {again}"))
        }
        State::RolledBack => {
            let hint = "`flower main log` shows the history of MAIN".to_owned();
            (ProblemKind::Refused, format!("landing {id} was {reason}"), hint)
        }
        State::Approval => {
            let hint = format!("read it: `flower queue diff {id}`; approve it: `flower queue approve {id}`");
            (ProblemKind::Refused, format!("landing {id} has not landed: {reason}"), hint)
        }
        State::Queued | State::Checking => {
            let hint = format!("`flower queue show {id}` shows its state");
            (ProblemKind::Refused, format!("landing {id} has not landed yet{because}"), hint)
        }
    };
    Err(Problem::new(kind, message, hint))
}

/// Lines of a failed check's output that are printed after it.
const MAX_LOG_LINES: usize = 12;

/// The end of the output of the check that failed. Empty on a terminal, where the whole output was shown.
pub fn failed_output(checks: &[CheckView], style: Style) -> String {
    let Some(failed) = checks.iter().find(|check| !check.ok).filter(|_| !std::io::stderr().is_terminal()) else {
        return String::new();
    };
    let text = plain(&failed.log);
    // Some test runners end with several empty lines.
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let end = lines.iter().skip(lines.len().saturating_sub(MAX_LOG_LINES));
    end.map(|line| style.dim(&format!("          {line}")) + "\n").collect()
}

/// Prints a landing after `--wait`; an error unless it has landed. The error says why, so the page does not.
pub fn conclude(context: &Context, landing: &LandingView) -> Result<(), Problem> {
    let ended = verdict(landing);
    context.answer(landing, |l| {
        let shown = LandingView { reason: l.reason.clone().filter(|_| ended.is_ok()), ..l.clone() };
        page(&shown, context.style) + &failed_output(&l.checks, context.style)
    })?;
    ended
}
