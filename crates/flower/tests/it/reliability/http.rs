//! A plain HTTP/1.1 client on one connection that stays open: it can be slow, cut off or hold many requests at once.

use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A busy disk can hold up one sync for many seconds.
const DEADLINE: Duration = Duration::from_secs(150);

pub trait Wire: Read + Write + Send {}
impl<T: Read + Write + Send> Wire for T {}

pub struct Http {
    wire: BufReader<Box<dyn Wire>>,
    host: String,
    token: String,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The answer of a request that succeeded.
    pub fn ok(&self) -> Value {
        assert_eq!(self.status, 200, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    pub fn problem(&self) -> Value {
        self.json()["error"].clone()
    }
}

impl Http {
    pub fn over_tcp(port: u16, token: &str) -> io::Result<Http> {
        let wire = TcpStream::connect(("127.0.0.1", port))?;
        wire.set_nodelay(true)?;
        wire.set_read_timeout(Some(DEADLINE))?;
        Ok(Http { wire: BufReader::new(Box::new(wire)), host: format!("127.0.0.1:{port}"), token: token.to_owned() })
    }

    pub fn over_socket(path: &Path, token: &str) -> io::Result<Http> {
        let wire = UnixStream::connect(path)?;
        wire.set_read_timeout(Some(DEADLINE))?;
        Ok(Http { wire: BufReader::new(Box::new(wire)), host: "localhost".to_owned(), token: token.to_owned() })
    }

    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.call("GET", path, "application/json", b"")
    }

    pub fn post(&mut self, path: &str, body: &Value) -> io::Result<Answer> {
        self.call("POST", path, "application/json", body.to_string().as_bytes())
    }

    pub fn upload(&mut self, path: &str, body: &[u8]) -> io::Result<Answer> {
        self.call("POST", path, "application/octet-stream", body)
    }

    pub fn call(&mut self, method: &str, path: &str, kind: &str, body: &[u8]) -> io::Result<Answer> {
        let mut request = self.head(method, path, kind, body.len());
        request.extend_from_slice(body);
        self.send(&request)?;
        self.answer()
    }

    /// The head of a request whose body the caller sends.
    pub fn head(&self, method: &str, path: &str, kind: &str, length: usize) -> Vec<u8> {
        let Http { host, token, .. } = self;
        format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        )
        .into_bytes()
    }

    pub fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let wire = self.wire.get_mut();
        wire.write_all(bytes)?;
        wire.flush()
    }

    /// The next answer, whole.
    pub fn answer(&mut self) -> io::Result<Answer> {
        let (status, length) = self.answer_head()?;
        let body = match length {
            Length::Known(length) => self.take(length)?,
            Length::Chunked => {
                let mut body = Vec::new();
                loop {
                    let chunk = self.chunk()?;
                    if chunk.is_empty() {
                        break body;
                    }
                    body.extend_from_slice(&chunk);
                }
            }
        };
        Ok(Answer { status, body })
    }

    /// The status of the next answer, whose body comes in chunks.
    pub fn stream(&mut self, path: &str) -> io::Result<u16> {
        let request = self.head("GET", path, "application/json", 0);
        self.send(&request)?;
        Ok(self.answer_head()?.0)
    }

    /// The next chunk of a stream; the empty one is the end.
    pub fn chunk(&mut self) -> io::Result<Vec<u8>> {
        let size = self.line()?;
        let size = usize::from_str_radix(&size, 16).map_err(|_| strange("a chunk's size", &size))?;
        let chunk = self.take(size)?;
        self.line()?;
        Ok(chunk)
    }

    fn answer_head(&mut self) -> io::Result<(u16, Length)> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| strange("a status", &line))?;
        let mut length = Length::Known(0);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                return Ok((status, length));
            }
            if let Some(n) = header.strip_prefix("content-length:") {
                length = Length::Known(n.trim().parse().map_err(|_| strange("a length", n))?);
            } else if header == "transfer-encoding: chunked" {
                length = Length::Chunked;
            }
        }
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.wire.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.wire.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

enum Length {
    Known(usize),
    Chunked,
}

fn strange(what: &str, found: &str) -> io::Error {
    io::Error::other(format!("{what} was expected, not `{found}`"))
}
