//! `flower project approve`

use crate::cli::Context;
use crate::cli::output::plain;
use crate::client::{Client, escape};
use flower_contract::error::Problem;
use flower_contract::request::Approve;
use flower_contract::view::{CommandsView, StatusView};
use std::io::IsTerminal;

/// Read the commands that flower.toml brings along, and let them run
///
/// They run in every new worktree: inside its jail, or with all your rights where it is linked. Once one of them changes,
/// they wait for your approval again.
#[derive(clap::Args)]
pub(crate) struct ApproveArgs {
    /// Otherwise the project around the working directory
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: ApproveArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let name = match args.name.or_else(|| context.project.clone()) {
        Some(name) => name,
        None => project_here(context, &client).await?,
    };
    let address = format!("/api/projects/{}/commands", escape(&name));
    let found: CommandsView = client.get(&address).await?;
    if found.approved || found.commands.is_empty() {
        return context.answer(&found, |found| {
            let said = if found.commands.is_empty() { "there are none" } else { "they are approved already" };
            format!("{}{said}\n", listed(found))
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

async fn project_here(context: &Context, client: &Client) -> Result<String, Problem> {
    let status: StatusView = client.get(&format!("/api/status?{}", context.project_query())).await?;
    status.project.ok_or_else(|| {
        Problem::usage("it is not clear which project is meant", "name it; `flower project` lists what there is")
    })
}

/// One per line, as they are in the file: what is approved is what is seen.
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
        return Err(Problem::usage("nobody is there to ask whether they may run", hint));
    }
    context.require_yes("let them run in every new worktree?", "not approved", hint)
}
