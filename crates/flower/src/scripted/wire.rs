//! Writes standard output, in order, in a thread: a client that does not read does not keep the agent from reading `cancel`.

use agent_client_protocol_schema::rpc::{JsonRpcMessage, Notification, Request, RequestId, Response};
use agent_client_protocol_schema::v1::Error;
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Messages that may wait for the client to read. Further senders wait.
const CHANNEL_CAPACITY: usize = 64;
/// How long a client may take to read the rest before the process ends.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct Wire(mpsc::Sender<Piece>);

enum Piece {
    Line(String),
    /// One line of so many bytes.
    Filler(usize),
    Flush(oneshot::Sender<()>),
}

impl Wire {
    pub(super) fn start() -> Wire {
        let (sender, mut pieces) = mpsc::channel(CHANNEL_CAPACITY);
        std::thread::spawn(move || {
            while let Some(piece) = pieces.blocking_recv() {
                // A client that no longer reads closes standard input too, which ends this process.
                let _ = put(piece);
            }
        });
        Wire(sender)
    }

    pub(super) async fn answer<T: Serialize>(&self, id: RequestId, result: Result<T, Error>) {
        self.message(Response::new(id, result)).await;
    }

    pub(super) async fn notify<T: Serialize>(&self, method: &str, params: T) {
        self.message(Notification { method: Arc::from(method), params: Some(params) }).await;
    }

    pub(super) async fn ask<T: Serialize>(&self, id: i64, method: &str, params: T) {
        self.message(Request { id: RequestId::Number(id), method: Arc::from(method), params: Some(params) }).await;
    }

    /// A line as it is, whether that is the protocol or not.
    pub(super) async fn line(&self, line: String) {
        self.piece(Piece::Line(line)).await;
    }

    pub(super) async fn filler(&self, bytes: usize) {
        self.piece(Piece::Filler(bytes)).await;
    }

    /// Waits until everything is written, or the client does not read in time.
    pub(super) async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let all = async {
            self.piece(Piece::Flush(done)).await;
            let _ = written.await;
        };
        let _ = tokio::time::timeout(FLUSH_TIMEOUT, all).await;
    }

    async fn message<M: Serialize>(&self, message: M) {
        if let Ok(line) = serde_json::to_string(&JsonRpcMessage::wrap(message)) {
            self.line(line).await;
        }
    }

    async fn piece(&self, piece: Piece) {
        let _ = self.0.send(piece).await;
    }
}

fn put(piece: Piece) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    match piece {
        Piece::Line(mut line) => {
            line.push('\n');
            out.write_all(line.as_bytes())?;
        }
        Piece::Filler(bytes) => {
            std::io::copy(&mut std::io::Read::take(std::io::repeat(b'x'), bytes as u64), &mut out)?;
            out.write_all(b"\n")?;
        }
        Piece::Flush(done) => {
            out.flush()?;
            let _ = done.send(());
        }
    }
    out.flush()
}
