//! Return values of test functions.

use std::fmt;

/// A return value of a test function: `()`, or `Result<(), E>` with an error that can be shown.
///
/// The error is shown with `{:#}`, which crates such as `anyhow` print with all its causes.
pub trait TestReturn {
    /// The error as text.
    ///
    /// # Errors
    ///
    /// The error that the test returned.
    fn into_result(self) -> Result<(), String>;
}

impl TestReturn for () {
    fn into_result(self) -> Result<(), String> {
        Ok(())
    }
}

impl<E: fmt::Display> TestReturn for Result<(), E> {
    fn into_result(self) -> Result<(), String> {
        self.map_err(|error| format!("{error:#}"))
    }
}
