//! Listens on a unix socket for the command line, and on loopback for browsers and agents. Ends slow and idle connections.

use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

/// Connections for all callers: a thousand live readers, and room for calls.
const MAX_CONNECTIONS: usize = 3_584;
/// Further connections that are reserved for the operator. Calls of agents on them are refused, so that agents cannot use up
/// all connections.
const RESERVED_CONNECTIONS: usize = 512;

/// Marks requests on a connection that is reserved for the operator.
#[derive(Clone, Copy)]
pub(super) struct ReservedConnection;

/// From connecting, or from the end of a response, to the last byte of a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// The same on a reserved connection, whose clients send their request at once.
const RESERVED_HEAD_TIMEOUT: Duration = Duration::from_secs(2);
/// A connection whose client reads nothing for this long is closed.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// Request line and headers; a longer head is answered with 431.
const MAX_HEAD_BYTES: usize = 64 * 1024;

pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The request to stop, which every long-running task awaits.
#[derive(Clone, Debug)]
pub struct Shutdown {
    flag: Arc<watch::Sender<bool>>,
}

impl Default for Shutdown {
    fn default() -> Shutdown {
        Shutdown { flag: Arc::new(watch::Sender::new(false)) }
    }
}

impl Shutdown {
    pub fn begin(&self) {
        self.flag.send_replace(true);
    }

    pub async fn begun(&self) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.flag.subscribe().wait_for(|begun| *begun).await;
    }
}

/// Serves until shutdown begins; then accepts no more connections, and waits for the open ones.
pub async fn serve(listener: Listener, router: Router, shutdown: Shutdown) {
    let open = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let reserved = Arc::new(Semaphore::new(RESERVED_CONNECTIONS));
    loop {
        let permit = tokio::select! {
            biased;
            permit = open.clone().acquire_owned() => permit,
            permit = reserved.clone().acquire_owned() => permit,
            () = shutdown.begun() => break,
        };
        let Ok(mut permit) = permit else { break };
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = shutdown.begun() => break,
        };
        match accepted {
            Ok(stream) => {
                // Another connection may have ended in the meantime.
                if let Ok(free) = open.clone().try_acquire_owned() {
                    permit = free;
                }
                let is_reserved = Arc::ptr_eq(permit.semaphore(), &reserved);
                let router =
                    if is_reserved { router.clone().layer(Extension(ReservedConnection)) } else { router.clone() };
                let head_timeout = if is_reserved { RESERVED_HEAD_TIMEOUT } else { HEAD_TIMEOUT };
                let shutdown = shutdown.clone();
                tokio::spawn(async move {
                    connection(stream, router, shutdown, head_timeout).await;
                    drop(permit);
                });
            }
            Err(error) => {
                // Most likely the process has too many open files; some of them are closed soon.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let _ = open.acquire_many(MAX_CONNECTIONS as u32).await;
    let _ = reserved.acquire_many(RESERVED_CONNECTIONS as u32).await;
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn accept(listener: &Listener) -> std::io::Result<Box<dyn Stream>> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream))
        }
        Listener::Unix(listener) => Ok(Box::new(listener.accept().await?.0)),
    }
}

async fn connection(stream: Box<dyn Stream>, router: Router, shutdown: Shutdown, head_timeout: Duration) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let io = TokioIo::new(Box::pin(stream));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_timeout)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(io, TowerToHyperService::new(router))
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = shutdown.begun() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended early: {error}");
    }
}
