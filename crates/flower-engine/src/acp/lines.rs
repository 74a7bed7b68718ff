//! Lines of a stream, none of them longer than what can be held.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Far more than any message of an agent; a picture in it included.
pub(super) const LONGEST: usize = 32 << 20;

pub(super) struct Lines<R> {
    from: BufReader<R>,
    held: Vec<u8>,
}

pub(super) enum Line {
    Whole(String),
    TooLong,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(super) fn new(from: R) -> Lines<R> {
        Lines { from: BufReader::with_capacity(64 << 10, from), held: Vec::new() }
    }

    /// The next one; none at the end, where half a line counts for nothing.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let (used, whole) = {
                let buffer = self.from.fill_buf().await.ok()?;
                if buffer.is_empty() {
                    return None;
                }
                let end = buffer.iter().position(|byte| *byte == b'\n');
                self.held.extend_from_slice(&buffer[..end.unwrap_or(buffer.len())]);
                (end.map_or(buffer.len(), |end| end + 1), end.is_some())
            };
            self.from.consume(used);
            if self.held.len() > LONGEST {
                return Some(Line::TooLong);
            }
            if whole {
                let line = String::from_utf8_lossy(&self.held).into_owned();
                self.held.clear();
                self.held.shrink_to(64 << 10);
                return Some(Line::Whole(line));
            }
        }
    }
}
