//! `flower brief needs`

use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::request::Needs;
use flower_contract::view::BriefView;

/// Add a dependency between briefs, or drop it
#[derive(clap::Args)]
pub(super) struct NeedsArgs {
    /// The brief that waits
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// The brief that must be landed or done first
    #[arg(value_parser = crate::cli::input::number)]
    needs: u64,
    /// Drop the dependency
    #[arg(long)]
    drop: bool,
}

pub(super) async fn run(context: &Context, args: &NeedsArgs) -> Result<(), Problem> {
    let body = Needs { needs: args.needs, drop: args.drop };
    let brief: BriefView = context.client().await?.post(&format!("/api/briefs/{}/needs", args.number), &body).await?;
    context.answer(&brief, |brief| {
        let needs: Vec<String> = brief.depends_on.iter().map(|n| format!("#{n}")).collect();
        let needs = if needs.is_empty() { "nothing".to_owned() } else { needs.join(", ") };
        format!("{}depends on {needs}\n", super::line(context, brief))
    })
}
