//! The system calls for which no crate of ours has a safe form. Everything `unsafe` is here.
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
    // jail starts before there are threads, so no lock is held by one that the child does not have.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0usize, 0usize, 0usize, 0usize) };
    check(pid)?;
    match i32::try_from(pid).ok().and_then(Pid::from_raw) {
        Some(pid) => Ok(Forked::Parent(pid)),
        None => Ok(Forked::Child),
    }
}

/// Makes a command leader of a session of its own, with the terminal on its standard input as the controlling one.
pub fn lead_session(command: &mut Command) {
    let lead = || {
        rustix::process::setsid()?;
        Ok(rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?)
    };
    // SAFETY: between fork and exec there are these two system calls and nothing else; neither takes a lock or memory.
    unsafe { command.pre_exec(lead) };
}

/// A descriptor that tasks can wait for. It must be one that does not block.
pub fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: it is open, and an owned one stays open and the same until it is dropped.
    Ok(unsafe { AsyncFd::register(fd) }?)
}

/// Ends this process without running anything on the way: after a fork that would be the caller's.
pub(super) fn exit_now(code: i32) -> ! {
    // SAFETY: it does not return, and touches no memory.
    unsafe { libc::_exit(code) }
}

/// Sets attributes (`MOUNT_ATTR_…`) of a mount, and of all mounts below it.
pub(super) fn set_mount_attributes(mount: BorrowedFd<'_>, set: u64, recursive: bool) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: set, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = libc::AT_EMPTY_PATH | if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a constant, the structure outlives the call and its size is its own.
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

/// Closes every descriptor from `first` on. Whoever owns one of them must not use it any more.
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
    // SAFETY: it is open, and nothing in this process, which has only just begun, owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Signals that wait until they are read from the descriptor of [`signal_fd`].
pub(super) fn block_signals(signals: &[i32]) -> io::Result<()> {
    let set = signal_set(signals);
    // SAFETY: both pointers are valid or null.
    check(libc::c_long::from(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut()) }))
}

/// Gives one [`libc::signalfd_siginfo`] per read for each of the signals, which must be blocked.
pub(super) fn signal_fd(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = signal_set(signals);
    // SAFETY: the set is valid.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(libc::c_long::from(fd))?;
    // SAFETY: it is new and ours.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next signal and its sender, who is 0 if this namespace does not see it; none if the time is over.
pub(super) fn read_signal(signals: &OwnedFd, within: Duration) -> io::Result<Option<(i32, u32)>> {
    let within = rustix::event::Timespec::try_from(within).map_err(io::Error::other)?;
    let mut polled = [rustix::event::PollFd::new(signals, rustix::event::PollFlags::IN)];
    match rustix::event::poll(&mut polled, Some(&within)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(None),
        Ok(_) => try_read_signal(signals).map(Some),
        Err(errno) => Err(errno.into()),
    }
}

/// The same, if there is one.
pub(super) fn try_read_signal(signals: &OwnedFd) -> io::Result<(i32, u32)> {
    let mut info = [0; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(signals, &mut info)?;
    // Four bytes each: the signal, its error number, its code, its sender.
    let word =
        |at: usize| info[..length].get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes);
    match (word(0), word(12)) {
        (Some(signal), Some(sender)) => Ok((i32::try_from(signal).unwrap_or_default(), sender)),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn signal_set(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: `sigemptyset` makes the zeroed set valid, and unknown numbers are only refused.
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

/// As for a process that a login shell starts, except that an end that is asked for is noted: see [`end_was_asked`].
pub(super) fn default_signals() {
    for signal in 1..=64 {
        // Some cannot be changed; these are at their default.
        let _ = restore_signal(signal);
    }
    let _ = note_end();
    let _ = block_signals(&[]);
}

static END_WAS_ASKED: AtomicBool = AtomicBool::new(false);

/// Whether SIGTERM came from outside of this namespace while it was not blocked. The first process of a namespace never gets
/// a signal that it has no handler for, so that one which comes before it attends to signals would be lost. A command that is
/// started does not inherit the handler.
pub(super) fn end_was_asked() -> bool {
    END_WAS_ASKED.load(Ordering::SeqCst)
}

fn note_end() -> io::Result<()> {
    extern "C" fn note(_: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
        // SAFETY: the kernel gives a valid pointer, and a sender with each SIGTERM.
        if unsafe { (*info).si_pid() } == 0 {
            END_WAS_ASKED.store(true, Ordering::SeqCst);
        }
    }
    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = note;
    // SAFETY: a zeroed action is valid, and the handler does nothing but store.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        check(libc::c_long::from(libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut())))
    }
}

fn disposition(signal: i32, handler: libc::sighandler_t) -> io::Result<()> {
    // SAFETY: the structure is valid when zeroed, and the handler is one of the two constants, not code.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler;
        check(libc::c_long::from(libc::sigaction(signal, &raw const action, std::ptr::null_mut())))
    }
}

/// To every process that can be seen, but not to this one.
pub(super) fn signal_all(signal: i32) {
    // SAFETY: touches no memory. Nobody left to signal is no mistake.
    let _ = unsafe { libc::kill(-1, signal) };
}

/// Brings the loopback of this network namespace up.
pub(super) fn raise_loopback(socket: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the structure is valid when zeroed; the name fits with its final zero; the kernel reads no more than it.
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
    // SAFETY: with this flag the kernel takes no structure.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<libc::c_void>(), 0usize, VERSION) };
    check(version)?;
    i32::try_from(version).map_err(io::Error::other)
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
