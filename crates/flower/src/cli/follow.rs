//! `--follow`: prints the live stream, and resumes it when the daemon is restarted.

use super::Context;
use super::context::{RECONNECT_INTERVAL, RECONNECT_TIMEOUT};
use super::event;
use crate::client::{Client, escape};
use flower_contract::error::Problem;
use flower_contract::view::EventView;
use std::time::Instant;

/// Prints every event after `after`, of one brief, of a project or of all, until the daemon is away for too long.
pub async fn follow(context: &Context, client: &Client, brief: Option<u64>, mut after: u64) -> Result<(), Problem> {
    let filter = match (brief, &context.project) {
        (Some(brief), _) => format!("&brief={brief}"),
        (None, Some(project)) => format!("&project={}", escape(project)),
        (None, None) => String::new(),
    };
    let mut lost_at: Option<Instant> = None;
    loop {
        match client.events(&format!("/api/events?after={after}{filter}")).await {
            Ok(mut events) => {
                lost_at = None;
                while let Some(event) = events.next::<EventView>().await {
                    after = event.seq;
                    show(context, &event, brief.is_none())?;
                }
            }
            Err(problem) if lost_at.get_or_insert_with(Instant::now).elapsed() > RECONNECT_TIMEOUT => {
                return Err(problem);
            }
            Err(_) => {}
        }
        tokio::time::sleep(RECONNECT_INTERVAL).await;
    }
}

fn show(context: &Context, event: &EventView, with_brief: bool) -> Result<(), Problem> {
    if context.json {
        let mut line = serde_json::to_string(event).expect("plain data");
        line.push('\n');
        return context.print(&line);
    }
    context.print(&event::line(event, context.style, jiff::Timestamp::now(), with_brief))
}
