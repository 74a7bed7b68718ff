//! Prints an agent, and sends its keys to the daemon.

use super::output::{Style, ago, plain};
use crate::cli::Context;
use crate::client::Client;
use flower_contract::error::Problem;
use flower_contract::request::GiveKeys;
use flower_contract::view::{AgentState, AgentView};
use std::collections::BTreeMap;

/// The state of an agent: `working`, `quiet 2m`, `parked until 15:28`.
pub fn state(agent: &AgentView) -> String {
    let word = agent.state.as_str();
    match agent.state {
        AgentState::Quiet => agent.quiet_seconds.map(|seconds| format!("{word} {}", rough_time(seconds))),
        AgentState::Parked => agent.parked_until.as_deref().and_then(local).map(|at| format!("{word} until {at}")),
        _ => None,
    }
    .unwrap_or_else(|| word.to_owned())
}

pub fn painted_state(agent: &AgentView, style: Style) -> String {
    let words = state(agent);
    match agent.state {
        AgentState::Working => style.good(&words),
        AgentState::Starting | AgentState::Waiting | AgentState::Quiet | AgentState::Parked => style.mark(&words),
        AgentState::Failed | AgentState::Unknown => style.bad(&words),
        AgentState::Idle | AgentState::Stopped => style.dim(&words),
    }
}

/// A duration in its largest unit.
fn rough_time(seconds: u64) -> String {
    match seconds {
        0..=59 => format!("{seconds}s"),
        60..=3_599 => format!("{}m", seconds / 60),
        _ => format!("{}h", seconds / 3_600),
    }
}

/// A moment of today as a time, another one with its date.
fn local(at: &str) -> Option<String> {
    let at = at.parse::<jiff::Timestamp>().ok()?.to_zoned(jiff::tz::TimeZone::system());
    let is_today = at.date() == jiff::Zoned::now().date();
    Some(at.strftime(if is_today { "%H:%M" } else { "%Y-%m-%d %H:%M" }).to_string())
}

/// How full the context of an agent is, in percent.
pub fn context(agent: &AgentView) -> String {
    match agent.context {
        Some(fill) if fill.size > 0 => format!("{} %", fill.used.saturating_mul(100) / fill.size),
        _ => "unknown".to_owned(),
    }
}

pub fn model(agent: &AgentView) -> String {
    agent.model.as_deref().map_or_else(|| "unknown".to_owned(), plain)
}

pub fn cost(cost: Option<f64>, currency: Option<&str>) -> String {
    cost.map_or_else(|| "unknown".to_owned(), |cost| format!("{cost:.2} {}", plain(currency.unwrap_or_default())))
}

/// A page about one agent.
pub fn page(agent: &AgentView, style: Style) -> String {
    let now = jiff::Timestamp::now();
    let mut text = format!("{}  {}\n", style.bold(&plain(&agent.name)), painted_state(agent, style));
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{key:10}"))));
    let quiet = agent.quiet_seconds.map(|seconds| format!(", last sign of life {seconds} s ago")).unwrap_or_default();
    line("because", &format!("{} ({}{quiet})", plain(&agent.evidence), ago(&agent.since, now)));
    let standing = if agent.standing { ", standing" } else { "" };
    line("profile", &format!("{}, {}{standing}", plain(&agent.profile), agent.role));
    line("worktree", if agent.worktree.is_empty() { "none" } else { &agent.worktree });
    if let (Some(brief), Some(dispatch)) = (agent.brief, agent.dispatch) {
        let part = if agent.member == 0 { String::new() } else { format!(", member {} beside the lead", agent.member) };
        line("works on", &format!("#{brief}, dispatch {dispatch}{part}"));
    }
    line("model", &model(agent));
    if agent.tools == Some(false) {
        line("tools", "none of flower's; it was told the command line instead");
    }
    match agent.context {
        Some(fill) => line("context", &format!("{} of {} tokens ({})", fill.used, fill.size, context(agent))),
        None => line("context", "unknown"),
    }
    let tokens = agent.tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string());
    line("spent", &format!("{}, {tokens} tokens", cost(agent.cost, agent.currency.as_deref())));
    if let Some(pid) = agent.pid {
        line("process", &pid.to_string());
    }
    if agent.restarts + agent.refreshes > 0 {
        line("history", &format!("restarted {} times, refreshed {} times", agent.restarts, agent.refreshes));
    }
    line("started", &ago(&agent.started_at, now));
    if let Some(end) = &agent.ended {
        line("ended", &format!("{}: {}", end.how, plain(&end.why)));
        for row in end.output.iter().flat_map(|text| text.lines()) {
            line("", &plain(row));
        }
    }
    if agent.joined {
        let claim = agent.dispatch.map(|dispatch| format!(", and its claim with `flower dispatch show {dispatch}`"));
        let tell = format!("`flower agent tell {} TEXT`{}", plain(&agent.name), claim.unwrap_or_default());
        text.push_str(&style.dim(&format!("  flower did not start it; it reads what you write with {tell}\n")));
        return text;
    }
    let see = if agent.terminal { "attach" } else { "log --follow" };
    text.push_str(&style.dim(&format!("  see what it does: `flower agent {see} {}`\n", plain(&agent.name))));
    text
}

/// Sends the values of environment variables that profiles need to the daemon, which keeps them in memory only.
pub async fn give_keys(context: &Context, client: &Client) -> Result<(), Problem> {
    // Keys are never sent to a daemon at FLOWER_URL, and agents have none.
    if context.remote()?.is_some() || super::context::own_token().is_some() {
        return Ok(());
    }
    give_keys_of_operator(client).await
}

/// The same for a client that acts as the operator, also where `FLOWER_TOKEN` names an agent.
pub async fn give_keys_of_operator(client: &Client) -> Result<(), Problem> {
    let wanted: Vec<String> = client.get("/api/agent-keys").await?;
    let found = wanted.into_iter().filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)));
    let values: BTreeMap<String, String> = found.filter(|(_, value)| !value.is_empty()).collect();
    if values.is_empty() {
        return Ok(());
    }
    client.tell("/api/agent-keys", &GiveKeys { values }).await
}
