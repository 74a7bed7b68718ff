//! HTTP by hand, so that a test decides about every byte that is sent.

use super::PATIENCE;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// A request that is written out when it is sent.
#[derive(Clone)]
pub struct Request {
    port: u16,
    method: String,
    path: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    pub fn new(port: u16, method: &str, path: &str) -> Request {
        Request {
            port,
            method: method.to_owned(),
            path: path.to_owned(),
            host: Some(format!("127.0.0.1:{port}")),
            headers: vec![],
            body: vec![],
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Request {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn token(self, token: &str) -> Request {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    /// Another `Host` than the right one, or none.
    pub fn host(mut self, host: Option<&str>) -> Request {
        self.host = host.map(str::to_owned);
        self
    }

    pub fn json(self, body: &Value) -> Request {
        self.body("application/json", body.to_string())
    }

    pub fn body(mut self, kind: &str, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self.header("Content-Type", kind)
    }

    /// A body whose kind is not said.
    pub fn untyped(mut self, body: impl Into<Vec<u8>>) -> Request {
        self.body = body.into();
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.path);
        if let Some(host) = &self.host {
            text.push_str(&format!("Host: {host}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let is = |wanted: &str| self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(wanted));
        if !self.body.is_empty() && !is("Content-Length") && !is("Transfer-Encoding") {
            text.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        if !is("Connection") {
            text.push_str("Connection: close\r\n");
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }

    pub fn send(&self) -> Answer {
        let answer = exchange(self.port, &self.bytes(), self.method == "HEAD");
        answer.unwrap_or_else(|error| panic!("{} {}: {error}", self.method, self.path))
    }

    /// Sends it and leaves the answer's body to be read piece by piece.
    pub fn stream(&self) -> io::Result<(Answer, BufReader<Chunks>)> {
        let mut stream = connect(self.port)?;
        stream.write_all(&self.bytes())?;
        let mut reader = BufReader::new(stream);
        let answer = Answer::head(&mut reader)?;
        Ok((answer, BufReader::new(Chunks { inner: reader, left: 0, ended: false })))
    }
}

/// Connected to the daemon, with a deadline for every read and write.
pub fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Sends bytes as they are. The answer is read while they are still on their way: a refusal may come early.
pub fn exchange(port: u16, bytes: &[u8], without_body: bool) -> io::Result<Answer> {
    let stream = connect(port)?;
    let mut writing = stream.try_clone()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // A server that refuses early also closes early.
            let _ = writing.write_all(bytes);
        });
        Answer::read(&mut BufReader::new(stream), without_body)
    })
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(reader: &mut BufReader<TcpStream>, without_body: bool) -> io::Result<Answer> {
        let mut answer = Answer::head(reader)?;
        if without_body || matches!(answer.status, 101 | 204 | 304) {
            return Ok(answer);
        }
        let length = answer.header("content-length").and_then(|length| length.parse().ok());
        if let Some(length) = length {
            answer.body.resize(length, 0);
            reader.read_exact(&mut answer.body)?;
        } else if answer.header("transfer-encoding").is_some() {
            Chunks { inner: reader, left: 0, ended: false }.read_to_end(&mut answer.body)?;
        } else {
            reader.read_to_end(&mut answer.body)?;
        }
        Ok(answer)
    }

    fn head(reader: &mut BufReader<TcpStream>) -> io::Result<Answer> {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line.strip_prefix("HTTP/1.1 ").or_else(|| line.strip_prefix("HTTP/1.0 "));
        let status = status.and_then(|rest| rest.get(..3)?.parse().ok()).ok_or_else(|| wrong(&line))?;
        let mut headers = Vec::new();
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            let text = line.trim_end();
            if text.is_empty() {
                break;
            }
            let (name, value) = text.split_once(':').ok_or_else(|| wrong(text))?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Answer { status, headers, body: vec![] })
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The kind of the error that it is.
    pub fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

fn wrong(line: &str) -> io::Error {
    let kind = if line.is_empty() { io::ErrorKind::UnexpectedEof } else { io::ErrorKind::InvalidData };
    io::Error::new(kind, format!("no HTTP: {line:?}"))
}

/// The content of a chunked body.
pub struct Chunks<R = BufReader<TcpStream>> {
    inner: R,
    left: usize,
    ended: bool,
}

impl<R: BufRead> Chunks<R> {
    /// A header after the body, once the body was read to its end.
    pub fn trailer(mut self, name: &str) -> io::Result<Option<String>> {
        let mut line = String::new();
        while self.inner.read_line(&mut line)? > 2 {
            if let Some((_, value)) = line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)) {
                return Ok(Some(value.trim().to_owned()));
            }
            line.clear();
        }
        Ok(None)
    }
}

impl<R: BufRead> Read for Chunks<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.ended {
            let mut line = String::new();
            self.inner.read_line(&mut line)?;
            if line.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.left = usize::from_str_radix(line.trim(), 16).map_err(|_| wrong(&line))?;
            self.ended = self.left == 0;
        }
        if self.ended {
            return Ok(0);
        }
        let most = buffer.len().min(self.left);
        let read = self.inner.read(&mut buffer[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read;
        if self.left == 0 {
            // Every chunk ends with a line break.
            self.inner.read_exact(&mut [0; 2])?;
        }
        Ok(read)
    }
}
