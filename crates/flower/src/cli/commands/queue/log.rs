//! `flower queue log`

use crate::cli::output::plain;
use crate::cli::wait::{CheckLog, EventSignal, LogSource, OUTPUT_POLL_INTERVAL};
use crate::cli::{Context, input};
use crate::client::Client;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::LandingView;
use flower_core::landing::State;
use std::io::IsTerminal;

/// Show the output of a check
#[derive(clap::Args)]
pub(super) struct LogArgs {
    /// The number of the landing
    #[arg(value_name = "L", value_parser = crate::cli::input::number)]
    number: u64,
    /// The check; by default the running one, the failed one, or the last
    #[arg(value_parser = input::not_an_option)]
    check: Option<String>,
    /// Print new output until the checks have ended
    #[arg(long, short)]
    follow: bool,
}

pub(super) async fn run(context: &Context, args: LogArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    let address = format!("/api/landings/{}", args.number);
    let mut landing: LandingView = client.get(&address).await?;
    if args.follow && landing.ended_at.is_none() {
        let printed;
        (landing, printed) = follow(context, &client, args.number, args.check.as_deref()).await?;
        if printed {
            return Ok(());
        }
    }
    let Some(check) = args.check.or_else(|| default_check(&landing)) else {
        return Err(Problem::new(
            ProblemKind::Refused,
            format!("no check of landing {} has run", landing.id),
            format!("`flower queue show {}` shows its state", landing.id),
        ));
    };
    let log = LogSource::of_landing(landing.id).read(&client, &check, 0).await?;
    if context.json {
        let text = String::from_utf8_lossy(&log);
        return context
            .answer(&serde_json::json!({ "landing": landing.id, "check": check, "log": text }), |_| String::new());
    }
    if log.is_empty() {
        eprintln!("the check `{}` of landing {} has printed nothing", plain(&check), landing.id);
    }
    if std::io::stdout().is_terminal() {
        return context.print(&plain(&String::from_utf8_lossy(&log)));
    }
    context.print_bytes(&log)
}

fn default_check(landing: &LandingView) -> Option<String> {
    let running = landing.running.as_ref().map(|running| running.name.clone());
    let failed = landing.checks.iter().find(|check| !check.ok).or(landing.checks.last());
    running.or_else(|| failed.map(|check| check.name.clone()))
}

/// Prints the output of all checks, or of one, until the landing makes no further progress by itself. Returns the landing,
/// and whether anything was printed.
async fn follow(
    context: &Context,
    client: &Client,
    number: u64,
    check: Option<&str>,
) -> Result<(LandingView, bool), Problem> {
    let mut printed = false;
    let mut events = EventSignal::new(client);
    let mut log = CheckLog::new(LogSource::of_landing(number));
    loop {
        events.connect().await;
        let landing: LandingView = client.get(&format!("/api/landings/{number}")).await?;
        let in_progress = matches!(landing.state, State::Queued | State::Checking);
        let running = landing.running.as_ref().filter(|running| check.is_none_or(|check| check == running.name));
        let text = log.new_lines(client, running).await;
        if !context.json && !text.is_empty() {
            context.print(&plain(&text))?;
            printed = true;
        }
        if !in_progress {
            return Ok((landing, printed));
        }
        events.wait(OUTPUT_POLL_INTERVAL).await;
    }
}
