//! Reports tests that cannot run here. The test runner counts them as passed; `cargo xtask test` lists them at its end.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that collects skipped tests: a line each, with tabs between cause, test and reason.
const FILE: &str = "FLOWER_TEST_SKIPPED";

/// A program, a database or a permission is missing that this machine could have. An error where `CI=true`.
pub fn skip(reason: &str) {
    record("missing", reason);
}

/// The user or the length of this run leaves the test, or a part of it, out.
pub fn skip_in_this_run(reason: &str) {
    record("excluded", reason);
}

/// Whether a variable such as `FLOWER_TEST_SKIP_MOUNT` leaves tests out; reports the calling test if so.
pub fn is_skipped_by(variable: &str) -> bool {
    let is_set = std::env::var_os(variable).is_some_and(|value| value == "1");
    if is_set {
        skip(&format!("{variable}=1"));
    }
    is_set
}

fn record(cause: &str, reason: &str) {
    let test = test_name();
    eprintln!("skipped: {test}: {reason}");
    let Some(file) = std::env::var_os(FILE) else { return };
    let line = format!("{cause}\t{test}\t{reason}\n");
    // One write, so that lines of tests that run at once do not mix.
    let written =
        OpenOptions::new().create(true).append(true).open(file).and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{FILE}: {error}"));
}

fn test_name() -> String {
    let of_thread = || std::thread::current().name().unwrap_or("a test without a name").to_owned();
    std::env::var("NEXTEST_TEST_NAME").unwrap_or_else(|_| of_thread())
}
