//! `flower project`

mod approve;
mod relocate;
mod rename;

use crate::cli::Context;
use crate::cli::output::{Table, ago, plain, terminal_width};
use crate::client::escape;
use clap::Subcommand;
use flower_contract::error::Problem;
use flower_contract::view::{ProjectView, RemovedProject};

/// Projects: the repositories that this flower serves
#[derive(clap::Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Remove a repository from flower; no work is lost
    ///
    /// Deletes flower's hook, configuration and refs from the repository. Briefs and their trace remain; branches whose
    /// commits are not in MAIN remain in the repository, and removed worktrees in FLOWER_HOME/archive for 30 days. On a
    /// terminal, what remains is shown and you are asked.
    Remove {
        /// The name of the project
        name: String,
    },
    Approve(approve::ApproveArgs),
    #[command(name = "move")]
    Relocate(relocate::MoveArgs),
    Rename(rename::RenameArgs),
}

pub(crate) async fn run(context: &Context, args: ProjectArgs) -> Result<(), Problem> {
    match args.verb {
        None => list(context).await,
        Some(Verb::Remove { name }) => remove(context, &name).await,
        Some(Verb::Approve(args)) => approve::run(context, args).await,
        Some(Verb::Relocate(args)) => relocate::run(context, args).await,
        Some(Verb::Rename(args)) => rename::run(context, args).await,
    }
}

async fn remove(context: &Context, name: &str) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/projects/{}", escape(name));
    if context.can_ask() {
        let remains: RemovedProject = client.get(&format!("{address}/removal")).await?;
        eprint!("{}", remaining(&remains));
        let hint = format!("to remove it: `flower project remove {name} --yes`");
        context.require_yes(&format!("remove project `{name}` from flower?"), "nothing was removed", hint)?;
    }
    let removed: RemovedProject = client.delete(&address).await?;
    context.answer(&removed, |removed| {
        let repository = match removed.repository_found {
            true => "flower's hook and refs are deleted from the repository",
            false => "its repository is not at its path any more, so nothing was changed in it",
        };
        format!("{name} is removed; {repository}\n{}", remaining(removed))
    })
}

/// What remains and where, one per line.
fn remaining(remains: &RemovedProject) -> String {
    let branches = remains
        .branches_left
        .iter()
        .map(|branch| format!("  {branch} remains in the repository: its commits are not in MAIN\n"));
    let archives = match remains.archives_left.as_slice() {
        [] => String::new(),
        names => format!("  removed worktrees ({}) remain in {} for 30 days\n", names.join(", "), remains.archive),
    };
    branches.collect::<String>() + &archives
}

async fn list(context: &Context) -> Result<(), Problem> {
    let client = context.client().await?;
    let projects: Vec<ProjectView> = client.get("/api/projects").await?;
    context.answer(&projects, |projects| {
        if projects.is_empty() {
            return "no projects yet; run `flower init` in a git repository\n".to_owned();
        }
        let now = jiff::Timestamp::now();
        let mut table = Table::new(&["NAME", "ROOT", "SINCE"], 1);
        for p in projects {
            table.row(vec![p.name.clone().into(), p.root.clone().into(), ago(&p.at, now).into()]);
        }
        let missing = projects.iter().filter_map(|p| {
            let why = plain(p.missing.as_ref()?);
            Some(format!("{0}: {why}; if it was moved: `flower project move {0} PATH`\n", p.name))
        });
        let notes = projects.iter().filter_map(|p| Some(format!("{}: {}\n", p.name, plain(p.lending.as_ref()?))));
        table.render(context.style, terminal_width()) + &missing.chain(notes).collect::<String>()
    })
}
