//! Passes of background loops, for tests: with `FLOWER_TEST_PASSES=FILE` the daemon appends a line when a loop begins a pass and
//! another when the pass is complete. A test that proves that nothing happens waits for a complete pass that began after its
//! action, instead of sleeping. Without the variable nothing is written; with it, loops run as they do without.
//!
//! A line has the process id, `began` or `ended`, the loop, and the number of the newest event when the pass began. What a pass
//! starts in a task of its own is a pass too, which begins before the first one ends.

use flower_store::Store;
use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;

/// All loops. `commits` examines what was committed in a worktree; `post_landing` is the work that follows a landing.
pub const LOOPS: &[&str] = &["agents", "commits", "dispatcher", "main_watch", "merge_queue", "post_landing"];

/// A pass that is under way until this is dropped.
#[must_use]
pub(crate) struct Pass(Option<(&'static str, u64)>);

pub(crate) fn begin(name: &'static str, store: &Store) -> Pass {
    debug_assert!(LOOPS.contains(&name), "{name} is not listed");
    let pass = Pass(file().map(|_| (name, store.live().head())));
    pass.write("began");
    pass
}

impl Pass {
    fn write(&self, what: &str) {
        if let (Some((name, seen)), Some(mut file)) = (self.0, file()) {
            // One write, so that lines of several loops do not mix.
            let _ = file.write_all(format!("{} {what} {name} {seen}\n", std::process::id()).as_bytes());
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.write("ended");
    }
}

fn file() -> Option<&'static File> {
    static FILE: OnceLock<Option<File>> = OnceLock::new();
    let open = || File::options().append(true).create(true).open(std::env::var_os("FLOWER_TEST_PASSES")?).ok();
    FILE.get_or_init(open).as_ref()
}
