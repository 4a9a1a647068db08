//! Complaints about the environment, on standard error: a C program has no other way to learn of them.

use std::fmt::Display;
use std::io::Write;

/// Prints a line on standard error; an error, such as a closed stream, is ignored.
pub(crate) fn complain(message: impl Display) {
    writeln!(std::io::stderr(), "warploom: {message}").unwrap_or_default();
}
