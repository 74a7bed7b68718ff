//! Keeps temporary files in memory. The tests create and delete hundreds of thousands of small files; on a disk, the file
//! system takes a quarter of the time for them (docs/decisions.md).

use crate::run::{Program, seconds};
use crate::user::is_root;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

const RESTARTED_VARIABLE: &str = "FLOWER_XTASK_IN_MEMORY";
/// A mount namespace: only this program and its children see the tmpfs, which is removed with the last of them.
const UNSHARE: [&str; 5] = ["--mount", "--propagation", "private", "sh", "-c"];
const MOUNT_AND_EXEC: &str = r#"mount -t tmpfs -o size=50%,mode=1777 flower "$0" && exec "$@""#;
/// With less memory the tests would compete with their own files.
const MIN_KILOBYTES: u64 = 4 << 20;

/// Restarts this program with its temporary files on a tmpfs. Returns only if that is not possible.
pub(crate) fn restart_on_tmpfs() {
    // A short path, because paths of sockets are limited. The same empty folder is left after each run.
    let folder = std::env::temp_dir().join("flower.tests");
    if std::env::var_os(RESTARTED_VARIABLE).is_some() || !is_possible(&folder) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut again = Command::new("unshare");
    again.args(UNSHARE).arg(MOUNT_AND_EXEC).arg(&folder).arg(program).args(std::env::args_os().skip(1));
    let error = again.env("TMPDIR", &folder).env(RESTARTED_VARIABLE, "1").exec();
    eprintln!("temporary files stay on disk: {error}");
}

/// Tries to mount a tmpfs.
fn is_possible(folder: &Path) -> bool {
    let is_worth_trying = available_kilobytes().is_some_and(|available| available >= MIN_KILOBYTES)
        && is_root().unwrap_or(false)
        && std::fs::create_dir_all(folder).is_ok();
    let unshare = Program::new("unshare", seconds(30)).args(UNSHARE);
    is_worth_trying && unshare.args([MOUNT_AND_EXEC]).args([folder]).args(["true"]).output().is_ok()
}

fn available_kilobytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
