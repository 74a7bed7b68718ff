//! Network namespaces that several jails share. The daemon creates one, keeps it alive by its descriptors, listens in it, and hands
//! the descriptors to each jail that joins (`joined.rs`).
//!
//! Sockets belong to the namespace in which they were made. So a short-lived process, `flower network-namespace`, enters the
//! namespace, makes the listening sockets and sends them to the daemon, which accepts connections without entering it.

use super::error::{Context, SetupError, SetupResult};
use super::support;
use super::sys;
use rustix::io::retry_on_intr;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Creating a namespace takes milliseconds, longer on an overloaded machine.
const HELPER_TIMEOUT: Duration = Duration::from_secs(10);
/// Larger than any request or answer of the helper.
const MAX_MESSAGE: usize = 16 << 10;
/// Sockets that one request may ask for.
pub const MAX_LISTENERS: usize = 128;

/// The descriptors with which a process enters a network namespace.
#[derive(Debug)]
pub struct NetworkNamespace {
    network: OwnedFd,
    /// The user namespace that owns the network. None if it was made by a privileged process, which enters without one.
    owner: Option<OwnedFd>,
}

#[derive(Serialize, Deserialize)]
struct Request {
    /// Each is answered with a listening socket, or left out if the machine has no such address.
    listen: Vec<SocketAddr>,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    /// Comes with the descriptors of the namespace.
    Namespace,
    /// Comes with a socket that listens at this address.
    Listening(SocketAddr),
    Failed(String),
    Done,
}

impl NetworkNamespace {
    /// Makes a namespace with a loopback device, and sockets that listen in it. `flower` is the program to start as helper. Blocks.
    pub fn create(flower: &Path, listen: &[SocketAddr]) -> io::Result<(NetworkNamespace, Vec<TcpListener>)> {
        let (made, listeners) = ask_helper(flower, listen, None)?;
        made.map(|made| (made, listeners)).ok_or_else(|| io::Error::other("the helper sent no namespace"))
    }

    /// Makes sockets that listen in this namespace. Blocks.
    pub fn listen(&self, flower: &Path, listen: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
        ask_helper(flower, listen, Some(self)).map(|(_, listeners)| listeners)
    }

    /// Sends the descriptors with the bytes `message` over a unix socket.
    pub fn send(&self, socket: impl AsFd, message: &[u8]) -> io::Result<()> {
        let mut fds = vec![self.network.as_fd()];
        fds.extend(self.owner.as_ref().map(AsFd::as_fd));
        send(socket.as_fd(), message, &fds)
    }

    /// The namespace whose descriptors came with a message; none if none came.
    pub fn from_descriptors(fds: Vec<OwnedFd>) -> Option<NetworkNamespace> {
        let mut fds = fds.into_iter();
        fds.next().map(|network| NetworkNamespace { network, owner: fds.next() })
    }

    /// A second handle of the same namespace.
    pub fn try_clone(&self) -> io::Result<NetworkNamespace> {
        let owner = self.owner.as_ref().map(OwnedFd::try_clone).transpose()?;
        Ok(NetworkNamespace { network: self.network.try_clone()?, owner })
    }

    /// A number that no other living network namespace has.
    pub fn id(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.network)?.st_ino)
    }

    pub(super) fn has_owner(&self) -> bool {
        self.owner.is_some()
    }

    /// Moves this process, which must have one thread, into the namespace.
    pub(super) fn enter(&self) -> io::Result<()> {
        if let Some(owner) = &self.owner {
            move_into_link_name_space(owner.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        Ok(move_into_link_name_space(self.network.as_fd(), Some(LinkNameSpaceType::Network))?)
    }

    fn of_this_process(has_owner: bool) -> io::Result<NetworkNamespace> {
        let open = |name: &str| File::open(Path::new("/proc/self/ns").join(name)).map(OwnedFd::from);
        Ok(NetworkNamespace { network: open("net")?, owner: has_owner.then(|| open("user")).transpose()? })
    }
}

fn ask_helper(
    flower: &Path,
    listen: &[SocketAddr],
    existing: Option<&NetworkNamespace>,
) -> io::Result<(Option<NetworkNamespace>, Vec<TcpListener>)> {
    if listen.len() > MAX_LISTENERS {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("more than {MAX_LISTENERS} addresses")));
    }
    let (ours, theirs) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    rustix::net::sockopt::set_socket_timeout(&ours, rustix::net::sockopt::Timeout::Recv, Some(HELPER_TIMEOUT))?;
    let mut helper = Command::new(flower)
        .arg("network-namespace")
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let request = serde_json::to_vec(&Request { listen: listen.to_vec() })?;
    let talk = || {
        match existing {
            Some(existing) => existing.send(&ours, &request)?,
            None => send(ours.as_fd(), &request, &[])?,
        }
        let (mut namespace, mut listeners) = (None, Vec::new());
        loop {
            let (message, fds) = receive(ours.as_fd())?;
            match serde_json::from_slice(&message)? {
                Answer::Namespace => namespace = NetworkNamespace::from_descriptors(fds),
                Answer::Listening(_) => listeners.extend(fds.into_iter().map(TcpListener::from)),
                Answer::Failed(reason) => return Err(io::Error::other(reason)),
                Answer::Done => return Ok((namespace, listeners)),
            }
        }
    };
    let result = talk();
    // It has nothing left to do, or hangs.
    let _ = helper.kill();
    let _ = helper.wait();
    result
}

/// The helper `flower network-namespace`: answers one request on standard input, which is a socket. Must be called without other
/// threads. Returns the exit code.
pub fn run_network_helper() -> u8 {
    let socket = rustix::stdio::stdin();
    let answer = |answer: &Answer, fds: &[BorrowedFd<'_>]| {
        serde_json::to_vec(answer).map_err(io::Error::from).and_then(|message| send(socket, &message, fds))
    };
    let result = answer_request(socket, answer);
    match result {
        Ok(()) => 0,
        Err(error) => {
            let _ = answer(&Answer::Failed(error.to_string()), &[]);
            1
        }
    }
}

fn answer_request(
    socket: BorrowedFd<'_>,
    answer: impl Fn(&Answer, &[BorrowedFd<'_>]) -> io::Result<()>,
) -> SetupResult<()> {
    let (message, fds) = receive(socket).context("request")?;
    let request: Request = serde_json::from_slice(&message).context("request")?;
    match NetworkNamespace::from_descriptors(fds) {
        Some(existing) => existing.enter().map_err(support::namespace_error)?,
        None => {
            let made = create_here()?;
            let mut fds = vec![made.network.as_fd()];
            fds.extend(made.owner.as_ref().map(AsFd::as_fd));
            answer(&Answer::Namespace, &fds).context("answer")?;
        }
    }
    for address in request.listen {
        let listener = match TcpListener::bind(address) {
            Ok(listener) => listener,
            // The machine has no IPv6.
            Err(_) if address.is_ipv6() => continue,
            Err(error) => return Err(SetupError::new(address.to_string(), error)),
        };
        answer(&Answer::Listening(address), &[listener.as_fd()]).context("answer")?;
    }
    answer(&Answer::Done, &[]).context("answer")
}

/// Moves this process into a new network namespace.
fn create_here() -> SetupResult<NetworkNamespace> {
    let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let has_owner = !super::run::can_create_namespaces();
    sys::unshare_network(has_owner).map_err(support::namespace_error)?;
    if has_owner {
        super::init::map_user(user).map_err(support::namespace_error)?;
    }
    bring_up_loopback().context("loopback")?;
    NetworkNamespace::of_this_process(has_owner).context("namespace")
}

/// Brings up the loopback device of this process's network, and lets every process in it listen on any port.
pub(super) fn bring_up_loopback() -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    sys::bring_up_loopback(socket.as_fd())?;
    // Ports below 1024 are a convention of machines with several users. Where it cannot be changed, they stay reserved.
    let _ = fs::write("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0");
    Ok(())
}

/// Sends one message with descriptors.
pub(super) fn send(socket: BorrowedFd<'_>, message: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(fds)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    retry_on_intr(|| sendmsg(socket, &[IoSlice::new(message)], &mut ancillary, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Receives one message and the descriptors that came with it. An empty message means that the other side is gone.
pub fn receive(socket: BorrowedFd<'_>) -> io::Result<(Vec<u8>, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut message = vec![0; MAX_MESSAGE];
    // With a time limit on the socket, every signal to this thread, such as the end of another child, interrupts the call.
    let got = retry_on_intr(|| {
        recvmsg(socket, &mut [IoSliceMut::new(&mut message)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
    })?;
    message.truncate(got.bytes);
    let fds = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => Some(fds),
        _ => None,
    });
    Ok((message, fds.flatten().collect()))
}
