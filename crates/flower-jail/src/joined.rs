//! A jail's connection to the daemon that keeps its network. The daemon forwards connections out of the network as long as a jail
//! holds this connection.

use super::error::{Context, SetupError, SetupResult};
use super::network::{self, NetworkNamespace};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The daemon answers at once, later on an overloaded machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Between attempts to reach a daemon that has ended.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// First byte of the daemon's answer if the network exists; the descriptors come with it. Otherwise the answer is the reason.
pub const JOINED: u8 = b'+';

pub(super) struct JoinedNetwork {
    socket: PathBuf,
    request: String,
    pub(super) namespace: NetworkNamespace,
    connection: Option<UnixStream>,
    retry_at: Instant,
}

impl JoinedNetwork {
    /// Asks the daemon behind `socket` for a network.
    pub(super) fn join(socket: &Path, request: &str) -> SetupResult<JoinedNetwork> {
        let connection = connect(socket).map_err(|error| {
            SetupError::new("network", format!("the daemon cannot be reached: {error}; start it with `flower up`"))
        })?;
        network::send(connection.as_fd(), request.as_bytes(), &[]).context("network")?;
        let (answer, fds) = network::receive(connection.as_fd()).context("network")?;
        let namespace = match answer.first() {
            Some(&JOINED) => NetworkNamespace::from_descriptors(fds),
            Some(_) => return Err(SetupError::new("network", String::from_utf8_lossy(&answer))),
            None => None,
        };
        let namespace = namespace.ok_or_else(|| SetupError::new("network", "the daemon has ended; start it again"))?;
        let (socket, request) = (socket.to_owned(), request.to_owned());
        Ok(JoinedNetwork { socket, request, namespace, connection: Some(connection), retry_at: Instant::now() })
    }

    /// The connection to wait on; it becomes readable when the daemon ends.
    pub(super) fn connection(&self) -> Option<&UnixStream> {
        self.connection.as_ref()
    }

    /// How long to wait until [`JoinedNetwork::reconnect`] has something to do, if the daemon is gone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.connection.is_none().then(|| self.retry_at.saturating_duration_since(Instant::now()))
    }

    pub(super) fn disconnected(&mut self) {
        self.connection = None;
        self.retry_at = Instant::now() + RETRY_INTERVAL;
    }

    /// Hands the network to the daemon that has taken the place of the one that ended, so that it forwards connections again.
    pub(super) fn reconnect(&mut self) {
        if self.retry_after().is_none_or(|left| !left.is_zero()) {
            return;
        }
        let offer = || -> io::Result<UnixStream> {
            let connection = connect(&self.socket)?;
            self.namespace.send(&connection, self.request.as_bytes())?;
            let (answer, _) = network::receive(connection.as_fd())?;
            if answer.first() == Some(&JOINED) { Ok(connection) } else { Err(io::ErrorKind::NotFound.into()) }
        };
        match offer() {
            Ok(connection) => self.connection = Some(connection),
            Err(_) => self.disconnected(),
        }
    }
}

fn connect(socket: &Path) -> io::Result<UnixStream> {
    let (_folder, short) = short_path(socket)?;
    let connection = UnixStream::connect(short)?;
    set_socket_timeout(&connection, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
    Ok(connection)
}

/// A path to the same file that fits into a socket address, and the open folder that keeps this path valid.
pub fn short_path(path: &Path) -> io::Result<(Option<OwnedFd>, PathBuf)> {
    /// `sun_path` without its final NUL.
    const MAX_LENGTH: usize = 107;
    if path.as_os_str().len() <= MAX_LENGTH {
        return Ok((None, path.to_owned()));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = OwnedFd::from(std::fs::File::open(folder)?);
    let short = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((Some(folder), short))
}
