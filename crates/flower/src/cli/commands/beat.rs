//! `flower beat`

use crate::cli::Context;
use crate::cli::output::time_left;
use flower_contract::error::Problem;
use flower_contract::request::Beat;
use flower_contract::view::BeatView;

/// Send a heartbeat, which renews a claim
#[derive(clap::Args)]
pub(crate) struct BeatArgs {
    /// The number of the dispatch
    #[arg(value_name = "D", value_parser = crate::cli::input::number)]
    number: u64,
    /// The fence of the claim
    #[arg(long, value_name = "F")]
    fence: u64,
}

pub(crate) async fn run(context: &Context, args: &BeatArgs) -> Result<(), Problem> {
    let path = format!("/api/dispatches/{}/beat", args.number);
    let beat: BeatView = context.client().await?.post(&path, &Beat { fence: args.fence }).await?;
    context.answer(&beat, |beat| {
        let d = &beat.dispatch;
        let left = d.claim.as_ref().map(|claim| time_left(&claim.expires_at, jiff::Timestamp::now()));
        let left = left.map_or_else(String::new, |left| format!(" for {left}"));
        let waiting = match beat.unread {
            0 => String::new(),
            unread => format!("{unread} new in your inbox: `flower inbox`\n"),
        };
        format!("the claim of dispatch {} is renewed{left}\n{waiting}", d.id)
    })
}
