//! Reads lines of bounded length from a stream, for protocols with one message per line.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

pub struct BoundedLines<R> {
    from: BufReader<R>,
    max_bytes: usize,
    line: Vec<u8>,
    /// The rest of a line that is too long is being skipped.
    skipping: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Whole(Vec<u8>),
    /// The stream ended within this line.
    Unfinished(Vec<u8>),
    /// The line was not kept; reading continues with the next one.
    TooLong,
}

impl<R: AsyncRead + Unpin> BoundedLines<R> {
    pub fn new(from: R, max_bytes: usize) -> BoundedLines<R> {
        BoundedLines { from: BufReader::with_capacity(64 << 10, from), max_bytes, line: Vec::new(), skipping: false }
    }

    /// The next line without its newline; none at the end of the stream. Cancel safe.
    pub async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let buffer = self.from.fill_buf().await?;
            if buffer.is_empty() {
                let line = std::mem::take(&mut self.line);
                return Ok((!line.is_empty()).then_some(Line::Unfinished(line)));
            }
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let length = newline.unwrap_or(buffer.len());
            let was_skipping = self.skipping;
            let too_long = !was_skipping && self.line.len() + length > self.max_bytes;
            if too_long {
                self.line = Vec::new();
            } else if !was_skipping {
                self.line.extend_from_slice(&buffer[..length]);
            }
            self.from.consume(length + usize::from(newline.is_some()));
            self.skipping = (was_skipping || too_long) && newline.is_none();
            if too_long {
                return Ok(Some(Line::TooLong));
            }
            if newline.is_some() && !was_skipping {
                return Ok(Some(Line::Whole(std::mem::take(&mut self.line))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_does_not_hide_the_next() {
        let long = vec![b'x'; 200 << 10];
        let text = [b"12345\n\n123456\n", &long[..], b"\nab\ncd"].concat();
        let mut lines = BoundedLines::new(&text[..], 5);
        let whole = |line: &[u8]| Line::Whole(line.to_vec());
        for expected in [whole(b"12345"), whole(b""), Line::TooLong, Line::TooLong, whole(b"ab")] {
            assert_eq!(lines.next().await.unwrap(), Some(expected));
        }
        assert_eq!(lines.next().await.unwrap(), Some(Line::Unfinished(b"cd".to_vec())));
        assert_eq!(lines.next().await.unwrap(), None);
    }
}
