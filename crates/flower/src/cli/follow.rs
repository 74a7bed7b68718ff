//! `--follow`: reads the live stream, and goes on where it was when the daemon comes back.

use super::Context;
use super::event;
use crate::client::Client;
use crate::error::Problem;
use crate::view::EventView;
use http_body_util::BodyExt;
use std::time::{Duration, Instant};

/// How long a daemon may be away.
const PATIENCE: Duration = Duration::from_secs(60);
/// An event larger than any that flower writes.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// Prints every event after `after`, of one brief or of all, until the daemon is gone for good.
pub async fn follow(context: &Context, client: &Client, brief: Option<u64>, mut after: u64) -> Result<(), Problem> {
    let mut lost_at: Option<Instant> = None;
    loop {
        let filter = brief.map_or_else(String::new, |brief| format!("&brief={brief}"));
        match client.stream(&format!("/api/events?after={after}{filter}")).await {
            Ok(body) => {
                lost_at = None;
                read(context, body, brief.is_none(), &mut after).await?;
            }
            Err(problem) if lost_at.get_or_insert_with(Instant::now).elapsed() > PATIENCE => return Err(problem),
            Err(_) => {}
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

/// Reads one connection to its end.
async fn read(
    context: &Context,
    mut body: hyper::body::Incoming,
    with_brief: bool,
    after: &mut u64,
) -> Result<(), Problem> {
    let mut buffer = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let frame: Vec<u8> = buffer.drain(..end + 2).collect();
            let Some(event) = parse(&frame) else { continue };
            *after = event.seq;
            show(context, &event, with_brief)?;
        }
        if buffer.len() > MOST_BYTES {
            return Err(Problem::bug("an event without an end"));
        }
    }
    Ok(())
}

fn parse(frame: &[u8]) -> Option<EventView> {
    let text = std::str::from_utf8(frame).ok()?;
    let data = text.lines().find_map(|line| line.strip_prefix("data: "))?;
    serde_json::from_str(data).ok()
}

fn show(context: &Context, event: &EventView, with_brief: bool) -> Result<(), Problem> {
    if context.json {
        let mut line = serde_json::to_string(event).expect("plain data");
        line.push('\n');
        return context.print(&line);
    }
    context.print(&event::line(event, context.style, jiff::Timestamp::now(), with_brief))
}
