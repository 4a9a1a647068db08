//! Tests that need a process of their own.

use std::process::Command;

use crate::TestResult;

/// Tells the child that it is one.
const CHILD: &str = "WARPLOOM_TEST_ALONE";

/// `true` in a process in which no other test runs. Otherwise, runs the test of this binary with this name in such a
/// process, and returns its failure, with its output.
///
/// # Errors
///
/// The failure of the child.
pub fn alone(test: &str) -> TestResult<bool> {
    if std::env::var_os(CHILD).is_some_and(|name| name == *test) {
        return Ok(true);
    }
    let child = Command::new(std::env::current_exe()?).args(["--exact", test]).env(CHILD, test).output()?;
    let output = String::from_utf8_lossy(&child.stdout);
    // A test that was renamed runs nothing, with success; one that ends the process has no summary.
    match child.status.success() && !output.contains("running 0 tests") {
        true => Ok(false),
        false => Err(format!("{test}, in a process of its own: {}\n{output}", child.status).into()),
    }
}
