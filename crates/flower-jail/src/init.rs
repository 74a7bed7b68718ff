//! The first process in the jail: builds the jail, starts the command and remains its parent.

use super::error::{Context, SetupError, SetupResult, report};
use super::mount_plan::MountPlan;
use super::network::{self, NetworkNamespace};
use super::resource_monitor::ResourceMonitor;
use super::root::RootConfig;
use super::spec::{Network, Spec};
use super::sys;
use super::terminal::Terminal;
use super::{EXIT_JAIL_FAILED, EXIT_LIMIT_EXCEEDED, landlock_rules, limits, privileges, root, seccomp, support};
use rustix::fs::Access;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// What the outer process determined before the fork.
pub(super) struct InitConfig {
    pub(super) own_user_namespace: bool,
    /// Landlock must restrict signals and abstract sockets.
    pub(super) scopes: bool,
    /// The caller's terminal.
    pub(super) terminal: Option<Terminal>,
    /// Yields one byte when the outer process is ready, or end-of-file if it is gone.
    pub(super) ready: OwnedFd,
    /// The network to enter, unless this process was started in it.
    pub(super) network: Option<NetworkNamespace>,
    pub(super) user: (u32, u32),
    pub(super) mount_plan: MountPlan,
}

/// Runs in the child of the fork and returns the exit code of the jail.
pub(super) fn run(spec: &Spec, config: InitConfig, command: &[OsString]) -> u8 {
    match prepare(spec, config) {
        Ok(monitor) => start(spec, command).map_or_else(|code| code, |command| supervise(command, monitor)),
        Err(failure) => {
            report(failure);
            EXIT_JAIL_FAILED
        }
    }
}

fn prepare(spec: &Spec, config: InitConfig) -> SetupResult<ResourceMonitor> {
    // If the outer process is killed, so is this one, and with it all processes in the jail.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).context("parent death signal")?;
    // The command inherits dispositions, and must not ignore the signals that the caller ignores. This process itself, as the
    // first of its namespace, is ended by no signal that it does not handle.
    sys::reset_signals();
    if config.terminal.is_none() {
        // Then signals to the process group and `/dev/tty` reach no process outside.
        rustix::process::setsid().context("session")?;
    }
    if config.own_user_namespace {
        map_user(config.user).map_err(support::namespace_error)?;
    }
    match config.network {
        Some(network) => network.enter().context("network")?,
        None if spec.network == Network::Own => network::bring_up_loopback().context("loopback")?,
        None => {}
    }
    limits::raise_oom_score()?;
    let root_config = RootConfig {
        limits: &spec.limits,
        own_user_namespace: config.own_user_namespace,
        terminal: config.terminal.as_ref().and_then(|terminal| terminal.path.as_deref()),
    };
    root::build(&config.mount_plan, &root_config)?;
    limits::apply(&spec.limits)?;
    let mut byte = [0];
    let mut ready = fs::File::from(config.ready);
    // The outer process was killed before the death signal was set.
    if ready.read(&mut byte).context("waiting for the outer process")? == 0 {
        sys::exit_now(EXIT_JAIL_FAILED.into());
    }
    drop(ready);
    privileges::close_descriptors()?;
    let monitor = ResourceMonitor::new(&spec.limits, &config.mount_plan)?;
    privileges::drop_capabilities()?;
    privileges::hide_memory()?;
    rustix::process::chdir(&spec.dir).with_context(|| spec.dir.display().to_string())?;
    landlock_rules::apply(&config.mount_plan, config.scopes)?;
    seccomp::apply()?;
    Ok(monitor)
}

/// Maps the user and group to the same ids as outside.
pub(super) fn map_user((user, group): (u32, u32)) -> io::Result<()> {
    // Otherwise a process could leave a group whose membership denies it access.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Starts the command; on failure returns the exit code.
fn start(spec: &Spec, command: &[OsString]) -> Result<Pid, u8> {
    let program = command.first().ok_or(EXIT_JAIL_FAILED)?;
    let passed = spec.pass_env.iter().filter_map(|name| std::env::var_os(name).map(|value| (name, value)));
    let mut env: BTreeMap<&str, OsString> = passed
        .map(|(name, value)| (name.as_str(), value))
        .chain(spec.env.iter().map(|(name, value)| (name.as_str(), value.into())))
        .collect();
    if !spec.programs.is_empty() {
        let path = env.remove("PATH").filter(|path| !path.is_empty());
        let folders = path.iter().flat_map(std::env::split_paths).chain(spec.programs.iter().cloned());
        let joined = std::env::join_paths(folders).ok().or(path.clone());
        env.extend(joined.map(|joined| ("PATH", joined)));
    }
    let path = env.iter().find_map(|(name, value)| (*name == "PATH").then_some(value));
    let spawn = |at: &OsStr| Command::new(at).arg0(program).args(&command[1..]).env_clear().envs(&env).spawn();
    // With an absolute path `Command` can use `posix_spawn` instead of a fork.
    let started = match path.and_then(|path| find(program, path)) {
        Some(whole) => spawn(whole.as_os_str()).or_else(|_| spawn(program)),
        None => spawn(program),
    };
    match started {
        Ok(child) => i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(EXIT_JAIL_FAILED),
        Err(error) => {
            report(SetupError::new(program.display().to_string(), &error));
            Err(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

/// Searches `PATH` for a program given by name, as a shell does.
fn find(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let is_name = !program.as_encoded_bytes().contains(&b'/');
    let can_run = |file: &PathBuf| file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok();
    is_name.then(|| std::env::split_paths(path).map(|folder| folder.join(program)).find(can_run))?
}

/// Blocked only after the command has started, because it would inherit the blocked signals.
const HANDLED_SIGNALS: &[i32] = &[libc::SIGCHLD, libc::SIGTERM];

/// The sender id of a process outside this namespace.
const OUTSIDE_SENDER: u32 = 0;
/// Most commands that flower itself runs have ended by then.
const FIRST_CHECK_DELAY: Duration = Duration::from_millis(20);

/// Reaps orphaned processes until the command ends. Then this process exits, and the kernel kills all others in the jail.
fn supervise(command: Pid, mut monitor: ResourceMonitor) -> u8 {
    let handled = sys::block_signals(HANDLED_SIGNALS).and_then(|()| sys::signal_fd(HANDLED_SIGNALS));
    let Ok(signals) = handled else { return EXIT_JAIL_FAILED };
    // A request from before the signals were blocked; later ones are read from the descriptor.
    if sys::termination_requested() {
        terminate_all();
    }
    let mut next_check = Instant::now() + FIRST_CHECK_DELAY;
    loop {
        while let Ok(Some((ended, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if ended == command {
                return exit_code(status);
            }
        }
        // Checked here so that a stream of signals cannot prevent it.
        if Instant::now() >= next_check {
            match monitor.check() {
                Ok(pause) => next_check = Instant::now() + pause,
                Err(why) => return kill_all(&why),
            }
        }
        let wait = next_check.saturating_duration_since(Instant::now());
        let Ok(signal) = sys::read_signal(&signals, wait) else { return EXIT_JAIL_FAILED };
        if signal == Some((libc::SIGTERM, OUTSIDE_SENDER)) {
            terminate_all();
        }
    }
}

/// Asks all processes in the jail to end. Stopped ones are continued so that they receive the signal.
fn terminate_all() {
    sys::signal_all(libc::SIGTERM);
    sys::signal_all(libc::SIGCONT);
}

/// Kills all processes, then reports why: writing to standard error may block.
fn kill_all(why: &str) -> u8 {
    sys::signal_all(libc::SIGKILL);
    report(format_args!("all processes in the jail were killed: {why}"));
    EXIT_LIMIT_EXCEEDED
}

/// The exit code in a shell's convention: 128 plus the signal for a killed process.
pub(super) fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(EXIT_JAIL_FAILED)
}
