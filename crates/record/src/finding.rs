//! Findings of the checks, with the places in the program that they are about.

use serde::{Deserialize, Serialize};

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The kind, such as `race` or `use_after_free`.
    pub kind: String,
    /// The finding in one line.
    pub title: String,
    /// Advice and details, a line each.
    pub details: Vec<String>,
    /// The call in which it was found; leaks at the end have none.
    pub call: Option<u64>,
    /// The operations that take part: both sides of a race, the allocation.
    pub sites: Vec<Site>,
}

/// An operation that takes part in a finding, and its place in the program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// Its part, such as `first`, `second` or `allocated`.
    pub role: String,
    /// The operation in words.
    pub operation: String,
    /// The number of its call; a host access has none.
    pub call: Option<u64>,
    /// The process that made the call, if it is another one.
    pub process: Option<u32>,
    /// The backtrace, innermost first; empty if it is not known.
    pub frames: Vec<Frame>,
    /// Lines of the source around the place.
    pub source: Option<Source>,
}

/// A line of a backtrace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// The function.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
}

/// Lines of a source file around a place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file.
    pub file: String,
    /// The line of the place.
    pub line: u32,
    /// The lines around it; none if the file could not be read.
    pub lines: Vec<SourceLine>,
}

/// A line of source code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// Its number, from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
}
