//! P26, the loop of a developer: the time to rebuild and run one test after a changed line, for a file of the command
//! line, of a service and of the store.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::run::{Program, minutes, repository_root};

pub(crate) const ID: &str = "P26";

const ROUNDS: usize = 5;

struct Case {
    what: &'static str,
    file: &'static str,
    /// Text of the file that each round changes. No test depends on it.
    line: &'static str,
    package: &'static str,
    test: &'static str,
    /// Measured on 2 quiet cores before the program was split into crates.
    before: Duration,
}

const CASES: &[Case] = &[
    Case {
        what: "a file of the command line",
        file: "crates/flower/src/cli/commands/brief/list.rs",
        line: "UPDATED",
        package: "flower",
        test: "commands::lists::briefs_are_filtered_by_status_and_kind",
        before: Duration::from_millis(14_000),
    },
    Case {
        what: "a service",
        file: "crates/flower-engine/src/briefs/write.rs",
        line: "a question without a number",
        package: "flower-engine",
        test: "briefs::a_question_comes_back_with_its_number_and_its_answer_ends_it",
        before: Duration::from_millis(11_900),
    },
    Case {
        what: "the store",
        file: "crates/flower-store/src/error.rs",
        line: "the disk is full",
        package: "flower-store",
        test: "search::",
        before: Duration::from_millis(11_300),
    },
];

/// One figure for each kind of file.
pub(crate) fn figures() -> Result<Vec<Value>, String> {
    CASES.iter().map(figure).collect()
}

fn figure(case: &Case) -> Result<Value, String> {
    let path = repository_root().join(case.file);
    let original = fs::read_to_string(&path).map_err(|error| format!("could not read {}: {error}", case.file))?;
    if !original.contains(case.line) {
        return Err(format!("{} does not contain `{}` any more", case.file, case.line));
    }
    // The first run builds what an earlier change has left to build.
    let mut times = run(case).and_then(|_| {
        let round = |round: usize| {
            let changed = original.replacen(case.line, &format!("{} ({round})", case.line), 1);
            fs::write(&path, changed).map_err(|error| format!("could not change {}: {error}", case.file))?;
            run(case)
        };
        (0..ROUNDS).map(round).collect::<Result<Vec<_>, _>>()
    });
    fs::write(&path, &original).map_err(|error| format!("could not restore {}: {error}", case.file))?;
    let times = times.as_mut().map_err(|error| error.clone())?;
    times.sort();
    let median = times[ROUNDS / 2];
    let ratio = median.as_secs_f64() / case.before.as_secs_f64();
    Ok(json!({
        "id": ID,
        "what": format!("rebuild and one test after a change in {}, median of {ROUNDS}", case.what),
        "measured": format!("{:.1} s", median.as_secs_f64()),
        "peer": format!("one crate: {:.1} s", case.before.as_secs_f64()),
        "ratio": ratio,
        "goal": "≤ 0.4",
        "reached": ratio <= 0.4,
    }))
}

fn run(case: &Case) -> Result<Duration, String> {
    let start = Instant::now();
    let test = ["nextest", "run", "--locked", "--package", case.package, "--test", "it", case.test];
    Program::cargo(minutes(15)).args(test).env("FLOWER_TEST_SKIP_POSTGRES", "1").capture_stdout()?;
    Ok(start.elapsed())
}
