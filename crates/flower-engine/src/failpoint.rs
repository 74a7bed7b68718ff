//! Points at which tests kill the daemon: `FLOWER_FAIL_AT=NAME` kills it there, like `kill -9`.

use std::sync::OnceLock;

/// All of them, so that a test can try each.
pub const NAMES: &[&str] = &[
    "landing.taken",
    "landing.gated",
    "landing.merged",
    "landing.begun",
    "landing.candidate",
    "landing.checked",
    "main.before_journal",
    "main.journal",
    "main.moved",
    "main.tree",
    "landing.recorded",
    "main.journal_gone",
    "landing.after",
];

pub fn here(name: &str) {
    static AT: OnceLock<Option<String>> = OnceLock::new();
    debug_assert!(NAMES.contains(&name), "{name} is not listed");
    if AT.get_or_init(|| std::env::var("FLOWER_FAIL_AT").ok()).as_deref() == Some(name) {
        // Not `abort`, which runs handlers and leaves a core file.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
