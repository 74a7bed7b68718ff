//! `flower brief diff`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::view::DiffView;

/// Compare two versions of the spec
#[derive(clap::Args)]
pub(super) struct DiffArgs {
    /// The number of the brief
    #[arg(value_parser = crate::cli::input::number)]
    number: u64,
    /// The older version; by default the accepted one, or the one before the newest
    a: Option<u64>,
    /// The newer version; by default the newest
    b: Option<u64>,
}

pub(super) async fn run(context: &Context, args: &DiffArgs) -> Result<(), Problem> {
    let from = args.a.map_or_else(String::new, |a| format!("from={a}&"));
    let to = args.b.map_or_else(String::new, |b| format!("to={b}"));
    let path = format!("/api/briefs/{}/diff?{from}{to}", args.number);
    let diff: DiffView = context.client().await?.get(&path).await?;
    context.answer(&diff, |diff| {
        if diff.diff.is_empty() {
            return format!("versions {} and {} are the same\n", diff.from, diff.to);
        }
        plain(&diff.diff).lines().map(|line| context.style.diff_line(line) + "\n").collect()
    })
}
