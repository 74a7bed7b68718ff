//! `flower agent profiles`

use crate::cli::Context;
use crate::cli::agent::give_keys;
use crate::cli::output::{Style, plain};
use flower_contract::error::Problem;
use flower_contract::view::{NeedKind, ProfileView, Protocol, TrialState};

/// List the agents that can run on this machine, and what the others lack
///
/// `[agents.NAME]` in FLOWER_HOME/config.toml changes a profile or adds one. An agent that is installed is `not tried` until a
/// session could be opened with this version of its program: by `--try`, or at its first dispatch.
#[derive(clap::Args)]
pub(super) struct ProfilesArgs {
    /// One profile; by default all
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Start each in a jail without any network and open a session; no model is asked
    #[arg(long = "try")]
    tries: bool,
}

pub(super) async fn run(context: &Context, args: &ProfilesArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    give_keys(context, &client).await?;
    let mut profiles: Vec<ProfileView> = client.get("/api/agent-profiles").await?;
    if let Some(name) = &args.name {
        let known: Vec<String> = profiles.iter().map(|profile| plain(&profile.profile)).collect();
        profiles.retain(|profile| profile.profile == *name);
        if profiles.is_empty() {
            let message = format!("there is no agent profile `{}`", plain(name));
            return Err(Problem::usage(message, format!("known are {}", known.join(", "))));
        }
    }
    if args.tries {
        for profile in profiles.iter_mut().filter(|profile| profile.runs && profile.protocol == Protocol::Acp) {
            eprintln!("trying {} ...", plain(&profile.profile));
            let path = format!("/api/agent-profiles/{}/try", crate::client::escape(&profile.profile));
            *profile = client.post(&path, &serde_json::json!({})).await?;
        }
    }
    context.answer(&profiles, |profiles| profiles.iter().map(|profile| page(profile, context.style)).collect())
}

fn page(profile: &ProfileView, style: Style) -> String {
    let mark = match (profile.runs, profile.trial.state) {
        (false, _) => style.bad("cannot run"),
        (true, TrialState::Worked | TrialState::NotNeeded) => style.good("runs"),
        (true, TrialState::NotTried) => style.mark("installed, not tried"),
        (true, TrialState::Failed) => style.bad("installed, no session"),
    };
    let protocol = match profile.protocol {
        Protocol::Acp => "ACP",
        Protocol::Pty => "terminal",
    };
    let version = profile.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
    let mut text = format!("{}  {mark}\n", style.bold(&plain(&profile.profile)));
    let mut line = |key: &str, value: &str| text.push_str(&format!("  {} {value}\n", style.dim(&format!("{key:9}"))));
    line("command", &format!("{}{version} ({protocol})", plain(&profile.command.join(" "))));
    for missing in &profile.missing {
        line("missing", &plain(missing));
    }
    if let Some(why) = &profile.trial.why {
        line("because", &plain(why).replace('\n', "\n            "));
    }
    let model = match (&profile.model, &profile.trial.model) {
        (Some(model), _) => plain(model),
        (None, _) if profile.model_required => "must be named: `model` in config.toml".to_owned(),
        (None, Some(model)) => format!("the agent's own choice, last {}", plain(model)),
        (None, None) => "the agent's own choice".to_owned(),
    };
    line("model", &model);
    let needs: Vec<String> = profile
        .needs
        .iter()
        .map(|need| {
            let kind = if need.kind == NeedKind::Env { "variable" } else { "file" };
            let there = if need.there { "found" } else { "missing" };
            format!("{kind} {} ({there})", plain(&need.name))
        })
        .collect();
    if !needs.is_empty() {
        line("receives", &needs.join(", "));
    }
    line("sees", &plain(&profile.configuration));
    let reports = match profile.reports.as_deref() {
        None => "not known".to_owned(),
        Some([]) => "nothing of what it spends, so no spending limit holds".to_owned(),
        Some(reports) => reports.iter().map(|figure| figure.as_str()).collect::<Vec<_>>().join(", "),
    };
    line("reports", &reports);
    if profile.runs && profile.trial.state == TrialState::NotTried {
        line("try it", &format!("`flower agent profiles {} --try`", plain(&profile.profile)));
    }
    text
}
