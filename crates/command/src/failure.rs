//! Failed commands: message, hint and exit code.

use std::fmt::Display;

/// Exit codes of the command. Programs that `warploom sim` runs have their own.
pub(crate) mod code {
    pub(crate) const SUCCESS: u8 = 0;
    /// The command failed.
    pub(crate) const FAILURE: u8 = 1;
    /// The command line is wrong; nothing was done.
    pub(crate) const MISUSE: u8 = 2;
    /// The checks of a simulated machine have findings.
    pub(crate) const FINDINGS: u8 = 3;
    /// `warploom sim` failed before it started the program, as `env` and `timeout` do.
    pub(crate) const NOT_STARTED: u8 = 125;
    /// The program is there and cannot be run, as in a shell.
    pub(crate) const CANNOT_RUN: u8 = 126;
    /// There is no such program, as in a shell.
    pub(crate) const NOT_FOUND: u8 = 127;
    /// Added to the number of the signal that killed the program, as in a shell.
    pub(crate) const SIGNAL: u8 = 128;
}

/// A failed command. Any error becomes one with `?`, with the exit code 1 and without a hint.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Cause, with the value that caused it.
    pub(crate) message: String,
    /// The next step for the user.
    pub(crate) hint: Option<String>,
    pub(crate) code: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, code: code::FAILURE }
    }

    /// A command line that is wrong.
    pub(crate) fn misuse(message: impl Display) -> Self {
        Self { code: code::MISUSE, ..Self::new(message) }
    }

    /// A file that could not be read or written.
    pub(crate) fn file(path: &std::path::Path, error: impl Display) -> Self {
        Self::new(format_args!("{}: {error}", path.display()))
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
