//! Mistakes in a TOML text, with line and column.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::TopologyError;
use super::words::{DidYouMean, Quoted};

/// A mistake in a TOML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TomlError {
    /// The file, if the text came from one.
    pub file: Option<PathBuf>,
    /// The line, counted from 1.
    pub line: usize,
    /// The character within the line, counted from 1.
    pub column: usize,
    /// The path of the key such as `device[1].memory`, tables of an array counted from 0; empty for the text
    /// as a whole.
    pub key: String,
    /// The problem.
    pub problem: TomlProblem,
}

impl fmt::Display for TomlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}:{}:{}: ", file.display(), self.line, self.column)?,
            None => write!(f, "line {}, column {}: ", self.line, self.column)?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}", self.problem)
    }
}

// No source: the message already ends with the problem.
impl std::error::Error for TomlError {}

/// A problem at a position of a TOML text.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TomlProblem {
    /// The text is not TOML.
    #[error("{0}")]
    Syntax(String),

    /// A key that means nothing here.
    #[error("unknown key {}{}{}", Quoted(key), DidYouMean(*nearest), Known(known))]
    UnknownKey {
        /// The key as given.
        key: String,
        /// The known key it resembles.
        nearest: Option<&'static str>,
        /// Every key that would have been right, where they are few.
        known: &'static [&'static str],
    },

    /// A key without which the table means nothing.
    #[error("{key:?} is missing, expected {expected}")]
    Missing {
        /// The key.
        key: &'static str,
        /// The expected value.
        expected: &'static str,
    },

    /// A value of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The expected type.
        expected: &'static str,
        /// The type found.
        found: &'static str,
    },

    /// Two keys that contradict each other.
    #[error("cannot stand beside {other:?}: {reason}")]
    Conflict {
        /// The other key.
        other: &'static str,
        /// The reason for which only one of them can be there.
        reason: &'static str,
    },

    /// A setting given twice.
    #[error("already given on line {first_line}")]
    Duplicate {
        /// The line of the first.
        first_line: usize,
    },

    /// One identity for several devices.
    #[error("cannot be the same for {devices} devices")]
    Shared {
        /// Number of devices the table describes.
        devices: usize,
    },

    /// A link to take away that is not there.
    #[error("there is no link from device {from} to device {to} to remove")]
    NoLink {
        /// The device that would reach over the link.
        from: usize,
        /// The device whose memory it would reach.
        to: usize,
    },

    /// A value that no machine could have.
    #[error(transparent)]
    Invalid(TopologyError),

    /// A value that the reader of this kind of file refuses.
    #[error("{0}")]
    Refused(Refusal),
}

/// The reason that a file's own reader gave, as an error of its own type.
#[derive(Debug, Clone)]
pub struct Refusal(Arc<dyn std::error::Error + Send + Sync>);

impl Refusal {
    /// Wraps the reader's error.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Arc::new(error))
    }

    /// The reader's error, if it is of this type.
    #[must_use]
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Equal if they say the same.
impl PartialEq for Refusal {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Refusal {}

/// The clause that lists known keys, or nothing.
struct Known<'a>(&'a [&'static str]);

impl fmt::Display for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; known are {}", self.0.join(", ")) }
    }
}
