//! `flower agent profiles`

use crate::cli::Context;
use crate::cli::agent::give_keys;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::view::{NeedKind, ProfileView, Protocol};

/// List the agents that can run on this machine, and what the others lack
///
/// `[agents.NAME]` in FLOWER_HOME/config.toml changes a profile or adds one.
#[derive(clap::Args)]
pub(super) struct ProfilesArgs {}

pub(super) async fn run(context: &Context, _: &ProfilesArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    give_keys(context, &client).await?;
    let profiles: Vec<ProfileView> = client.get("/api/agent-profiles").await?;
    context.answer(&profiles, |profiles| {
        let style = context.style;
        let mut text = String::new();
        for profile in profiles {
            let mark = if profile.runs { style.good("runs") } else { style.bad("cannot run") };
            let protocol = match profile.protocol {
                Protocol::Acp => "ACP",
                Protocol::Pty => "terminal",
            };
            let version = profile.version.as_ref().map(|version| format!(" {version}")).unwrap_or_default();
            text.push_str(&format!("{}  {mark}\n", style.bold(&plain(&profile.profile))));
            let command = plain(&profile.command.join(" "));
            text.push_str(&format!("  {} {command}{version} ({protocol})\n", style.dim("command  ")));
            for missing in &profile.missing {
                text.push_str(&format!("  {} {}\n", style.dim("missing  "), plain(missing)));
            }
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
                text.push_str(&format!("  {} {}\n", style.dim("receives "), needs.join(", ")));
            }
        }
        text
    })
}
