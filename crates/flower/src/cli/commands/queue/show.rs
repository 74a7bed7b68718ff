//! `flower queue show`

use crate::cli::Context;
use crate::cli::landing::{follow_hint, page};
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::view::LandingView;
use flower_core::landing::State;

/// Show a landing: its state, the reason, its checks, and the next step
#[derive(clap::Args)]
pub(super) struct ShowArgs {
    /// The number of the landing
    #[arg(value_name = "L", value_parser = crate::cli::input::number)]
    pub(super) number: u64,
}

pub(super) async fn run(context: &Context, args: &ShowArgs) -> Result<(), Problem> {
    let landing: LandingView = context.client().await?.get(&format!("/api/landings/{}", args.number)).await?;
    context.answer(&landing, |l| {
        let mut text = page(l, context.style);
        for check in l.checks.iter().filter(|check| !check.ok) {
            text.push_str(&format!("\nthe end of the output of `{}`:\n", check.name));
            text.extend(plain(&check.log).lines().map(|line| format!("  {line}\n")));
        }
        let hint = match l.state {
            State::Landed => format!("revert it: `flower revert {} --why TEXT`\n", l.id),
            State::Checking => format!("see its checks: `flower queue log {} --follow`\n", l.id),
            State::Queued => String::new(),
            _ => follow_hint(l),
        };
        text + &context.style.dim(&hint)
    })
}
