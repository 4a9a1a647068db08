//! TOML reader with line and column for every mistake, for machine descriptions and fault plans.
//!
//! The text becomes a tree with spans, and the tree is read key by key, so that a value is refused at its own
//! position. Unknown keys are errors; the nearest known key is suggested.

mod section;

pub use self::section::{Item, Section, Source};
pub use crate::error::{DidYouMean, Quoted, Refusal, TomlError, TomlProblem};

/// Result of reading a value; the error is boxed because it is large and rare.
pub type Read<T> = Result<T, Box<TomlError>>;

/// Position of a table, for problems that are found after it was read.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) start: usize,
    pub(crate) path: String,
}
