//! System calls without a safe wrapper in the dependencies. All `unsafe` code is here.
#![expect(unsafe_code, reason = "forks, namespaces, signals and mount attributes have no safe form in rustix")]

use rustix::process::Pid;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::unix::AsyncFd;

pub(super) enum Forked {
    Parent(Pid),
    Child,
}

/// A fork whose child is the first process of new namespaces (`CLONE_NEW…`). Unlike `unshare`, it leaves the caller where
/// it is.
pub(super) fn fork_into(namespaces: libc::c_int) -> io::Result<Forked> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    // SAFETY: without `CLONE_VM` and with no stack of its own the child runs on a copy of everything, as after fork. The
    // jail starts before there are threads, so no other thread holds a lock that the child would wait for.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) };
    check(pid)?;
    match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(pid) => Ok(Forked::Parent(pid)),
        None => Ok(Forked::Child),
    }
}

/// Moves this process into a new network namespace, and before that into a new user namespace that owns it. No thread but the
/// calling one may exist.
pub(super) fn unshare_network(with_user: bool) -> io::Result<()> {
    let flags = libc::CLONE_NEWNET | if with_user { libc::CLONE_NEWUSER } else { 0 };
    // SAFETY: neither flag affects memory or descriptors.
    check(libc::c_long::from(unsafe { libc::unshare(flags) }))
}

/// Makes a command the leader of a new session, with the terminal on its standard input as controlling terminal.
pub fn lead_session(command: &mut Command) {
    let lead = || {
        rustix::process::setsid()?;
        Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
    };
    // SAFETY: only these two system calls run between fork and exec; neither takes a lock or allocates.
    unsafe { command.pre_exec(lead) };
}

/// A descriptor for which tasks can wait. It must be non-blocking.
pub fn async_fd(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an owned descriptor stays open and the same until it is dropped.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

/// Exits without running exit handlers, which after a fork belong to the parent.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: the call does not return and accesses no memory.
    unsafe { libc::_exit(code) }
}

/// Sets attributes (`MOUNT_ATTR_…`) of a mount, and of all mounts below it.
pub(super) fn set_mount_attributes(mount: BorrowedFd<'_>, set: u64, recursive: bool) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a constant; the structure outlives the call and its size is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    check(result)
}

/// Closes all descriptors from `first` on. Values that own one of them must not be used or dropped afterwards.
pub(super) fn close_from(first: RawFd) -> io::Result<()> {
    let first = libc::c_uint::try_from(first).map_err(io::Error::other)?;
    // SAFETY: the callers are about to end or have forgotten all their descriptors.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) })
}

/// Takes over a descriptor that was inherited by number.
pub(super) fn inherited(fd: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: a query without memory.
    check(libc::c_long::from(unsafe { libc::fcntl(fd, libc::F_GETFD) }))?;
    if fd <= 2 {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // SAFETY: the descriptor is open, and no other value owns it, because the process has just started.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Blocks signals, which are then read from the descriptor of [`signal_fd`].
pub(super) fn block_signals(signals: &[i32]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: both pointers are valid or null.
    check(libc::c_long::from(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) }))
}

/// A descriptor that yields one [`libc::signalfd_siginfo`] per received signal. The signals must be blocked.
pub(super) fn signal_fd(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: the set is valid.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(libc::c_long::from(fd))?;
    // SAFETY: the descriptor is new, and no other value owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next signal and the process id of its sender, which is 0 for a sender outside this namespace; none after a timeout.
pub(super) fn read_signal(signals: &OwnedFd, within: Duration) -> io::Result<Option<(i32, u32)>> {
    let within = rustix::event::Timespec::try_from(within).map_err(io::Error::other)?;
    let mut polled = [rustix::event::PollFd::new(signals, rustix::event::PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&within)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
        Ok(_) => try_read_signal(signals).map(Some),
        Err(errno) => Err(errno.into()),
    }
}

/// Like [`read_signal`], without waiting.
pub(super) fn try_read_signal(signals: &OwnedFd) -> io::Result<(i32, u32)> {
    let mut info = [0; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(signals, &mut info)?;
    // Four bytes each: signal, error number, code, sender.
    let word =
        |at: usize| info[..length].get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    match (word(0), word(12)) {
        (Some(signal), Some(sender)) => Ok((i32::try_from(signal).unwrap_or_default(), sender)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: `sigemptyset` makes the zeroed set valid; `sigaddset` rejects unknown numbers.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

pub(super) fn ignore_signal(signal: i32) -> io::Result<()> {
    disposition(signal, libc::SIG_IGN)
}

pub(super) fn restore_signal(signal: i32) -> io::Result<()> {
    disposition(signal, libc::SIG_DFL)
}

/// Sets all signals to their default, except that SIGTERM is recorded: see [`termination_requested`].
pub(super) fn reset_signals() {
    for signal in 1..=64 {
        // Signals that cannot be changed have their default already.
        let _ = restore_signal(signal);
    }
    let _ = record_sigterm();
    let _ = block_signals(&[]);
}

static TERMINATION_REQUESTED: AtomicBool = AtomicBool::new(false);

/// Whether SIGTERM came from outside this namespace while it was not blocked. The kernel drops signals to the first process of
/// a namespace that have no handler, so without one an early SIGTERM would be lost. The command does not inherit the handler.
pub(super) fn termination_requested() -> bool {
    TERMINATION_REQUESTED.load(Ordering::SeqCst)
}

fn record_sigterm() -> io::Result<()> {
    extern "C" fn note(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel passes a valid pointer, and SIGTERM has a sender.
        if unsafe { (*info).si_pid() } == 0 {
            TERMINATION_REQUESTED.store(true, Ordering::SeqCst);
        }
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = note;
    // SAFETY: a zeroed action is valid, and the handler only stores to an atomic.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        check(libc::c_long::from(libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut())))
    }
}

fn disposition(signal: i32, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: a zeroed structure is valid, and the handler is `SIG_IGN` or `SIG_DFL`.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        check(libc::c_long::from(libc::sigaction(signal, &raw const action, std::ptr::null_mut())))
    }
}

/// Sends a signal to all processes of this namespace but this one.
pub(super) fn signal_all(signal: i32) {
    // SAFETY: accesses no memory. It is not an error if there are no processes.
    let _ = unsafe { libc::kill(-1, signal) };
}

/// Brings up the loopback device of this network namespace.
pub(super) fn bring_up_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: a zeroed structure is valid, the name fits with its final zero, and the kernel reads only the structure.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = libc::c_char::try_from(*from).unwrap_or_default();
        }
        request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or_default();
        check(libc::c_long::from(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request)))
    }
}

/// The version of Landlock in this kernel.
pub(super) fn landlock_version() -> io::Result<i32> {
    const VERSION: libc::c_uint = 1;
    // SAFETY: with this flag the kernel reads no structure.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION) };
    check(version)?;
    i32::try_from(version).map_err(io::Error::other)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
