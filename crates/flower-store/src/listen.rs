//! Notifications of PostgreSQL about the commits of other servers that write to the same log.

use super::dialect::{CHANNEL, Location};
use super::error::StoreError;
use super::live::Live;
use super::writer::catch_up;
use std::sync::{Arc, Weak};
use std::time::Duration;

const PAUSE: Duration = Duration::from_secs(1);

/// Starts a thread that keeps `live` up to date with the commits of other servers, until `live` is dropped. SQLite has
/// one writer only, so nothing is started.
pub fn start(location: &Location, live: &Arc<Live>) -> Result<(), StoreError> {
    let Location::Postgres(config) = location else { return Ok(()) };
    let (config, location, live) = (config.clone(), location.clone(), Arc::downgrade(live));
    std::thread::Builder::new()
        .name("store-listener".into())
        .spawn(move || {
            while live.upgrade().is_some() {
                if let Err(error) = listen(&config, &location, &live) {
                    tracing::warn!("cannot hear other servers, trying again: {error}");
                    std::thread::sleep(PAUSE);
                }
            }
        })
        .map_err(|error| StoreError::Unreachable(error.to_string()))?;
    Ok(())
}

fn listen(config: &postgres::Config, location: &Location, live: &Weak<Live>) -> Result<(), StoreError> {
    use postgres::fallible_iterator::FallibleIterator;
    let mut client = config.clone().connect_timeout(Duration::from_secs(5)).connect(postgres::NoTls)?;
    let channel: String = client.query_one(&format!("SELECT {CHANNEL}"), &[])?.try_get(0)?;
    client.batch_execute(&format!("LISTEN {channel}"))?;
    let mut reader = location.connect()?;
    while let Some(known) = live.upgrade() {
        // Includes the commits from before `LISTEN`, or from while the connection was down.
        catch_up(&mut reader, &known);
        drop(known);
        // Returns on the first notification. The timeout lets the loop notice that `live` was dropped.
        client.notifications().timeout_iter(PAUSE).next()?;
    }
    Ok(())
}
