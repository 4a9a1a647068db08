//! What is wrong with a text, and where.

use std::fmt;

/// A position in a text; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for Place {
    /// `line:column`, as compilers print it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// A mistake in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct Error {
    /// Where the guilty word starts.
    pub place: Place,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a PTX text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Something else had to stand here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What belongs here.
        expected: &'static str,
        /// What stands here instead.
        found: String,
    },
    /// A comment that never ends.
    #[error("this comment has no end")]
    OpenComment,
    /// A word that `.target` does not know.
    #[error("`{0}` is no target; expected an architecture such as `sm_90` or an option such as `debug`")]
    UnknownTarget(String),
    /// A second architecture, or a second texture mode.
    #[error("`{second}` contradicts `{first}`")]
    Contradiction {
        /// What was said first.
        first: String,
        /// What was said here.
        second: String,
    },
    /// `.target` without an architecture.
    #[error("the target names no architecture, such as `sm_90`")]
    NoArchitecture,
    /// An address size that no machine has.
    #[error("addresses of {0} bits; expected 32 or 64")]
    AddressSize(String),
}
