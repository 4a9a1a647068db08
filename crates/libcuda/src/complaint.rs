//! Complaints about the environment, on standard error: a C program has no other way to learn of them.

use std::fmt::Display;
use std::io::Write;

/// Puts a line on standard error. Where that is closed, there is nobody to tell.
pub(crate) fn complain(message: impl Display) {
    writeln!(std::io::stderr(), "warploom: {message}").unwrap_or_default();
}
