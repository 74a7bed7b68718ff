//! `flower agent allow` and `flower agent deny`

use crate::cli::Context;
use crate::cli::output::plain;
use flower_contract::error::Problem;
use flower_contract::request::Decide;
use flower_contract::view::PermissionView;

/// Allow a request for permission, once; `flower inbox` lists requests
#[derive(clap::Args)]
pub(super) struct AllowArgs {
    /// The number of the request
    #[arg(value_name = "P", value_parser = crate::cli::input::number)]
    number: u64,
}

/// Deny a request for permission
#[derive(clap::Args)]
pub(super) struct DenyArgs {
    /// The number of the request
    #[arg(value_name = "P", value_parser = crate::cli::input::number)]
    number: u64,
    /// The reason, for the trace
    why: Option<String>,
}

pub(super) async fn allow(context: &Context, args: AllowArgs) -> Result<(), Problem> {
    decide(context, args.number, Decide { allow: true, why: None }).await
}

pub(super) async fn deny(context: &Context, args: DenyArgs) -> Result<(), Problem> {
    decide(context, args.number, Decide { allow: false, why: args.why }).await
}

async fn decide(context: &Context, number: u64, body: Decide) -> Result<(), Problem> {
    let path = format!("/api/permissions/{number}");
    let decided: PermissionView = context.client().await?.post(&path, &body).await?;
    context.answer(&decided, |decided| {
        let may = if decided.allowed == Some(true) { "may" } else { "may not" };
        format!("{} {may}: {}\n", plain(&decided.agent), plain(&decided.title))
    })
}
