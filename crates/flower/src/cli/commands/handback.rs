//! `flower handback`

use crate::cli::Context;
use crate::cli::dispatch::page;
use crate::cli::input::text_or_stdin;
use flower_contract::error::Problem;
use flower_contract::request::HandBack;
use flower_contract::view::HandBackView;

/// Hand work back; everything must be committed and merge with MAIN
#[derive(clap::Args)]
pub(crate) struct HandBackArgs {
    /// The number of the dispatch
    #[arg(value_name = "D", value_parser = crate::cli::input::number)]
    number: u64,
    /// The fence of the claim
    #[arg(long, value_name = "F")]
    fence: u64,
    /// What was done, or `-` for standard input
    #[arg(long, value_name = "TEXT")]
    summary: String,
    /// What was not done
    #[arg(long, value_name = "TEXT")]
    not_done: Option<String>,
    /// The work failed: nothing is checked, and nothing lands
    #[arg(long)]
    failed: bool,
}

pub(crate) async fn run(context: &Context, args: HandBackArgs) -> Result<(), Problem> {
    let summary = text_or_stdin(&args.summary)?;
    let body = HandBack { fence: args.fence, summary, not_done: args.not_done, failed: args.failed };
    let path = format!("/api/dispatches/{}/handback", args.number);
    let back: HandBackView = context.client().await?.with_long_timeout().post(&path, &body).await?;
    context.answer(&back, |back| {
        let mut text = page(&back.dispatch, context.style);
        if let Some(landing) = back.landing {
            text.push_str(&context.style.dim(&format!("queued for MAIN: `flower queue show {landing}`\n")));
        }
        for note in &back.notes {
            text.push_str(&format!("{note}\n"));
        }
        text
    })
}
