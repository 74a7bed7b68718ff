//! `flower down`

use crate::cli::Context;
use crate::daemon;
use flower_contract::error::Problem;
use serde::Serialize;

/// Stop the daemon, after the requests that are in progress
#[derive(clap::Args)]
pub(crate) struct DownArgs {}

#[derive(Serialize)]
struct Down {
    /// The process that was stopped, if one ran.
    pid: Option<u32>,
}

pub(crate) async fn run(context: &Context, _: &DownArgs) -> Result<(), Problem> {
    if std::env::var_os("FLOWER_URL").is_some_and(|url| !url.is_empty()) {
        return Err(Problem::usage(
            "the daemon at FLOWER_URL cannot be stopped from here",
            "unset FLOWER_URL, or stop it there",
        ));
    }
    let stopped = daemon::stop(&context.home).await?;
    let down = Down { pid: stopped.map(|holder| holder.pid) };
    context.answer(&down, |down| match down.pid {
        Some(pid) => format!("stopped (process {pid})\n"),
        None => "no daemon runs\n".to_owned(),
    })
}
