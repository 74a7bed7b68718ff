//! What the writer knows of the database, so that it asks once and not again for every command.

use super::conn::Conn;
use super::error::StoreError;
use super::log::Tail;
use super::projection::Projector;
use std::collections::HashMap;

/// Briefs, and streams, that are remembered; a few megabytes.
const MAX_HELD: usize = 4_096;

#[derive(Default)]
pub struct WriterCache {
    /// The end of the log for which the rest holds.
    pub tail: Tail,
    /// The newest version of each stream that was appended to.
    pub versions: HashMap<String, u64>,
    pub projector: Projector,
}

impl WriterCache {
    /// Looks where the log ends, at the beginning of a transaction. Whoever else wrote has moved its end, and then nothing
    /// that was known holds any more.
    pub fn refresh(&mut self, conn: &mut Conn) -> Result<(), StoreError> {
        let tail = Tail::read(conn)?;
        if tail != self.tail || self.projector.held().max(self.versions.len()) > MAX_HELD {
            *self = WriterCache { tail, ..WriterCache::default() };
        }
        Ok(())
    }
}
