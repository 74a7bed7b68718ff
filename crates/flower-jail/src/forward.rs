//! Forwards ports of the host's loopback, such as flower's, into a jail with its own network. The listening sockets belong to
//! the jail's network; the outer process, in the host's network, accepts connections and copies the bytes.

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Open connections of one jail; an agent needs a few.
const MAX_CONNECTIONS: usize = 128;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A socket pair over which the jail sends its listening sockets to the outer process.
pub(super) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

/// In the jail: listens on each port and sends the sockets to the outer process.
pub(super) fn listen(ports: &[u16], outside: &OwnedFd) -> io::Result<()> {
    for port in ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let sockets = [listener.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&sockets));
        sendmsg(outside, &[IoSlice::new(&port.to_be_bytes())], &mut ancillary, SendFlags::empty())?;
    }
    Ok(())
}

/// In the outer process: receives the sockets and serves them until the process ends.
pub(super) fn serve(inside: OwnedFd) {
    thread::spawn(move || {
        let open = Arc::new(AtomicUsize::new(0));
        while let Ok(Some((listener, port))) = receive(&inside) {
            let open = open.clone();
            thread::spawn(move || accept(&listener, port, &open));
        }
    });
}

fn receive(inside: &OwnedFd) -> io::Result<Option<(TcpListener, u16)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut port = [0; 2];
    let got = recvmsg(inside, &mut [IoSliceMut::new(&mut port)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let sockets = ancillary.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(sockets) => Some(sockets),
        _ => None,
    });
    let socket = sockets.flatten().next().filter(|_| got.bytes == port.len());
    Ok(socket.map(|socket| (TcpListener::from(socket), u16::from_be_bytes(port))))
}

fn accept(listener: &TcpListener, port: u16, open: &Arc<AtomicUsize>) {
    for inner in listener.incoming() {
        let Ok(inner) = inner else {
            // Out of descriptors for now, or the network is gone.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let open = open.clone();
        thread::spawn(move || {
            if let Ok(outer) = TcpStream::connect_timeout(&(Ipv4Addr::LOCALHOST, port).into(), CONNECT_TIMEOUT) {
                copy_both_ways(&inner, &outer);
            }
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

/// Copies in both directions until both have ended.
fn copy_both_ways(inner: &TcpStream, outer: &TcpStream) {
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    thread::scope(|scope| {
        scope.spawn(|| copy(inner, outer));
        copy(outer, inner);
    });
}
