//! Prints a dispatch.

use super::output::{Style, ago, plain, time_left};
use flower_contract::view::DispatchView;
use flower_core::dispatch::DispatchState;

pub fn state(state: DispatchState, style: Style) -> String {
    let word = state.as_str();
    match state {
        DispatchState::Landed | DispatchState::HandedBack => style.good(word),
        DispatchState::Failed => style.bad(word),
        DispatchState::Claimed | DispatchState::Executing => style.mark(word),
        DispatchState::Requested | DispatchState::Cancelled => style.dim(word),
    }
}

/// A page about one dispatch.
pub fn page(d: &DispatchView, style: Style) -> String {
    let now = jiff::Timestamp::now();
    let title = style.bold(&format!("dispatch {}: {} of #{} {}", d.id, d.kind, d.brief, plain(&d.title)));
    let mut text = format!("{title}  {}\n", state(d.state, style));
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{key:10}"))));
    match &d.claim {
        Some(claim) => {
            line(
                "held by",
                &format!("{}, fence {}, claimed {}", plain(&claim.holder), claim.fence, ago(&claim.since, now)),
            );
            line("ends in", &format!("{} without a heartbeat", time_left(&claim.expires_at, now)));
        }
        None if d.state != DispatchState::Requested && d.held_by.is_some() => {
            let how = if d.state == DispatchState::Cancelled { "was held by" } else { "done by" };
            line(how, &plain(d.held_by.as_deref().unwrap_or_default()));
        }
        None => line("for", &plain(d.agent.as_deref().unwrap_or("any agent"))),
    }
    if let Some(why) = &d.cancelled {
        line("because", &plain(why));
    }
    if let Some(project) = &d.project {
        line("project", project);
    }
    if let Some(worktree) = &d.worktree {
        let agents = if d.agents > 1 { format!(", {} agents", d.agents) } else { String::new() };
        line("worktree", &format!("{worktree}{agents}"));
    }
    line("spec", &format!("version {}", d.spec_version));
    for reason in &d.waits {
        line("waits", &plain(&reason.message));
    }
    for caution in &d.cautions {
        line("caution", &plain(caution));
    }
    if let Some(of) = d.of {
        line("repairs", &format!("landing {of}"));
    }
    for row in d.evidence.iter().flat_map(|text| text.lines()).take(12) {
        line("", &plain(row));
    }
    if let Some(result) = &d.result {
        line("result", &plain(result.summary.trim()).replace('\n', "\n             "));
        if let Some(not_done) = &result.not_done {
            line("not done", &plain(not_done.trim()).replace('\n', "\n             "));
        }
        if result.commits.is_empty() {
            line("commits", "none");
        } else {
            let shown: Vec<&str> = result.commits.iter().map(|c| super::landing::short(c)).take(8).collect();
            line("commits", &shown.join(" "));
        }
    }
    line("requested", &format!("{} by {}", ago(&d.requested_at, now), plain(&d.by)));
    text
}
