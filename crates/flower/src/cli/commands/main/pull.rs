//! `flower main pull`

use crate::cli::Context;
use crate::cli::landing::{follow_hint, page, short, verdict};
use crate::cli::output::plain;
use crate::cli::wait::WaitArgs;
use flower_contract::error::Problem;
use flower_contract::view::{LandingView, MainView, PullView};
use serde::Serialize;

/// Queue the new commits of MAIN's remote
#[derive(clap::Args)]
pub(super) struct PullArgs {
    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Serialize)]
struct Pulled {
    #[serde(flatten)]
    main: MainView,
    remote: String,
    commit: String,
    landing: Option<LandingView>,
}

pub(super) async fn run(context: &Context, args: &PullArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let PullView { remote, commit, mut landing } = client.post(&super::address(context, "/pull"), &()).await?;
    if let Some(queued) = landing.as_mut().filter(|_| args.wait.is_wanted()) {
        *queued = args.wait.until_settled(context, &client, queued.id).await?;
    }
    let main = super::look(context, &client).await?;
    let pulled = Pulled { main, remote, commit, landing };
    context.answer(&pulled, |p| match &p.landing {
        None => format!("MAIN has all commits of {}, up to {}\n", plain(&p.remote), short(&p.commit)),
        Some(landing) => page(landing, context.style) + &context.style.dim(&follow_hint(landing)),
    })?;
    match &pulled.landing {
        Some(landing) if args.wait.is_wanted() => verdict(landing),
        _ => Ok(()),
    }
}
