//! `flower thaw`

use super::main::page;
use crate::cli::Context;
use flower_contract::error::Problem;
use flower_contract::view::{MainView, ThawView};

/// Resume landings after `flower freeze` or `flower halt`
///
/// A halt is lifted in all projects. A freeze is lifted in this project only, unless --all is given.
#[derive(clap::Args)]
pub(crate) struct ThawArgs {
    /// Resume landings in all projects
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(context: &Context, args: &ThawArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    if args.all {
        let thawed: ThawView = client.post("/api/thaw", &()).await?;
        return context.answer(&thawed, |all| match all.thawed.is_empty() {
            true => "no project is frozen\n".to_owned(),
            false => all.thawed.iter().map(|name| format!("{} lands again\n", context.style.bold(name))).collect(),
        });
    }
    let main: MainView = client.post(&format!("/api/main/thaw?{}", context.project_query()), &()).await?;
    context.answer(&main, |m| page(m, context.style))
}
