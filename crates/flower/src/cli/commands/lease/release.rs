//! `flower lease release`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::LeaseView;

/// Release one lease, or all of your leases in a worktree
#[derive(clap::Args)]
pub(super) struct ReleaseArgs {
    /// The lease; by default all of your leases
    #[arg(value_name = "ID", value_parser = crate::cli::input::number)]
    number: Option<u64>,
    /// The worktree; by default that of the agent
    #[arg(long, value_name = "NAME", conflicts_with = "number")]
    worktree: Option<String>,
}

pub(super) async fn run(context: &Context, args: &ReleaseArgs) -> Result<(), Problem> {
    let path = match args.number {
        Some(number) => format!("/api/leases/{number}"),
        None => {
            format!("/api/leases?{}{}", context.project_query(), super::worktree(context, args.worktree.as_deref()))
        }
    };
    let released: Vec<LeaseView> = context.client().await?.delete(&path).await?;
    context.answer(&released, |released| match released.len() {
        0 => "you have no leases there\n".to_owned(),
        _ => released.iter().map(|lease| format!("released {}\n", lease.patterns.join(" "))).collect(),
    })
}
