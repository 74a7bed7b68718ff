//! Limits the processes and memory of a jail with a cgroup, if one can be created, on kernels without a limit per process
//! namespace. Only root needs it: for other users the resource limit of the user has the same effect.

use super::spec::Limits;
use super::support;
use rustix::process::Pid;
use std::fs;
use std::path::{Path, PathBuf};

/// Removed on drop, when all its processes have ended.
pub(super) struct Cgroup {
    folder: PathBuf,
}

impl Cgroup {
    /// None if it is not needed or cannot be created.
    pub(super) fn create_for(process: Pid, limits: &Limits) -> Option<Cgroup> {
        if support::pid_max_is_per_namespace() || !rustix::process::geteuid().is_root() {
            return None;
        }
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        candidates(&own).into_iter().find_map(|parent| Cgroup::below(&parent, process, limits))
    }

    fn below(parent: &Path, process: Pid, limits: &Limits) -> Option<Cgroup> {
        let folder = parent.join(format!("flower-jail-{}", process.as_raw_pid()));
        // An existing one is empty: it is left from a jail whose outer process was killed.
        let made = fs::create_dir(&folder).is_ok() || folder.is_dir();
        let cgroup = made.then_some(Cgroup { folder })?;
        fs::write(cgroup.folder.join("pids.max"), limits.processes.to_string()).ok()?;
        // Only cgroup v2 has both limits in one folder; with v1 `resource_monitor.rs` alone limits memory.
        let _ = fs::write(cgroup.folder.join("memory.max"), limits.memory_bytes.to_string());
        fs::write(cgroup.folder.join("cgroup.procs"), process.as_raw_pid().to_string()).ok()?;
        Some(cgroup)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

/// Folders in which a cgroup with a process limit could be created. In cgroup v2 a group with processes cannot have children
/// with controllers, so the new group is a sibling of the own one.
fn candidates(own: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let path = Path::new(path.trim_start_matches('/'));
        if controllers.split(',').any(|controller| controller == "pids") {
            found.push(Path::new("/sys/fs/cgroup/pids").join(path));
        } else if controllers.is_empty() {
            found.push(Path::new("/sys/fs/cgroup").join(path.parent().unwrap_or(path)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cgroup_limits_a_process_and_is_removed() {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut sleeper = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&sleeper);
        let limits = Limits { processes: 7, ..Limits::default() };
        let made = candidates(&own).iter().find_map(|parent| Cgroup::below(parent, pid, &limits));
        let folder = made.as_ref().map(|cgroup| cgroup.folder.clone());
        let bound = folder.as_ref().map(|folder| fs::read_to_string(folder.join("pids.max")).unwrap());
        let inside = folder.as_ref().map(|folder| fs::read_to_string(folder.join("cgroup.procs")).unwrap());
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        let Some(folder) = folder else { return eprintln!("skipped: no cgroup can be made here") };
        assert_eq!(bound.as_deref(), Some("7\n"));
        assert_eq!(inside, Some(format!("{}\n", pid.as_raw_pid())));
        drop(made);
        assert!(!folder.exists());
    }

    #[test]
    fn a_cgroup_is_a_child_in_v1_and_a_sibling_in_v2() {
        let first = "9:pids:/user/me\n3:cpu,cpuacct:/\n1:name=systemd:/user\n";
        assert_eq!(candidates(first), [PathBuf::from("/sys/fs/cgroup/pids/user/me")]);
        assert_eq!(candidates("0::/system.slice/x.service\n"), [PathBuf::from("/sys/fs/cgroup/system.slice")]);
        assert_eq!(candidates("0::/\n"), [PathBuf::from("/sys/fs/cgroup")]);
    }
}
