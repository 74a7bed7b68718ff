//! Tests that did not run. Each writes a line into a file, with tabs between cause, test and reason; see
//! `crates/flower/tests/it/common/skip.rs`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::run::target_folder;

/// Names the file to the tests.
pub(crate) const VARIABLE: &str = "FLOWER_TEST_SKIPPED";

pub(crate) fn file() -> PathBuf {
    let file = target_folder().join("skipped-tests");
    // Tests run in the folders of their crates.
    std::path::absolute(&file).unwrap_or(file)
}

/// Forgets the tests that an earlier run skipped.
pub(crate) fn clear() -> Result<(), String> {
    let file = file();
    match std::fs::remove_file(&file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", file.display())),
        _ => Ok(()),
    }
}

pub(crate) fn load() -> Skipped {
    Skipped::parse(&std::fs::read_to_string(file()).unwrap_or_default())
}

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Skipped {
    /// By name. A test that was tried twice, or for several inputs, is there once.
    tests: BTreeMap<String, Test>,
}

#[derive(Debug, PartialEq)]
struct Test {
    reason: String,
    /// The machine could run it.
    is_avoidable: bool,
}

impl Skipped {
    fn parse(text: &str) -> Skipped {
        let mut tests = BTreeMap::new();
        for line in text.lines() {
            let mut parts = line.splitn(3, '\t');
            if let (Some(cause), Some(name), Some(reason)) = (parts.next(), parts.next(), parts.next()) {
                let test = Test { reason: reason.to_owned(), is_avoidable: cause != "excluded" };
                tests.insert(name.to_owned(), test);
            }
        }
        Skipped { tests }
    }

    /// The list, if there is one.
    pub(crate) fn report(&self) -> Option<String> {
        let lines: Vec<String> = self.tests.iter().map(|(name, test)| format!("\n  {name}: {}", test.reason)).collect();
        (!lines.is_empty())
            .then(|| format!("{} tests were skipped, in whole or in part:{}", lines.len(), lines.concat()))
    }

    /// In CI nothing is left out that the machine could run.
    pub(crate) fn judge(&self, in_ci: bool) -> Result<(), String> {
        match self.tests.values().filter(|test| test.is_avoidable).count() {
            0 => Ok(()),
            _ if !in_ci => Ok(()),
            n => Err(format!(
                "{n} tests were skipped because something is missing or a variable leaves them out; with CI=true that is an error"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "missing\tstore::a\tFLOWER_TEST_SKIP_POSTGRES=1\nexcluded\tjail::b\tnot run as root\n\
                         missing\tstore::a\tFLOWER_TEST_SKIP_POSTGRES=1\n";

    #[test]
    fn each_skipped_test_is_listed_once_with_its_reason() {
        let report = Skipped::parse(LINES).report();
        let lines = "\n  jail::b: not run as root\n  store::a: FLOWER_TEST_SKIP_POSTGRES=1";
        assert_eq!(report, Some(format!("2 tests were skipped, in whole or in part:{lines}")));
        assert_eq!(Skipped::parse("").report(), None);
    }

    #[test]
    fn only_in_ci_and_only_what_could_run_is_an_error() {
        let skipped = Skipped::parse(LINES);
        assert_eq!(skipped.judge(false), Ok(()));
        assert!(skipped.judge(true).is_err_and(|message| message.starts_with("1 tests were skipped")));
        assert_eq!(Skipped::parse("excluded\tjail::b\tnot run as root\n").judge(true), Ok(()));
    }
}
