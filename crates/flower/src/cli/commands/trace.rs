//! `flower trace`, and the output of `flower brief trace`

use crate::cli::follow::follow;
use crate::cli::{Context, event};
use crate::client::{Client, escape};
use flower_contract::error::Problem;
use flower_contract::view::{EventView, StatusView};

/// Show all events, newest last; with `--project`, those of one project
#[derive(clap::Args)]
pub(crate) struct TraceArgs {
    #[command(flatten)]
    pub(crate) window: WindowArgs,
}

#[derive(clap::Args)]
pub(crate) struct WindowArgs {
    /// Print each new event
    #[arg(long, short)]
    follow: bool,
    /// Begin after this event
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// The maximum number of events: the newest, or with --after the first ones
    #[arg(long, value_name = "N", value_parser = crate::cli::input::at_least_one)]
    limit: Option<u64>,
}

/// Events without `--limit`.
const SHOWN: u64 = 50;
const PAGE: u64 = 500;

pub(crate) async fn run(context: &Context, args: &TraceArgs) -> Result<(), Problem> {
    let client = context.client().await?;
    show(context, &client, None, &args.window).await
}

/// The trace of one brief, or of everything.
pub(crate) async fn show(
    context: &Context,
    client: &Client,
    brief: Option<u64>,
    window: &WindowArgs,
) -> Result<(), Problem> {
    let path = match (brief, &context.project) {
        (Some(brief), _) => format!("/api/briefs/{brief}/trace?"),
        (None, Some(project)) => format!("/api/trace?project={}&", escape(project)),
        (None, None) => "/api/trace?".to_owned(),
    };
    if window.follow {
        let after = match (window.after, brief) {
            (Some(after), _) => after,
            (None, Some(_)) => 0,
            // Without a brief, only new events.
            (None, None) => client.get::<StatusView>("/api/status").await?.last_event,
        };
        // Reports a wrong brief or project at once, which `follow` would retry.
        client.get::<Vec<EventView>>(&format!("{path}limit=1")).await?;
        return follow(context, client, brief, after).await;
    }
    let events = match (window.after, window.limit) {
        (None, Some(limit)) => newest(client, &path, limit).await?,
        (None, None) if !context.json => newest(client, &path, SHOWN).await?,
        (after, limit) => first(client, &path, after.unwrap_or(0), limit).await?,
    };
    context.answer(&events, |events| {
        let now = jiff::Timestamp::now();
        let mut text: String = events.iter().map(|e| event::line(e, context.style, now, brief.is_none())).collect();
        if window.limit.is_none() && window.after.is_none() && events.len() as u64 == SHOWN {
            text.push_str(&context.style.dim("the newest 50; `--limit N` shows more, `--after 0` all\n"));
        }
        text
    })
}

async fn newest(client: &Client, path: &str, limit: u64) -> Result<Vec<EventView>, Problem> {
    let mut events: Vec<EventView> = Vec::new();
    while (events.len() as u64) < limit {
        let missing = (limit - events.len() as u64).min(PAGE);
        let before = events.first().map_or_else(String::new, |event| format!("&before={}", event.seq));
        let mut page: Vec<EventView> = client.get(&format!("{path}limit={missing}{before}")).await?;
        if page.is_empty() {
            break;
        }
        page.append(&mut events);
        events = page;
    }
    Ok(events)
}

async fn first(client: &Client, path: &str, mut after: u64, limit: Option<u64>) -> Result<Vec<EventView>, Problem> {
    let mut events: Vec<EventView> = Vec::new();
    let limit = limit.unwrap_or(u64::MAX);
    while (events.len() as u64) < limit {
        let missing = (limit - events.len() as u64).min(PAGE);
        let page: Vec<EventView> = client.get(&format!("{path}after={after}&limit={missing}")).await?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        events.extend(page);
    }
    Ok(events)
}
