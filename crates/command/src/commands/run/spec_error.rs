//! Errors in the specification of a kernel argument, with a mark under the wrong part.

use std::fmt;
use std::ops::Range;

/// A wrong part of a specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpecError {
    /// The whole specification.
    text: String,
    /// The bytes of the wrong part; empty at the end for a missing one.
    part: Range<usize>,
    problem: String,
}

impl SpecError {
    pub(crate) fn new(text: &str, part: Range<usize>, problem: impl Into<String>) -> SpecError {
        SpecError { text: text.to_owned(), part, problem: problem.into() }
    }
}

impl fmt::Display for SpecError {
    /// The problem, then the specification with a mark under the part.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, part, problem } = self;
        let before = text[..part.start].chars().count();
        let marked = text[part.clone()].chars().count().max(1);
        // Control characters take no column in a terminal, and would move the mark away from its part.
        let shown: String =
            text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        write!(formatter, "{problem}\n  {shown}\n  {}{}", " ".repeat(before), "^".repeat(marked))
    }
}

impl std::error::Error for SpecError {}
