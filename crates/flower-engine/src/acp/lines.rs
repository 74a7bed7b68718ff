//! Reads the lines of a stream, up to a maximum length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Far more than any message of an agent, also one with a picture.
pub(super) const MAX_LINE_BYTES: usize = 32 << 20;

pub(super) struct LineReader<R> {
    source: BufReader<R>,
    buffered: Vec<u8>,
}

pub(super) enum Line {
    Whole(String),
    TooLong,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(source: R) -> LineReader<R> {
        LineReader { source: BufReader::with_capacity(64 << 10, source), buffered: Vec::new() }
    }

    /// The next line; none at the end. An unfinished last line is dropped.
    pub(super) async fn next(&mut self) -> Option<Line> {
        loop {
            let (used, whole) = {
                let buffer = self.source.fill_buf().await.ok()?;
                if buffer.is_empty() {
                    return None;
                }
                let end = buffer.iter().position(|byte| *byte == b'\n');
                self.buffered.extend_from_slice(&buffer[..end.unwrap_or(buffer.len())]);
                (end.map_or(buffer.len(), |end| end + 1), end.is_some())
            };
            self.source.consume(used);
            if self.buffered.len() > MAX_LINE_BYTES {
                return Some(Line::TooLong);
            }
            if whole {
                let line = String::from_utf8_lossy(&self.buffered).into_owned();
                self.buffered.clear();
                self.buffered.shrink_to(64 << 10);
                return Some(Line::Whole(line));
            }
        }
    }
}
