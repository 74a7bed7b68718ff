//! `flower project`

mod approve;

use crate::cli::Context;
use crate::cli::output::{Table, ago, terminal_width};
use crate::client::escape;
use crate::error::Problem;
use crate::view::{ProjectView, RemovedProject};
use clap::Subcommand;

/// The repositories that this flower serves
#[derive(clap::Args)]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    /// Give a repository back as it was; briefs, their trace and what is kept of worktrees stay
    Remove {
        name: String,
    },
    Approve(approve::ApproveArgs),
}

pub(crate) async fn run(context: &Context, args: ProjectArgs) -> Result<(), Problem> {
    match args.verb {
        None => list(context).await,
        Some(Verb::Remove { name }) => remove(context, &name).await,
        Some(Verb::Approve(args)) => approve::run(context, args).await,
    }
}

async fn remove(context: &Context, name: &str) -> Result<(), Problem> {
    let client = context.client().await?;
    let removed: RemovedProject = client.delete(&format!("/api/projects/{}", escape(name))).await?;
    context.answer(&removed, |removed| {
        let left = removed.branches_left.iter().map(|branch| format!("  {branch} stays: its work is nowhere else\n"));
        format!("{name} is served no longer, and as it was before\n{}", left.collect::<String>())
    })
}

async fn list(context: &Context) -> Result<(), Problem> {
    let client = context.client().await?;
    let projects: Vec<ProjectView> = client.get("/api/projects").await?;
    context.answer(&projects, |projects| {
        if projects.is_empty() {
            return "no projects yet; go to a git repository and run `flower init`\n".to_owned();
        }
        let now = jiff::Timestamp::now();
        let mut table = Table::new(&["NAME", "ROOT", "SINCE"], 1);
        for p in projects {
            table.row(vec![p.name.clone().into(), p.root.clone().into(), ago(&p.at, now).into()]);
        }
        table.render(context.style, terminal_width())
    })
}
