//! The outer process: starts the jail, ends it on request and returns its exit code.

use super::cgroup::Cgroup;
use super::error::{Context, SetupError, SetupResult, report};
use super::init::{self, InitConfig};
use super::joined::JoinedNetwork;
use super::mount_plan;
use super::network::NetworkNamespace;
use super::spec::{Network, Spec};
use super::support;
use super::sys::{self, Forked};
use super::terminal::{self, Foreground};
use super::{EXIT_JAIL_FAILED, init::exit_code};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, FlockOperation, flock};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::thread::CapabilitySet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Between asking the jail to end and killing it.
const TERMINATE_TIMEOUT: Duration = Duration::from_millis(700);
/// Exclusive locks on this file are held for moments only.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs the command in the jail that the file describes and returns the exit code: that of the command, 128 plus the signal, 127
/// if the command is not found, 126 if it cannot be run, 125 if the jail failed. Must be called without other threads.
pub fn run(spec_file: &Path, lifeline: Option<RawFd>, command: &[OsString]) -> u8 {
    let attempt = || -> SetupResult<u8> {
        let spec = Spec::load(spec_file).with_context(|| spec_file.display().to_string())?;
        let lifeline = lifeline.map(sys::inherited).transpose().context("lifeline")?;
        start_jail(&spec, lifeline.as_ref(), command)
    };
    attempt().unwrap_or_else(|failure| {
        report(failure);
        EXIT_JAIL_FAILED
    })
}

fn start_jail(spec: &Spec, lifeline: Option<&OwnedFd>, command: &[OsString]) -> SetupResult<u8> {
    let terminal = terminal::shared();
    // Abstract sockets are per network namespace; without a terminal the jail has its own session and process groups.
    let scopes = spec.network == Network::Host || terminal.is_some();
    let needed = if scopes { support::LANDLOCK_SCOPES } else { support::LANDLOCK_FILES };
    support::require_landlock(needed).map_err(|why| SetupError::new("Landlock", why))?;
    reject_folders_as_streams()?;
    let _lock = spec.lock.as_deref().map(lock_shared).transpose()?;

    // Signals from a terminal are for the command; this process must survive them to return the exit code.
    let command_signals = [libc::SIGINT, libc::SIGQUIT];
    let mut ending = vec![libc::SIGTERM, libc::SIGHUP];
    if terminal.is_none() {
        ending.extend(command_signals);
    }
    let handled: Vec<i32> = ending.iter().copied().chain([libc::SIGCHLD]).collect();
    sys::block_signals(&handled).context("signals")?;
    // If a caller ignored SIGCHLD, the exit status of the child would be lost.
    sys::restore_signal(libc::SIGCHLD).context("signals")?;
    let foreground = Foreground::current();
    let has_terminal = terminal.is_some();

    let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let own_user_namespace = !can_create_namespaces();
    // Before the fork, after which each write to a page copies it.
    let mount_plan = mount_plan::from_spec(spec)?;
    let (ready, go) = pipe_with(PipeFlags::CLOEXEC).context("pipe")?;
    let mut joined = match &spec.network {
        Network::Joined { socket, request } => Some(JoinedNetwork::join(socket, request)?),
        Network::Own | Network::Host => None,
    };
    let flags = namespaces(&spec.network, own_user_namespace);
    let owned = joined.as_ref().map(|joined| &joined.namespace).filter(|namespace| namespace.has_owner());
    let forked = owned.map_or_else(|| sys::fork_into(flags), |namespace| fork_inside(namespace, flags));
    let init = match forked.map_err(support::namespace_error)? {
        Forked::Child => {
            drop(go);
            // A privileged process enters the network by itself; any other was started in it.
            let network = joined.map(|joined| joined.namespace).filter(|namespace| !namespace.has_owner());
            let config = InitConfig { own_user_namespace, scopes, terminal, ready, network, user, mount_plan };
            sys::exit_now(init::run(spec, config, command).into())
        }
        Forked::Parent(init) => init,
    };
    drop(ready);
    if has_terminal {
        // SIGTTOU would stop this process when it takes the terminal back at the end.
        for signal in command_signals.into_iter().chain([libc::SIGTTOU]) {
            sys::ignore_signal(signal).context("signals")?;
        }
    }
    let cgroup = Cgroup::create_for(init, &spec.limits);
    // If the jail has failed by now, it has reported the reason itself.
    let _ = rustix::io::write(&go, b"!");
    let code = supervise(init, &handled, lifeline, joined.as_mut())?;
    foreground.restore();
    drop(cgroup);
    for overlay in &spec.overlays {
        // Overlayfs leaves a folder with mode 000, which its owner could not remove.
        let _ = fs::set_permissions(overlay.work.join("work"), fs::Permissions::from_mode(0o700));
    }
    Ok(code)
}

/// A fork whose child is in a network that belongs to another user namespace. Only a process in that user namespace can enter the
/// network, and no process can return from it, so a process in between enters. It makes the child a child of this process.
fn fork_inside(network: &NetworkNamespace, flags: i32) -> io::Result<Forked> {
    let (mut reader, mut writer) = io::pipe()?;
    match sys::fork_into(0)? {
        Forked::Child => {
            drop(reader);
            let forked = network.enter().and_then(|()| sys::fork_into(flags | libc::CLONE_PARENT));
            let answer = match forked {
                Ok(Forked::Child) => return Ok(Forked::Child),
                Ok(Forked::Parent(init)) => init.as_raw_nonzero().get(),
                Err(error) => -error.raw_os_error().unwrap_or(libc::EIO),
            };
            let sent = writer.write_all(&answer.to_ne_bytes());
            sys::exit_now(i32::from(sent.is_err()))
        }
        Forked::Parent(between) => {
            drop(writer);
            let mut answer = [0; 4];
            let read = reader.read_exact(&mut answer);
            let _ = waitpid(Some(between), WaitOptions::empty());
            read?;
            match i32::from_ne_bytes(answer) {
                errno @ ..=0 => Err(io::Error::from_raw_os_error(-errno)),
                pid => Pid::from_raw(pid).map(Forked::Parent).ok_or_else(|| io::ErrorKind::InvalidData.into()),
            }
        }
    }
}

fn namespaces(network: &Network, own_user_namespace: bool) -> i32 {
    let mut namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if *network == Network::Own {
        namespaces |= libc::CLONE_NEWNET;
    }
    if own_user_namespace {
        namespaces |= libc::CLONE_NEWUSER;
    }
    namespaces
}

/// If not, a new user namespace gives the right to.
pub(super) fn can_create_namespaces() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP | CapabilitySet::NET_ADMIN;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// Rejects a folder as a standard stream: relative to it, paths outside the jail could be opened.
fn reject_folders_as_streams() -> SetupResult<()> {
    for (stream, name) in [(stdin(), "standard input"), (stdout(), "standard output"), (stderr(), "standard error")] {
        let stat = rustix::fs::fstat(stream).context(name)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Err(SetupError::new(name, "is a folder"));
        }
    }
    Ok(())
}

/// Takes a shared lock, which lasts as long as the returned file is open.
fn lock_shared(path: &Path) -> SetupResult<File> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(errno) => return Err(errno).with_context(|| format!("lock {}", path.display())),
        }
    }
}

/// Waits for the end of the jail, and ends it on a signal or when the lifeline closes. Meanwhile keeps the daemon connected to the
/// network of the jail.
fn supervise(
    init: Pid,
    handled: &[i32],
    lifeline: Option<&OwnedFd>,
    mut network: Option<&mut JoinedNetwork>,
) -> SetupResult<u8> {
    let signals = sys::signal_fd(handled).context("signals")?;
    let mut kill_at: Option<Instant> = None;
    let mut lifeline = lifeline;
    loop {
        if let Some((_, status)) = waitpid(Some(init), WaitOptions::NOHANG).context("waiting for the jail")? {
            return Ok(exit_code(status));
        }
        let left = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            // The kernel kills all other processes of the namespace with its first.
            let _ = kill_process(init, Signal::KILL);
            let status = waitpid(Some(init), WaitOptions::empty()).context("waiting for the jail")?;
            return Ok(status.map_or(EXIT_JAIL_FAILED, |(_, status)| exit_code(status)));
        }
        if let Some(network) = &mut network {
            network.reconnect();
        }
        let connection = network.as_ref().and_then(|network| network.connection());
        let mut polled = vec![PollFd::new(&signals, PollFlags::IN)];
        // Only the closing of the lifeline matters; no data is read from it.
        polled.extend(lifeline.map(|fd| PollFd::new(fd, PollFlags::empty())));
        polled.extend(connection.map(|fd| PollFd::new(fd, PollFlags::IN)));
        let retry = network.as_ref().and_then(|network| network.retry_after());
        let timeout = left.into_iter().chain(retry).min().map(|left| Timespec::try_from(left).unwrap_or_default());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno).context("waiting for the jail"),
        }
        let closed = |at: usize| polled.get(at).is_some_and(|fd| !fd.revents().is_empty());
        let lifeline_closed = lifeline.is_some() && closed(1);
        // The daemon sends nothing after its answer, so only its end makes the connection readable.
        let daemon_ended = connection.is_some() && closed(1 + usize::from(lifeline.is_some()));
        if daemon_ended && let Some(network) = &mut network {
            network.disconnected();
        }
        let mut asked = lifeline_closed;
        while let Ok((signal, _)) = sys::try_read_signal(&signals) {
            asked |= signal != libc::SIGCHLD;
        }
        if lifeline_closed {
            lifeline = None;
        }
        if asked && kill_at.is_none() {
            let _ = kill_process(init, Signal::TERM);
            kill_at = Some(Instant::now() + TERMINATE_TIMEOUT);
        }
    }
}
