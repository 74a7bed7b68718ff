//! `flower revert`

use crate::cli::Context;
use crate::cli::landing::{conclude, follow_hint, page};
use crate::cli::wait::WaitArgs;
use flower_contract::error::Problem;
use flower_contract::request::RevertRequest;
use flower_contract::view::LandingView;
use std::io::Write;

/// Revert a landing by a new landing
///
/// The revert passes the checks like every landing, and is processed before other landings in the queue. Once it has landed,
/// the briefs of the reverted landing are parked, with the reason in their trace; with --fix they are dispatched again
/// instead. Landing one of these briefs again needs your approval.
#[derive(clap::Args)]
pub(crate) struct RevertArgs {
    /// The number of the landing
    #[arg(value_name = "L", value_parser = crate::cli::input::number)]
    number: u64,
    /// The reason; asked for on a terminal
    #[arg(long, value_name = "TEXT")]
    why: Option<String>,
    /// Park the briefs (the default): no agent starts
    #[arg(long, conflicts_with = "fix")]
    park: bool,
    /// Dispatch a fix with the reason, to the agent that did the work or to your default agent
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    wait: WaitArgs,
}

pub(crate) async fn run(context: &Context, args: RevertArgs) -> Result<(), Problem> {
    let why = match args.why {
        Some(why) => why,
        None => ask_why(context, args.number)?,
    };
    let client = context.client().await?;
    let body = RevertRequest { why, fix: args.fix };
    let landing: LandingView = client.post(&format!("/api/landings/{}/revert", args.number), &body).await?;
    if args.wait.is_wanted() {
        return conclude(context, &args.wait.until_settled(context, &client, landing.id).await?);
    }
    let follows = match args.fix {
        true => "once it has landed, a fix is dispatched for the reverted briefs",
        false => "once it has landed, the reverted briefs are parked",
    };
    context.answer(&landing, |l| {
        page(l, context.style) + &context.style.dim(&format!("  {follows}\n")) + &context.style.dim(&follow_hint(l))
    })
}

fn ask_why(context: &Context, number: u64) -> Result<String, Problem> {
    let hint = format!("give one: `flower revert {number} --why TEXT`");
    if context.can_ask() {
        eprint!("why is landing {number} reverted? ");
        let _ = std::io::stderr().flush();
        let mut why = String::new();
        if std::io::stdin().read_line(&mut why).is_ok() && !why.trim().is_empty() {
            return Ok(why.trim().to_owned());
        }
    }
    Err(Problem::usage("a revert needs a reason", hint))
}
