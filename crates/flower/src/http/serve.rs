//! Listening: over a unix socket for the command line, over loopback for everyone else. Slow and idle connections end.

use axum::{Extension, Router};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, watch};
use tokio_io_timeout::TimeoutStream;

/// Connections for all callers: a thousand live readers and some more.
const MOST_CONNECTIONS: usize = 3_584;
/// Beyond those, for the operator. Agents' calls on these are refused, so that no agent can take the last ones.
const KEPT_CONNECTIONS: usize = 512;

/// Marks requests on a connection that is kept for the operator.
#[derive(Clone, Copy)]
pub(super) struct KeptPlace;

/// From connecting, or from the end of an answer, to the last byte of a request's head.
const HEAD_DEADLINE: Duration = Duration::from_secs(10);
/// The same on a connection that is kept for the operator, whose callers have the request at hand.
const KEPT_HEAD_DEADLINE: Duration = Duration::from_secs(2);
/// A reader that takes nothing for this long is gone.
const WRITE_DEADLINE: Duration = Duration::from_secs(30);
/// Line and headers of a request; more is answered with 431.
const HEAD_BYTES: usize = 64 * 1024;

pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The order to end, which every long-running part hears.
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

/// Serves until the order to end comes; then accepts no more and waits for what is under way.
pub async fn serve(listener: Listener, router: Router, shutdown: Shutdown) {
    let open = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let kept = Arc::new(Semaphore::new(KEPT_CONNECTIONS));
    loop {
        let place = tokio::select! {
            biased;
            place = open.clone().acquire_owned() => place,
            place = kept.clone().acquire_owned() => place,
            () = shutdown.begun() => break,
        };
        let Ok(mut place) = place else { break };
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = shutdown.begun() => break,
        };
        match accepted {
            Ok(stream) => {
                // While it was waited for, another connection may have ended.
                if let Ok(free) = open.clone().try_acquire_owned() {
                    place = free;
                }
                let is_kept = Arc::ptr_eq(place.semaphore(), &kept);
                let router = if is_kept { router.clone().layer(Extension(KeptPlace)) } else { router.clone() };
                let deadline = if is_kept { KEPT_HEAD_DEADLINE } else { HEAD_DEADLINE };
                let shutdown = shutdown.clone();
                tokio::spawn(async move {
                    connection(stream, router, shutdown, deadline).await;
                    drop(place);
                });
            }
            Err(error) => {
                // Out of files, most likely: those we have come back sooner or later.
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    let _ = open.acquire_many(MOST_CONNECTIONS as u32).await;
    let _ = kept.acquire_many(KEPT_CONNECTIONS as u32).await;
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

async fn connection(stream: Box<dyn Stream>, router: Router, shutdown: Shutdown, head_deadline: Duration) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_DEADLINE));
    let io = TokioIo::new(Box::pin(stream));
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head_deadline)
        .max_buf_size(HEAD_BYTES)
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
