//! Outcomes of the tools, and their table.

use std::fmt;

/// The run of one tool.
#[derive(Debug)]
pub(super) enum Outcome {
    Ran {
        count: Count,
        succeeded: bool,
    },
    /// Not run, with the reason.
    Skipped(String),
}

/// Numbers from the output of a test run.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    passed: u32,
    failed: u32,
    /// Reports of the tool itself: races, bad accesses, undefined behaviour.
    reports: u32,
}

impl Count {
    /// Adds a line of the output.
    pub(super) fn read(&mut self, line: &str) {
        if let Some(result) = line.strip_prefix("test result: ") {
            let words: Vec<&str> = result.split_whitespace().collect();
            for pair in words.windows(2) {
                match pair {
                    [number, "passed;"] => self.passed += number.parse::<u32>().unwrap_or_default(),
                    [number, "failed;"] => self.failed += number.parse::<u32>().unwrap_or_default(),
                    _ => {}
                }
            }
        }
        let starts = ["WARNING: ThreadSanitizer: ", "error: Undefined Behavior: "];
        let is_report = starts.iter().any(|start| line.starts_with(start));
        if is_report || line.contains("ERROR: AddressSanitizer: ") {
            self.reports += 1;
        }
    }
}

impl Outcome {
    fn is_failure(&self) -> bool {
        match self {
            Outcome::Ran { count, succeeded } => !succeeded || count.failed > 0 || count.reports > 0,
            Outcome::Skipped(_) => false,
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Ran { count: Count { passed, failed, reports }, succeeded } => {
                write!(formatter, "{passed} passed, {failed} failed, {reports} reports")?;
                if *succeeded { Ok(()) } else { formatter.write_str("; cargo did not succeed") }
            }
            Outcome::Skipped(reason) => write!(formatter, "skipped: {reason}"),
        }
    }
}

/// The table; an error if a test failed, if a tool reported anything, or if none was run.
pub(super) fn summary(outcomes: &[(&str, Outcome)]) -> Result<String, String> {
    let lines: Vec<String> = outcomes.iter().map(|(name, outcome)| format!("sanitize: {name:8} {outcome}")).collect();
    let table = lines.join("\n");
    let has_run = outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Ran { .. }));
    if has_run && !outcomes.iter().any(|(_, outcome)| outcome.is_failure()) {
        Ok(table)
    } else {
        Err(format!("{}\n{table}", if has_run { "failed tests or reports" } else { "no tool was run" }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(lines: &[&str], succeeded: bool) -> Outcome {
        let mut count = Count::default();
        lines.iter().for_each(|line| count.read(line));
        Outcome::Ran { count, succeeded }
    }

    const WELL: &str = "test result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.01s";

    #[test]
    fn runs_without_a_report_succeed_and_skipped_tools_are_named() {
        let outcomes = [("address", ran(&[WELL, WELL], true)), ("miri", Outcome::Skipped("no miri".to_owned()))];
        let table = "sanitize: address  24 passed, 0 failed, 0 reports\nsanitize: miri     skipped: no miri";
        assert_eq!(summary(&outcomes), Ok(table.to_owned()));
    }

    #[test]
    fn a_report_is_a_failure_although_every_test_passes() {
        for line in [
            "WARNING: ThreadSanitizer: data race (pid=7)",
            "==7==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
            "error: Undefined Behavior: pointer not dereferenceable",
        ] {
            assert!(summary(&[("tool", ran(&[WELL, line], true))]).is_err_and(|table| table.contains("1 reports")));
        }
    }

    #[test]
    fn a_run_that_breaks_off_is_a_failure() {
        assert!(summary(&[("address", ran(&[WELL], false))]).is_err_and(|table| table.contains("did not succeed")));
    }

    #[test]
    fn a_run_of_nothing_is_no_success() {
        let skipped = summary(&[("thread", Outcome::Skipped("no rust-src".to_owned()))]);
        assert!(skipped.is_err_and(|table| table.starts_with("no tool was run") && table.contains("no rust-src")));
    }
}
