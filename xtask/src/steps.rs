//! Runs named steps with their times, and prints a summary.

use std::time::{Duration, Instant};

pub(crate) struct Steps {
    start: Instant,
    done: Vec<&'static str>,
}

impl Steps {
    pub(crate) fn begin() -> Self {
        Self { start: Instant::now(), done: Vec::new() }
    }

    pub(crate) fn step<T>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        eprintln!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let took = in_words(start.elapsed());
        match result {
            Ok(value) => {
                eprintln!("== {name}: done in {took}");
                self.done.push(name);
                Ok(value)
            }
            Err(message) => Err(format!("step `{name}` failed after {took}: {message}")),
        }
    }

    pub(crate) fn summary(&self, skipped: &[&str]) -> String {
        let skipped = match skipped {
            [] => "nothing".to_owned(),
            some => some.join(", "),
        };
        format!(
            "{} steps passed in {}: {}; skipped: {skipped}",
            self.done.len(),
            in_words(self.start.elapsed()),
            self.done.join(", "),
        )
    }
}

fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{:.1} s", duration.as_secs_f32())
    } else {
        format!("{} min {} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_is_named_and_not_counted() {
        let mut steps = Steps::begin();
        assert_eq!(steps.step("first", || Ok(7)), Ok(7));
        let message = steps.step::<()>("second", || Err("no luck".into())).unwrap_err();
        assert!(message.starts_with("step `second` failed after "));
        assert!(message.ends_with(": no luck"));
        let summary = steps.summary(&["the third"]);
        assert!(summary.starts_with("1 steps passed in "), "{summary}");
        assert!(summary.ends_with(": first; skipped: the third"));
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(in_words(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!(in_words(Duration::from_secs(125)), "2 min 5 s");
    }
}
