//! Temporary files in memory. The tests make and delete hundreds of thousands of small files; on a disk, the file system's
//! care for them is a quarter of the time (docs/decisions.md).

use crate::run::{Program, seconds};
use crate::user::we_are_root;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

const MARK: &str = "FLOWER_XTASK_IN_MEMORY";
/// Seen by us and by whatever we start, by nobody else; gone with the last of us.
const UNSHARE: [&str; 5] = ["--mount", "--propagation", "private", "sh", "-c"];
const IN_MEMORY: &str = r#"mount -t tmpfs -o size=50%,mode=1777 flower "$0" && exec "$@""#;
/// Less, and the tests would compete with their own files.
const LEAST_KILOBYTES: u64 = 4 << 20;

/// Starts this program again with its temporary files in memory, if it can; then it does not return.
pub(crate) fn start_again_in_memory() {
    // Short: sockets have short names. An empty folder, the same each time, is all that is left of it.
    let place = std::env::temp_dir().join("flower.tests");
    if std::env::var_os(MARK).is_some() || !is_possible(&place) {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut again = Command::new("unshare");
    again.args(UNSHARE).arg(IN_MEMORY).arg(&place).arg(program).args(std::env::args_os().skip(1));
    let error = again.env("TMPDIR", &place).env(MARK, "1").exec();
    eprintln!("temporary files stay on disk: {error}");
}

/// Tries it.
fn is_possible(place: &Path) -> bool {
    let is_worth_trying = available_kilobytes().is_some_and(|available| available >= LEAST_KILOBYTES)
        && we_are_root().unwrap_or(false)
        && std::fs::create_dir_all(place).is_ok();
    let unshare = Program::new("unshare", seconds(30)).args(UNSHARE);
    is_worth_trying && unshare.args([IN_MEMORY]).args([place]).args(["true"]).output().is_ok()
}

fn available_kilobytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
