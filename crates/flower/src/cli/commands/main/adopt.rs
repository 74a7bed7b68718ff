//! `flower main adopt`

use crate::cli::Context;
use crate::cli::landing::{follow_hint, page, verdict};
use crate::cli::wait::WaitArgs;
use flower_contract::error::Problem;
use flower_contract::view::{LandingView, MainView};
use serde::Serialize;

/// Land commits that were made in MAIN by hand, after the checks
#[derive(clap::Args)]
pub(super) struct AdoptArgs {
    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Serialize)]
struct Adopted {
    #[serde(flatten)]
    main: MainView,
    landing: LandingView,
}

pub(super) async fn run(context: &Context, args: &AdoptArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let mut landing: LandingView = client.post(&super::address(context, "/adopt"), &()).await?;
    if args.wait.is_wanted() {
        landing = args.wait.until_settled(context, &client, landing.id).await?;
    }
    let main = super::look(context, &client).await?;
    let adopted = Adopted { main, landing };
    context.answer(&adopted, |adopted| {
        let hint = context.style.dim(&follow_hint(&adopted.landing));
        page(&adopted.landing, context.style) + &hint
    })?;
    if args.wait.is_wanted() { verdict(&adopted.landing) } else { Ok(()) }
}
