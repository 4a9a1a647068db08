//! Reads a client's report: a plan (`1..43`), then `ok` or `not ok` for each check. Everything else is for
//! people.

use std::process::ExitStatus;

/// A client's report: the planned number of checks, and those that passed and failed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Report {
    planned: Option<usize>,
    pub(super) passed: usize,
    failed: usize,
}

impl Report {
    pub(super) fn of(output: &str) -> Self {
        let mut report = Self::default();
        for line in output.lines() {
            let mut words = line.split(' ');
            match words.next() {
                Some("ok") => report.passed += 1,
                Some("not") if words.next() == Some("ok") => report.failed += 1,
                Some(plan) => {
                    let planned = plan.strip_prefix("1..").and_then(|count| count.parse().ok());
                    report.planned = report.planned.or(planned);
                }
                None => {}
            }
        }
        report
    }

    /// Number of checks that did not pass, those that never ran among them.
    pub(super) fn missed(&self) -> usize {
        self.planned.map_or(self.failed, |planned| planned.saturating_sub(self.passed))
    }

    /// Success if everything was checked and held, and the client ended well; otherwise why not. No status
    /// means that it had to be ended.
    pub(super) fn verdict(&self, status: Option<ExitStatus>) -> Result<(), String> {
        let Self { passed, failed, .. } = *self;
        let end = status.map_or_else(|| "it hung".to_owned(), |status| status.to_string());
        let Some(planned) = self.planned.filter(|planned| *planned > 0) else {
            return Err(format!("it checked nothing; {end}"));
        };
        if failed > 0 {
            return Err(format!("{failed} of {planned} checks failed"));
        }
        if passed != planned {
            return Err(format!("it reported {passed} of {planned} checks; {end}"));
        }
        if status.is_some_and(|status| status.success()) {
            Ok(())
        } else {
            Err(format!("all checks passed, but {end}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    const GOOD: &str = "1..2\nok 1 - first\n# a remark, not ok 7\nok 2 - second\n";

    fn verdict(output: &str, status: i32) -> Result<(), String> {
        Report::of(output).verdict(Some(ExitStatus::from_raw(status)))
    }

    #[test]
    fn all_checks_and_a_good_end_are_good() {
        assert_eq!(verdict(GOOD, 0), Ok(()));
        assert_eq!(Report::of(GOOD), Report { planned: Some(2), passed: 2, failed: 0 });
    }

    #[test]
    fn anything_less_is_not() {
        let bad = [
            ("", 0, "it checked nothing; exit status: 0"),
            ("1..0\n", 0, "it checked nothing; exit status: 0"),
            ("1..2\nok 1\n", 0, "it reported 1 of 2 checks; exit status: 0"),
            ("1..1\nok 1\nok 2\n", 0, "it reported 2 of 1 checks; exit status: 0"),
            ("1..2\nok 1\nnot ok 2\n", 0, "1 of 2 checks failed"),
            (GOOD, 256, "all checks passed, but exit status: 1"),
        ];
        for (output, status, reason) in bad {
            assert_eq!(verdict(output, status), Err(reason.to_owned()), "{output}");
        }
        assert_eq!(Report::of(GOOD).verdict(None), Err("all checks passed, but it hung".to_owned()));
    }

    #[test]
    fn checks_that_never_ran_are_missed() {
        assert_eq!(Report::of("1..5\nok 1\nnot ok 2\n").missed(), 4);
        assert_eq!(Report::of("not ok 1\n").missed(), 1);
    }
}
