//! `flower project approve`

use crate::cli::Context;
use crate::cli::output::plain;
use crate::client::{Client, escape};
use flower_contract::error::Problem;
use flower_contract::request::Approve;
use flower_contract::view::{CommandsView, StatusView};
use std::io::IsTerminal;

/// Show the commands of flower.toml, and approve them
///
/// Approved commands run in every new worktree: inside its jail, or with all your rights if it is linked. If a command
/// changes, approval is needed again.
#[derive(clap::Args)]
pub(crate) struct ApproveArgs {
    /// The project; by default the one of the working directory
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: ApproveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let name = match args.name.or_else(|| context.project.clone()) {
        Some(name) => name,
        None => current_project(context, &client).await?,
    };
    let address = format!("/api/projects/{}/commands", escape(&name));
    let found: CommandsView = client.get(&address).await?;
    if found.approved || found.commands.is_empty() {
        return context.answer(&found, |found| {
            let state = if found.commands.is_empty() { "there are none" } else { "they are approved already" };
            format!("{}{state}\n", listed(found))
        });
    }
    if !context.yes {
        require_yes(context, &found)?;
    }
    let approved: CommandsView = client.post(&address, &Approve { sha256: found.sha256 }).await?;
    context.answer(&approved, |approved| {
        let commands = if context.yes { listed(approved) } else { String::new() };
        format!("{commands}approved; they run in every new worktree\n")
    })
}

async fn current_project(context: &Context, client: &Client) -> Result<String, Problem> {
    let status: StatusView = client.get(&format!("/api/status?{}", context.project_query())).await?;
    status.project.ok_or_else(|| {
        Problem::usage("the working directory is in no project", "name one; `flower project` lists them")
    })
}

/// The commands as they are in the file, one per line, so that the operator sees exactly what is approved.
fn listed(found: &CommandsView) -> String {
    let lines = found.commands.iter().map(|command| format!("  {}\n", plain(command).replace('\n', "\n    ")));
    format!("commands of `{}`:\n{}", found.project, lines.collect::<String>())
}

fn require_yes(context: &Context, found: &CommandsView) -> Result<(), Problem> {
    let hint = format!("approve them: `flower project approve {} --yes`", found.project);
    if !context.json {
        eprint!("{}", listed(found));
    }
    if context.json || !std::io::stdin().is_terminal() {
        return Err(Problem::usage("the commands need approval, and there is no terminal to ask on", hint));
    }
    context.require_yes("run these commands in every new worktree?", "not approved", hint)
}
