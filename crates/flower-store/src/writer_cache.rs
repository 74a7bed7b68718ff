//! The writer's cache of the database, which saves queries for every command.

use super::conn::Conn;
use super::error::StoreError;
use super::log::Tail;
use super::projection::Projector;
use std::collections::HashMap;

/// Maximum briefs, and maximum streams, in the cache; a few megabytes.
const MAX_HELD: usize = 4_096;

#[derive(Default)]
pub struct WriterCache {
    /// The end of the log for which the cache is valid.
    pub tail: Tail,
    /// The newest version of each stream that was appended to.
    pub versions: HashMap<String, u64>,
    pub projector: Projector,
}

impl WriterCache {
    /// Reads the end of the log at the beginning of a transaction. If another server has written, the end has moved,
    /// and the cache is cleared.
    pub fn refresh(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        let tail = Tail::read(conn)?;
        if tail != self.tail || self.projector.held().max(self.versions.len()) > MAX_HELD {
            *self = WriterCache { tail, ..WriterCache::default() };
        }
        Ok(())
    }
}
