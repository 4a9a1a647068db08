//! Graphs in DOT files, as `cuGraphDebugDotPrint` writes them, and their pictures.
//!
//! ```text
//! tokens ─▶ statements ─▶ document (label: kind and fields of a node) ─▶ layers ─▶ layout ─▶ svg
//!                                                                          └────▶ outline: a picture in text
//! ```

mod document;
mod label;
mod layers;
mod layout;
mod outline;
mod statements;
mod svg;
mod tokens;

use std::fmt;

pub(crate) use document::{Document, Graph, Node};

/// A mistake in a DOT file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DotError {
    /// Counted from 1.
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl DotError {
    fn new(line: usize, message: impl Into<String>) -> DotError {
        DotError { line, message: message.into() }
    }
}

impl fmt::Display for DotError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for DotError {}
