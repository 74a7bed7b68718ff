//! A daemon that knows one agent, whose terminal is what the test says.

use crate::common::PATIENCE;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};

pub struct FakeDaemon {
    pub port: u16,
    streams: mpsc::Receiver<Stream>,
    posts: Arc<Mutex<Vec<(String, String)>>>,
    is_away: Arc<AtomicBool>,
}

/// A viewer of the terminal.
pub struct Stream {
    pub path: String,
    connection: TcpStream,
}

/// Where output begins if nothing is said.
const BEGIN: &str = "1000";

impl FakeDaemon {
    pub fn start() -> FakeDaemon {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (sender, streams) = mpsc::channel();
        let posts = Arc::new(Mutex::new(Vec::new()));
        let is_away = Arc::new(AtomicBool::new(false));
        let (heard, away) = (posts.clone(), is_away.clone());
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                if !away.load(Ordering::Relaxed) {
                    answer(connection, &sender, &heard);
                }
            }
        });
        FakeDaemon { port, streams, posts, is_away }
    }

    /// The next one who looks.
    pub fn stream(&self) -> Stream {
        self.streams.recv_timeout(PATIENCE).expect("a viewer")
    }

    /// Everything that was posted to an address with this end.
    pub fn posted(&self, end: &str) -> String {
        let posts = self.posts.lock().expect("whole");
        posts.iter().filter(|(path, _)| path.ends_with(end)).map(|(_, body)| body.as_str()).collect()
    }

    pub fn go_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
    }
}

fn answer(connection: TcpStream, streams: &mpsc::Sender<Stream>, posts: &Mutex<Vec<(String, String)>>) {
    let mut reader = BufReader::new(connection.try_clone().expect("a copy"));
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        head.push(line.trim().to_ascii_lowercase());
    }
    let Some(request) = head.first() else { return };
    let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let mut connection = connection;
    let version = flower_contract::VERSION;
    if request.starts_with("post") {
        posts.lock().expect("whole").push((path, String::from_utf8(body).expect("text")));
        let _ = write!(connection, "HTTP/1.1 204 No Content\r\nx-flower-version: {version}\r\n\r\n");
        return;
    }
    assert!(head.contains(&"te: trailers".to_owned()), "{head:?}");
    let offset = path.split_once("after=").map_or(BEGIN, |(_, after)| after);
    let _ = write!(
        connection,
        "HTTP/1.1 200 OK\r\nx-flower-version: {version}\r\nx-flower-offset: {offset}\r\n\
         transfer-encoding: chunked\r\ntrailer: x-flower-exit\r\n\r\n"
    );
    let _ = streams.send(Stream { path, connection });
}

impl Stream {
    pub fn show(&mut self, bytes: &[u8]) {
        let framed = [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat();
        self.connection.write_all(&framed).expect("shown");
    }

    pub fn end(mut self, code: i32) {
        write!(self.connection, "0\r\nx-flower-exit: {code}\r\n\r\n").expect("shown");
    }
}
