//! Reading TOML with exact places for every mistake: what machines and fault plans are written in.
//!
//! The text becomes a tree with spans, and the tree is read key by key, so that a value is refused where it stands. Unknown
//! keys are mistakes, and the nearest known key is offered.

mod error;
mod section;
mod words;

pub use self::error::{TomlError, TomlProblem};
pub(crate) use self::section::{Item, Section, Source};
pub(crate) use self::words::{DidYouMean, Quoted};

/// What a read gives: boxed, because a place is large and mistakes are rare.
pub(crate) type Read<T> = Result<T, Box<TomlError>>;

/// Where something was described, to report what is found out later.
pub(crate) struct Origin {
    pub(crate) start: usize,
    pub(crate) path: String,
}
