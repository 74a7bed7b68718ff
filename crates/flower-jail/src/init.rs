//! The first process of the jail: builds it, starts the command in it, and stays its parent.

use super::failure::{During, Failure, Step, say};
use super::forward;
use super::places::Places;
use super::root::Surroundings;
use super::spec::{Network, Spec};
use super::sys;
use super::terminal::Terminal;
use super::watch::Watch;
use super::{FAILED, TOOK_TOO_MUCH, limits, privileges, root, rules, support, syscalls};
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

/// What the outer process found out before.
pub(super) struct Setting {
    pub(super) own_user_namespace: bool,
    /// Signals and abstract sockets must be covered by Landlock.
    pub(super) scopes: bool,
    /// The caller's.
    pub(super) terminal: Option<Terminal>,
    /// Gives one byte when everything outside is ready, and ends if there is no outside any more.
    pub(super) ready: OwnedFd,
    /// Where the sockets of forwarded ports go.
    pub(super) outside: Option<OwnedFd>,
    pub(super) user: (u32, u32),
    pub(super) places: Places,
}

/// Runs in the child of the fork; what it gives is the exit code of the jail.
pub(super) fn run(spec: &Spec, setting: Setting, command: &[OsString]) -> u8 {
    match prepare(spec, setting) {
        Ok(watch) => start(spec, command).map_or_else(|code| code, |command| attend(command, watch)),
        Err(failure) => {
            say(failure);
            FAILED
        }
    }
}

fn prepare(spec: &Spec, setting: Setting) -> Step<Watch> {
    // If the outer process is killed, nobody inside outlives it.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).during("bond to the outer process")?;
    // What the caller ignores, the command should not: it inherits this. As the first of its namespace, this process is
    // ended by no signal anyway.
    sys::default_signals();
    if setting.terminal.is_none() {
        // Signals to a group then reach nobody outside, and nor does `/dev/tty`.
        rustix::process::setsid().during("session")?;
    }
    if setting.own_user_namespace {
        map_user(setting.user).map_err(support::no_namespaces)?;
    }
    limits::go_first_when_memory_ends()?;
    let surroundings = Surroundings {
        limits: &spec.limits,
        own_user_namespace: setting.own_user_namespace,
        terminal: setting.terminal.as_ref().and_then(|terminal| terminal.path.as_deref()),
    };
    root::build(&setting.places, &surroundings)?;
    if spec.network == Network::Closed {
        raise_loopback().during("loopback")?;
    }
    if let Some(outside) = setting.outside {
        forward::listen(&spec.forward, &outside).during("forwarded ports")?;
    }
    limits::apply(&spec.limits)?;
    let mut byte = [0];
    let mut ready = fs::File::from(setting.ready);
    // It was killed before the bond was there.
    if ready.read(&mut byte).during("waiting for the outer process")? == 0 {
        sys::exit_now(FAILED.into());
    }
    drop(ready);
    privileges::close_descriptors()?;
    let watch = Watch::new(&spec.limits, &setting.places)?;
    privileges::drop_capabilities()?;
    privileges::hide_memory()?;
    rustix::process::chdir(&spec.dir).during_with(|| spec.dir.display().to_string())?;
    rules::apply(spec, &setting.places, setting.scopes)?;
    syscalls::apply()?;
    Ok(watch)
}

/// Inside, the user is who it is outside.
fn map_user((user, group): (u32, u32)) -> io::Result<()> {
    // Groups could otherwise be given up that take rights away.
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

fn raise_loopback() -> io::Result<()> {
    use rustix::fd::AsFd;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sys::raise_loopback(socket.as_fd())
}

/// Otherwise the exit code that says why there is no command.
fn start(spec: &Spec, command: &[OsString]) -> Result<Pid, u8> {
    let program = command.first().ok_or(FAILED)?;
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
    // By a whole path it can be started without copying this process first.
    let started = match path.and_then(|path| find(program, path)) {
        Some(whole) => spawn(whole.as_os_str()).or_else(|_| spawn(program)),
        None => spawn(program),
    };
    match started {
        Ok(child) => i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(FAILED),
        Err(error) => {
            say(Failure::new(program.display().to_string(), &error));
            Err(if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 })
        }
    }
}

/// Where the shell would find a program that is only a name.
fn find(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let is_name = !program.as_encoded_bytes().contains(&b'/');
    let can_run = |file: &PathBuf| file.is_file() && rustix::fs::access(file, Access::EXEC_OK).is_ok();
    is_name.then(|| std::env::split_paths(path).map(|folder| folder.join(program)).find(can_run))?
}

/// Blocked only after the command has started, which inherits what is blocked.
const ATTENDED: &[i32] = &[libc::SIGCHLD, libc::SIGTERM];

/// As a sender, whoever has no number in this namespace.
const OUTSIDE: u32 = 0;
/// Before the first look: most commands that flower runs itself have ended by then.
const FIRST_LOOK: Duration = Duration::from_millis(20);

/// Takes in whoever is left without a parent, until the command ends. Then everything else inside is ended by the kernel.
fn attend(command: Pid, mut watch: Watch) -> u8 {
    let attended = sys::block_signals(ATTENDED).and_then(|()| sys::signal_fd(ATTENDED));
    let Ok(signals) = attended else { return FAILED };
    // Before they were blocked; from now on each is read from the descriptor.
    if sys::end_was_asked() {
        ask_to_end();
    }
    let mut next_look = Instant::now() + FIRST_LOOK;
    loop {
        while let Ok(Some((ended, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if ended == command {
                return exit_code(status);
            }
        }
        // Also when signals never stop coming.
        if Instant::now() >= next_look {
            match watch.look() {
                Ok(pause) => next_look = Instant::now() + pause,
                Err(why) => return end_all(&why),
            }
        }
        let wait = next_look.saturating_duration_since(Instant::now());
        let Ok(signal) = sys::read_signal(&signals, wait) else { return FAILED };
        if signal == Some((libc::SIGTERM, OUTSIDE)) {
            ask_to_end();
        }
    }
}

/// Everything inside. Those who are stopped must hear it.
fn ask_to_end() {
    sys::signal_all(libc::SIGTERM);
    sys::signal_all(libc::SIGCONT);
}

/// First the end, then the word: whoever reads it may take their time.
fn end_all(why: &str) -> u8 {
    sys::signal_all(libc::SIGKILL);
    say(format_args!("everything inside was ended: {why}"));
    TOOK_TOO_MUCH
}

/// As shells say it.
pub(super) fn exit_code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)
}
