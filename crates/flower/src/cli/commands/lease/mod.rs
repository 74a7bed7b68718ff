//! `flower lease`

mod release;
mod take;

use crate::cli::Context;
use crate::cli::output::{Table, plain, terminal_width, time_left};
use clap::Subcommand;
use flower_contract::error::Problem;
use flower_contract::view::LeaseView;

/// Leases: paths that agents have reserved in worktrees they share
#[derive(clap::Args)]
pub(crate) struct LeaseArgs {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Subcommand)]
enum Verb {
    Take(take::TakeArgs),
    Release(release::ReleaseArgs),
}

pub(crate) async fn run(context: &Context, args: LeaseArgs) -> Result<(), Problem> {
    match args.verb {
        None => list(context).await,
        Some(Verb::Take(args)) => take::run(context, args).await,
        Some(Verb::Release(args)) => release::run(context, &args).await,
    }
}

async fn list(context: &Context) -> Result<(), Problem> {
    let leases: Vec<LeaseView> =
        context.client().await?.get(&format!("/api/leases?{}", context.project_query())).await?;
    context.answer(&leases, |leases| {
        if leases.is_empty() {
            return "no leases; reserve paths: `flower lease take PATTERN… --worktree NAME`\n".to_owned();
        }
        let mut table = Table::new(&["ID", "WORKTREE", "HOLDER", "PATTERNS", "ENDS IN"], 3);
        let now = jiff::Timestamp::now();
        for lease in leases {
            table.row(vec![
                lease.id.to_string().into(),
                lease.worktree.clone().into(),
                plain(&lease.holder).into(),
                plain(&lease.patterns.join(" ")).into(),
                time_left(&lease.expires_at, now).into(),
            ]);
        }
        table.render(context.style, terminal_width())
    })
}

/// The named worktree, or that of the working directory, as a parameter of a query. Empty if it is that of the caller.
fn worktree(context: &Context, named: Option<&str>) -> String {
    let name = context.worktree(named).ok();
    name.map_or_else(String::new, |name| format!("&worktree={}", crate::client::escape(&name)))
}
