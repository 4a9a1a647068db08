//! Errors in a PTX text, with their position.

use std::fmt;

/// A position in a text; both count from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The character in the line.
    pub column: u32,
}

impl fmt::Display for Position {
    /// `line:column`, as compilers print it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.line, self.column)
    }
}

/// A mistake in a PTX text.
///
/// Printed, it shows the line it stands in:
///
/// ```
/// let error = warploom_ptx::Header::read(".version 8.7\n.target compute_90\n").unwrap_err();
/// assert_eq!(error.to_string(), "\
/// 2:9: unknown target `compute_90`; expected an architecture such as `sm_90` or an option such as `debug`
///   |
/// 2 | .target compute_90
///   |         ^^^^^^^^^^");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The position of the wrong word.
    pub place: Position,
    /// The problem with it.
    pub problem: Problem,
    excerpt: Excerpt,
}

/// A line of the text, or as much of it as can be shown, and the part of it that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excerpt {
    line: String,
    /// Characters of `line` before those that are meant.
    before: usize,
    meant: usize,
}

/// Characters of a line that are shown: those in front of the guilty word, and those from it on.
const SHOWN_BEFORE: usize = 60;
const SHOWN_FROM: usize = 60;

impl Error {
    /// A mistake in the `length` bytes that start at byte `start` of `text`.
    pub(crate) fn new(text: &str, start: usize, length: usize, place: Position, problem: Problem) -> Self {
        let (before, rest) = (&text[..start], &text[start..]);
        let before = &before[before.rfind('\n').map_or(0, |end| end + 1)..];
        let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let meant = &rest[..length.min(rest.len())];
        let left_out = before.chars().count().saturating_sub(SHOWN_BEFORE);
        let shown = before.chars().skip(left_out).chain(rest.chars().take(SHOWN_FROM));
        let excerpt = Excerpt {
            // Control characters take no column in a terminal, and would move the mark away from its word.
            line: shown.map(|character| if character.is_control() { ' ' } else { character }).collect(),
            before: before.chars().count() - left_out,
            meant: meant.chars().take(SHOWN_FROM).count().max(1),
        };
        Self { place, problem, excerpt: Excerpt { line: excerpt.line.trim_end().to_owned(), ..excerpt } }
    }
}

impl fmt::Display for Error {
    /// The position and the problem, then the line with a mark under the word.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, problem, excerpt } = self;
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        let (indent, mark) = (" ".repeat(excerpt.before), "^".repeat(excerpt.meant));
        write!(formatter, "{place}: {problem}\n{margin} |\n{number} | {}\n{margin} | {indent}{mark}", excerpt.line)
    }
}

impl std::error::Error for Error {}

/// The kinds of errors in a PTX text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Another word is expected here.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The words that are expected.
        expected: &'static str,
        /// The word that is here.
        found: String,
    },
    /// A comment that never ends.
    #[error("unterminated comment")]
    OpenComment,
    /// A string that its line does not end.
    #[error("unterminated string")]
    OpenString,
    /// A word that `.target` does not know.
    #[error("unknown target `{0}`; expected an architecture such as `sm_90` or an option such as `debug`")]
    UnknownTarget(String),
    /// A second architecture, or a second texture mode.
    #[error("`{second}` contradicts `{first}`")]
    Contradiction {
        /// The first word.
        first: String,
        /// The word that contradicts it.
        second: String,
    },
    /// `.target` without an architecture.
    #[error("the target names no architecture, such as `sm_90`")]
    NoArchitecture,
    /// An address size that no machine has.
    #[error("address size {0}; expected 32 or 64")]
    AddressSize(String),
    /// Digits that are no number of PTX.
    #[error("invalid number `{0}`; expected one such as 42, 0x2A, 0f3F800000 or 1.5")]
    Number(String),
    /// A number that does not fit where it stands.
    #[error("{value} is out of range; expected {expected}")]
    Range {
        /// The number.
        value: String,
        /// The range that is expected.
        expected: &'static str,
    },
    /// An expression of constants without a value.
    #[error("division by zero")]
    DivisionByZero,
    /// Braces, parentheses or operators inside each other, too many times.
    #[error("nested more than {limit} deep")]
    Depth {
        /// The maximum depth.
        limit: usize,
    },
    /// An instruction that is wrong, or that is not simulated.
    #[error("`{instruction}` cannot be run: {why}")]
    Instruction {
        /// Opcode and modifiers.
        instruction: String,
        /// The reason.
        why: String,
    },
    /// A declaration that is wrong or not simulated.
    #[error("{why}")]
    Declaration {
        /// The reason.
        why: String,
    },
    /// A text that is longer than any module.
    #[error("a text of {length} bytes; at most {limit} can be read")]
    Length {
        /// The text's length.
        length: usize,
        /// The longest that is read.
        limit: usize,
    },
}
