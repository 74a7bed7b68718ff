//! `flower lease release`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::LeaseView;

/// Give reserved paths back: one lease, or all of your own in a worktree
#[derive(clap::Args)]
pub(super) struct ReleaseArgs {
    /// The lease; all of your own unless said
    #[arg(value_name = "ID")]
    number: Option<u64>,
    /// In which worktree; an agent's own unless said
    #[arg(long, value_name = "NAME", conflicts_with = "number")]
    worktree: Option<String>,
}

pub(super) async fn run(context: &Context, args: &ReleaseArgs) -> Result<(), Problem> {
    let path = match args.number {
        Some(number) => format!("/api/leases/{number}"),
        None => format!("/api/leases?{}{}", context.project_query(), super::worktree(args.worktree.as_deref())),
    };
    let released: Vec<LeaseView> = context.client().await?.delete(&path).await?;
    context.answer(&released, |released| match released.len() {
        0 => "nothing of yours was reserved there\n".to_owned(),
        _ => released.iter().map(|lease| format!("{} is free\n", lease.patterns.join(" "))).collect(),
    })
}
