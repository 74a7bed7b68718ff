//! MCP over standard input and output: one message per line. What is no message is answered, and the next line is read.

use super::{Backend, Server};
use flower_engine::bounded_lines::{BoundedLines, Line};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt};
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

/// The longest line, and the largest body over HTTP.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;
/// How long running calls may take after the client has closed its end.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(700);

/// Serves one client until it closes its end.
pub async fn serve<B: Backend>(
    server: Server<B>,
    read: impl AsyncRead + Send + Unpin + 'static,
    write: impl AsyncWrite + Send + Unpin + 'static,
) {
    let (closed, mut is_closed) = watch::channel(false);
    let lines = Lines {
        read: BoundedLines::new(read, MAX_BYTES),
        write: Arc::new(Mutex::new(write)),
        reply: None,
        begun: false,
        closed,
    };
    let serving = async {
        match server.serve(lines).await {
            Ok(running) => drop(running.waiting().await),
            Err(error) => tracing::debug!("no client: {error}"),
        }
    };
    let patience = async {
        let _ = is_closed.wait_for(|closed| *closed).await;
        tokio::time::sleep(DRAIN_TIMEOUT).await;
    };
    tokio::select! {
        () = serving => {}
        () = patience => {}
    }
}

struct Lines<R, W> {
    read: BoundedLines<R>,
    write: Arc<Mutex<W>>,
    /// An answer to what was no message. It is on its way before more is read.
    reply: Option<JoinHandle<()>>,
    /// A first request has come. Before it, nothing else means anything.
    begun: bool,
    closed: watch::Sender<bool>,
}

impl<R: AsyncRead + Send + Unpin, W: AsyncWrite + Send + Unpin + 'static> Lines<R, W> {
    /// The message of the line, if it is one that means something now; otherwise what its sender is told.
    fn take(&mut self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Box<ServerJsonRpcMessage>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let message = serde_json::from_slice(line).map_err(|error| Box::new(no_message(line, &error)))?;
        self.begun |= begins(&message);
        let is_request = matches!(message, ClientJsonRpcMessage::Request(_));
        Ok((self.begun || is_request).then_some(message))
    }

    fn reply(&mut self, message: ServerJsonRpcMessage) {
        let write = self.write.clone();
        self.reply = Some(tokio::spawn(async move {
            // A client that does not read has left, which the next read reports.
            let _ = put(&write, &message).await;
        }));
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let write = self.write.clone();
        async move { put(&write, &item).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(reply) = &mut self.reply {
                let _ = reply.await;
                self.reply = None;
            }
            let taken = match self.read.next().await {
                Ok(Some(Line::Whole(line) | Line::Unfinished(line))) => self.take(&line),
                Ok(Some(Line::TooLong)) => Err(Box::new(too_long())),
                Ok(None) | Err(_) => {
                    self.closed.send_replace(true);
                    return None;
                }
            };
            match taken {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(message) => self.reply(*message),
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn put<W: AsyncWrite + Unpin>(write: &Mutex<W>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

/// Whether a client has chosen its era with it. Asking what the server can do is not that.
fn begins(message: &ClientJsonRpcMessage) -> bool {
    let ClientJsonRpcMessage::Request(message) = message else { return false };
    match &message.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().protocol_version().is_some(),
    }
}

fn no_message(line: &[u8], error: &serde_json::Error) -> ServerJsonRpcMessage {
    match serde_json::from_slice::<Value>(line) {
        Ok(value) => {
            let id = serde_json::from_value::<RequestId>(value["id"].clone()).ok();
            let error = ErrorData::invalid_request(format!("that is no message of JSON-RPC: {error}"), None);
            ServerJsonRpcMessage::error(error, id)
        }
        Err(error) => {
            ServerJsonRpcMessage::error(ErrorData::parse_error(format!("that is not JSON: {error}"), None), None)
        }
    }
}

fn too_long() -> ServerJsonRpcMessage {
    let message = format!("a message has at most {MAX_BYTES} bytes; this one was not read");
    ServerJsonRpcMessage::error(ErrorData::parse_error(message, None), None)
}
