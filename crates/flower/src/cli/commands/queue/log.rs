//! `flower queue log`

use crate::cli::output::plain;
use crate::cli::wait::{BREATH, Bell, CheckLog, read_log};
use crate::cli::{Context, input};
use crate::client::Client;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::LandingView;
use flower_core::landing::State;
use std::io::IsTerminal;

/// The output of a check
#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// The landing
    #[arg(value_name = "L")]
    number: u64,
    /// The check; otherwise the one that runs, the one that failed, or the last
    #[arg(value_parser = input::not_an_option)]
    check: Option<String>,
    /// Stay while it is checked, and show what comes
    #[arg(long, short)]
    follow: bool,
}

pub(super) async fn run(context: &Context, args: LogArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/landings/{}", args.number);
    let mut landing: LandingView = client.get(&address).await?;
    if args.follow && landing.ended_at.is_none() {
        let printed;
        (landing, printed) = follow(context, &client, &address, args.check.as_deref()).await?;
        if printed {
            return Ok(());
        }
    }
    let Some(check) = args.check.or_else(|| of_interest(&landing)) else {
        return Err(Problem::new(
            ProblemKind::Refused,
            format!("no check of landing {} has run", landing.id),
            format!("`flower queue show {}` says where it stands", landing.id),
        ));
    };
    let log = read_log(&client, landing.id, &check, 0).await?;
    if context.json {
        let text = String::from_utf8_lossy(&log);
        return context
            .answer(&serde_json::json!({ "landing": landing.id, "check": check, "log": text }), |_| String::new());
    }
    if std::io::stdout().is_terminal() {
        return context.print(&plain(&String::from_utf8_lossy(&log)));
    }
    context.print_bytes(&log)
}

fn of_interest(landing: &LandingView) -> Option<String> {
    let running = landing.running.as_ref().map(|running| running.name.clone());
    let failed = landing.checks.iter().find(|check| !check.ok).or(landing.checks.last());
    running.or_else(|| failed.map(|check| check.name.clone()))
}

/// Prints what the checks say, or one of them, until the landing goes on no further by itself. Whether there was anything.
async fn follow(
    context: &Context,
    client: &Client,
    address: &str,
    check: Option<&str>,
) -> Result<(LandingView, bool), Problem> {
    let mut printed = false;
    let mut bell = Bell::new(client);
    let mut log = CheckLog::default();
    loop {
        bell.hang().await;
        let mut landing: LandingView = client.get(address).await?;
        let going = matches!(landing.state, State::Queued | State::Checking);
        landing.running = landing.running.filter(|running| check.is_none_or(|check| check == running.name));
        let text = log.more(client, &landing).await;
        if !context.json && !text.is_empty() {
            context.print(&plain(&text))?;
            printed = true;
        }
        if !going {
            return Ok((landing, printed));
        }
        bell.wait(BREATH).await;
    }
}
