//! The outer process: starts the jail, ends it, and hands on how it ended.

use super::cgroup::Cgroup;
use super::failure::{During, Failure, Step, say};
use super::forward;
use super::init::{self, Setting};
use super::places;
use super::spec::{Network, Spec};
use super::support;
use super::sys::{self, Forked};
use super::terminal::{self, Foreground};
use super::{FAILED, init::exit_code};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, FlockOperation, flock};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::stdio::{stderr, stdin, stdout};
use rustix::thread::CapabilitySet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// From asking everything inside to end until it is ended.
const GRACE: Duration = Duration::from_millis(700);
/// Somebody else has the lock for themselves only for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// Runs the command in the jail that the file describes, and gives its exit code: its own, 128 and the signal, 127 if it is
/// not found, 126 if it cannot be run, 125 if there is no jail. There must be no other threads.
pub fn run(spec_file: &Path, lifeline: Option<RawFd>, command: &[OsString]) -> u8 {
    let attempt = || -> Step<u8> {
        let spec = Spec::load(spec_file).during_with(|| spec_file.display().to_string())?;
        let lifeline = lifeline.map(sys::inherited).transpose().during("lifeline")?;
        begin(&spec, lifeline.as_ref(), command)
    };
    attempt().unwrap_or_else(|failure| {
        say(failure);
        FAILED
    })
}

fn begin(spec: &Spec, lifeline: Option<&OwnedFd>, command: &[OsString]) -> Step<u8> {
    let terminal = terminal::shared();
    // A network namespace has its own abstract sockets; a session of its own has its own groups to signal.
    let scopes = spec.network != Network::Closed || terminal.is_some();
    let needed = if scopes { support::SCOPES } else { support::FILES };
    support::require_landlock(needed).map_err(|why| Failure::new("Landlock", why))?;
    refuse_folders_as_streams()?;
    let _lock = spec.lock.as_deref().map(hold).transpose()?;

    // With a terminal, its signals are for the command; this process must outlive them to say how it ended.
    let for_the_command = [libc::SIGINT, libc::SIGQUIT];
    let mut ending = vec![libc::SIGTERM, libc::SIGHUP];
    if terminal.is_none() {
        ending.extend(for_the_command);
    }
    let attended: Vec<i32> = ending.iter().copied().chain([libc::SIGCHLD]).collect();
    sys::block_signals(&attended).during("signals")?;
    // Ignored by a caller, it would also take away how the child ended.
    sys::restore_signal(libc::SIGCHLD).during("signals")?;
    let foreground = Foreground::note();
    let has_terminal = terminal.is_some();

    let user = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let own_user_namespace = !may_make_namespaces();
    // Before the fork, after which every page that is written to is copied first.
    let places = places::of(spec)?;
    let (ready, go) = pipe_with(PipeFlags::CLOEXEC).during("pipe")?;
    let forwards = spec.network == Network::Closed && !spec.forward.is_empty();
    let (inside, outside) = if forwards { Some(forward::pair().during("forwarded ports")?) } else { None }.unzip();
    let forked = sys::fork_into(namespaces(spec.network, own_user_namespace));
    let init = match forked.map_err(support::no_namespaces)? {
        Forked::Child => {
            drop(go);
            drop(inside);
            let setting = Setting { own_user_namespace, scopes, terminal, ready, outside, user, places };
            sys::exit_now(init::run(spec, setting, command).into())
        }
        Forked::Parent(init) => init,
    };
    drop(ready);
    drop(outside);
    if let Some(inside) = inside {
        forward::serve(inside);
    }
    if has_terminal {
        // Also while the keyboard is taken back, at the end.
        for signal in for_the_command.into_iter().chain([libc::SIGTTOU]) {
            sys::ignore_signal(signal).during("signals")?;
        }
    }
    let cgroup = Cgroup::around(init, &spec.limits);
    // If it has failed by now, its own words say so.
    let _ = rustix::io::write(&go, b"!");
    let code = attend(init, &attended, lifeline)?;
    foreground.restore();
    drop(cgroup);
    for overlay in &spec.overlays {
        // Overlayfs leaves a folder there that nobody may enter, so that not even its owner could remove it.
        let _ = fs::set_permissions(overlay.work.join("work"), fs::Permissions::from_mode(0o700));
    }
    Ok(code)
}

fn namespaces(network: Network, own_user_namespace: bool) -> i32 {
    let mut namespaces = libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC;
    if network == Network::Closed {
        namespaces |= libc::CLONE_NEWNET;
    }
    if own_user_namespace {
        namespaces |= libc::CLONE_NEWUSER;
    }
    namespaces
}

/// Otherwise a user namespace gives the right to.
fn may_make_namespaces() -> bool {
    let needed = CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP | CapabilitySet::NET_ADMIN;
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.effective.contains(needed))
}

/// From a folder everything around it could be reached by relative paths, without a right to open anything.
fn refuse_folders_as_streams() -> Step<()> {
    for (stream, name) in [(stdin(), "standard input"), (stdout(), "standard output"), (stderr(), "standard error")] {
        let stat = rustix::fs::fstat(stream).during(name)?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Err(Failure::new(name, "is a folder"));
        }
    }
    Ok(())
}

/// Held for as long as the file is open here.
fn hold(path: &Path) -> Step<File> {
    let file = File::open(path).during_with(|| path.display().to_string())?;
    let deadline = Instant::now() + LOCK_PATIENCE;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(errno) => return Err(errno).during_with(|| format!("lock {}", path.display())),
        }
    }
}

/// Waits for the end of the jail, and brings it about when asked to.
fn attend(init: Pid, attended: &[i32], lifeline: Option<&OwnedFd>) -> Step<u8> {
    let signals = sys::signal_fd(attended).during("signals")?;
    let mut killed_at: Option<Instant> = None;
    let mut lifeline = lifeline;
    loop {
        if let Some((_, status)) = waitpid(Some(init), WaitOptions::NOHANG).during("waiting for the jail")? {
            return Ok(exit_code(status));
        }
        let left = killed_at.map(|at| at.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            // The first process of a namespace takes all others with it.
            let _ = kill_process(init, Signal::KILL);
            let status = waitpid(Some(init), WaitOptions::empty()).during("waiting for the jail")?;
            return Ok(status.map_or(FAILED, |(_, status)| exit_code(status)));
        }
        let mut polled = vec![PollFd::new(&signals, PollFlags::IN)];
        // Closed is all that it can say; nothing is read from it.
        polled.extend(lifeline.map(|fd| PollFd::new(fd, PollFlags::empty())));
        let timeout = left.map(|left| Timespec::try_from(left).unwrap_or_default());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno).during("waiting for the jail"),
        }
        let let_go = polled.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let mut asked = let_go;
        while let Ok((signal, _)) = sys::try_read_signal(&signals) {
            asked |= signal != libc::SIGCHLD;
        }
        if let_go {
            lifeline = None;
        }
        if asked && killed_at.is_none() {
            let _ = kill_process(init, Signal::TERM);
            killed_at = Some(Instant::now() + GRACE);
        }
    }
}
