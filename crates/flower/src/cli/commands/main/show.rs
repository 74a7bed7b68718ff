//! `flower main` without a verb

use crate::cli::Context;
use crate::cli::landing::short;
use crate::cli::output::{Style, ago, plain};
use flower_contract::error::Problem;
use flower_contract::view::{MainState, MainView, ProtectionLevel};

pub(super) async fn run(context: &Context) -> Result<(), Problem> {
    let client = context.client().await?;
    let main = super::look(context, &client).await?;
    context.answer(&main, |m| page(m, context.style))
}

/// A page about MAIN, also shown by the commands that change MAIN.
pub(in crate::cli::commands) fn page(m: &MainView, style: Style) -> String {
    let now = jiff::Timestamp::now();
    let mut text = format!("{}  {}\n", style.bold(&format!("MAIN of {}", m.project)), state(m.state, style));
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{key:10}"))));
    if let Some(reason) = &m.reason {
        line("why", &plain(reason));
    }
    if let Some(next) = next_step(m) {
        line("next step", &next);
    }
    line("branch", &m.branch);
    line("tip", m.tip.as_deref().map_or("none", short));
    if m.tip.as_ref() != Some(&m.recorded_tip) {
        line("recorded", short(&m.recorded_tip));
    }
    for file in m.alarm.iter().flat_map(|alarm| &alarm.files).take(10) {
        line("file", &plain(file));
    }
    line("protection", &protection(m, style));
    line("hook", m.hook.as_str());
    line("since", &ago(&m.since, now));
    if let Some(push) = &m.push {
        let (remote, at) = (plain(&push.remote), ago(&push.at, now));
        line(
            "push",
            &match &push.failure {
                None => format!("{} is at {remote}, {at}", short(&push.commit)),
                Some(why) => style.bad(&format!("to {remote} failed {at}: {}", plain(why))),
            },
        );
    }
    for note in &m.notes {
        line("note", &plain(note));
    }
    text
}

pub(in crate::cli::commands) fn state(state: MainState, style: Style) -> String {
    let word = state.as_str();
    match state {
        MainState::Stable => style.good(word),
        MainState::Frozen | MainState::Unknown => style.mark(word),
        MainState::Dirty | MainState::Moved | MainState::Unhealthy => style.bad(word),
    }
}

fn next_step(m: &MainView) -> Option<String> {
    if let Some(alarm) = &m.alarm {
        return Some(alarm.next.clone());
    }
    match m.state {
        MainState::Frozen => Some("resume landings: `flower thaw`".to_owned()),
        MainState::Unknown => Some("MAIN is being updated; try again".to_owned()),
        MainState::Stable | MainState::Dirty | MainState::Moved | MainState::Unhealthy => None,
    }
}

fn protection(m: &MainView, style: Style) -> String {
    let word = m.protection.as_str();
    match m.protection {
        ProtectionLevel::Kernel => format!("{}: agents cannot reach MAIN", style.good(word)),
        ProtectionLevel::Watched | ProtectionLevel::None => {
            format!("{}: changes are noticed, not prevented; see `flower doctor`", style.mark(word))
        }
    }
}
