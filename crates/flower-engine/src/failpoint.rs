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

/// The same while the checkout is put back after a move by hand that was refused.
pub const PUT_BACK_NAMES: &[&str] =
    &["put_back.begun", "put_back.saved", "put_back.files", "put_back.head", "put_back.merge", "put_back.recorded"];

/// Before the folder of a rebase is deleted, as the last of what git has left open.
pub const PUT_BACK_REBASE_NAME: &str = "put_back.ended";

/// After `main settle` has made its worktree, before MAIN is merged there.
pub const SETTLE_NAME: &str = "settle.worktree";

/// While the new place of a repository is recorded.
pub const MOVE_NAMES: &[&str] = &["move.marked", "move.relinked", "move.recorded"];

pub fn here(name: &str) {
    static AT: OnceLock<Option<String>> = OnceLock::new();
    let is_listed = [NAMES, PUT_BACK_NAMES, MOVE_NAMES, &[SETTLE_NAME, PUT_BACK_REBASE_NAME]]
        .iter()
        .any(|names| names.contains(&name));
    debug_assert!(is_listed, "{name} is not listed");
    if AT.get_or_init(|| std::env::var("FLOWER_FAIL_AT").ok()).as_deref() == Some(name) {
        // Not `abort`, which runs handlers and leaves a core file.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
