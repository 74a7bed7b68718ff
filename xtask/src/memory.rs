//! Temporary files in memory. The tests make and delete hundreds of thousands of small files; on a disk, the file system's
//! care for them is a quarter of the time (docs/decisions.md).

use crate::run::{Program, repository_root, seconds};
use crate::user::we_are_root;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Made for mounting something for a while, and empty. Hidden for us and for whatever we start, for nobody else.
const PLACE: &str = "/mnt";
const MARK: &str = "FLOWER_XTASK_IN_MEMORY";
const MOUNT: &str = r#"mount -t tmpfs -o size=50%,mode=1777 flower "$0""#;
/// Less, and the tests would compete with their own files.
const LEAST_KILOBYTES: u64 = 4 << 20;

/// Starts this program again with its temporary files in memory, if it can; then it does not return.
pub(crate) fn start_again_in_memory() {
    if std::env::var_os(MARK).is_some() || !is_possible() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let script = format!(r#"{MOUNT} && exec "$@""#);
    let mut again = Command::new("unshare");
    again.args(["--mount", "--propagation", "private", "sh", "-c", &script, PLACE]).arg(program);
    let error = again.args(std::env::args_os().skip(1)).env("TMPDIR", PLACE).env(MARK, "1").exec();
    eprintln!("temporary files stay on disk: {error}");
}

fn is_possible() -> bool {
    let try_it = ["--mount", "--propagation", "private", "sh", "-c", MOUNT, PLACE];
    !repository_root().starts_with(PLACE)
        && Path::new(PLACE).read_dir().is_ok_and(|mut entries| entries.next().is_none())
        && available_kilobytes().is_some_and(|available| available >= LEAST_KILOBYTES)
        && we_are_root().unwrap_or(false)
        && Program::new("unshare", seconds(30)).args(try_it).output().is_ok()
}

fn available_kilobytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
