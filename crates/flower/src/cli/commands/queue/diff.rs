//! `flower queue diff`

use crate::cli::Context;
use crate::cli::commands::diff::print;
use flower_contract::error::Problem;

/// Show the changes of a landing in MAIN, as merged or as they would be merged
#[derive(clap::Args)]
pub(super) struct DiffArgs {
    /// The number of the landing
    #[arg(value_name = "L", value_parser = crate::cli::input::number)]
    number: u64,
    /// Show only the changed files, and the number of changed lines in each
    #[arg(long)]
    stat: bool,
}

pub(super) async fn run(context: &Context, args: &DiffArgs) -> Result<(), Problem> {
    let address = format!("/api/landings/{}/diff?stat={}", args.number, args.stat);
    let diff = context.client().await?.bytes(&address).await?;
    if context.json {
        let document = serde_json::json!({ "landing": args.number, "diff": String::from_utf8_lossy(&diff) });
        return context.answer(&document, |_| String::new());
    }
    if diff.is_empty() {
        eprintln!("landing {} changes nothing in MAIN", args.number);
    }
    print(context, &diff, args.stat)
}
