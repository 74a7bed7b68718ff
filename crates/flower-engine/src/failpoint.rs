//! Places at which tests make the daemon die: `FLOWER_FAIL_AT=NAME` kills it there, as `kill -9` would.

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
        // Not `abort`, which leaves a core and runs handlers.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
