//! Linking of several PTX texts into one.
//!
//! ```text
//!   Part (a text, checked alone) ─┐
//!   Part ─────────────────────────┼─▶ names: definitions and references ─▶ merge: one text
//!   Part ─────────────────────────┘          └─▶ Conflict…
//! ```
//!
//! Internal symbols stay internal, under new names where two texts have the same. Of several `.weak`
//! definitions the first holds, unless there is a strong one; of several `.common` ones the largest. Debug
//! sections are left out; source lines are kept.

mod bound;
mod merge;
mod names;

use std::fmt;

use crate::error::Error;
use crate::program::Program;
use crate::syntax::{Header, Module};
use names::Names;

/// A text that others are added to.
///
/// ```
/// use warploom_ptx::Program;
/// use warploom_ptx::link::{Part, link};
///
/// let header = ".version 8.7 .target sm_90 .address_size 64";
/// let kernel = format!("{header} .extern .func f(); .visible .entry k() {{ call f; ret; }}");
/// assert!(Program::from_text(&kernel).is_err(), "`f` has no body");
/// let kernel = Part::new("kernel", &kernel)?;
/// let missing = link(&[kernel.clone()], 90).unwrap_err();
/// assert_eq!(missing[0].to_string(), "Undefined reference to 'f' in 'kernel'");
///
/// let function = Part::new("function", &format!("{header} .visible .func f() {{ ret; }}"))?;
/// let text = link(&[kernel, function], 90).expect("all is there");
/// assert!(Program::from_text(&text)?.kernel("k").is_some());
/// # Ok::<(), warploom_ptx::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    name: String,
    text: String,
    header: Header,
}

impl Part {
    /// Reads a text, which may call functions that it does not define; the name is for people.
    pub fn new(name: &str, text: &str) -> Result<Part, Error> {
        let module = Module::parse(text)?;
        Program::check(text, &module)?;
        Ok(Part { name: name.to_owned(), text: text.to_owned(), header: module.header })
    }

    /// The same part, with a bound on the registers of kernels whose directives have none.
    ///
    /// ```
    /// use warploom_ptx::Program;
    /// use warploom_ptx::link::{Part, link};
    ///
    /// let text = ".version 8.7 .target sm_90 .address_size 64 .visible .entry k() { ret; }";
    /// let linked = link(&[Part::new("kernel", text)?.with_max_registers(32)], 90).expect("all is there");
    /// assert_eq!(Program::from_text(&linked)?.kernel("k").and_then(|kernel| kernel.register_bound()), Some(32));
    /// # Ok::<(), warploom_ptx::Error>(())
    /// ```
    #[must_use]
    pub fn with_max_registers(self, registers: u32) -> Part {
        Part { text: bound::bounded(&self.text, registers), ..self }
    }

    /// The name of the part, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A conflict between parts over a symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The kind of conflict.
    pub kind: ConflictKind,
    /// The name that it is about.
    pub symbol: String,
    /// The part in which it is wrong.
    pub part: String,
    /// The part that has the name first; the same part where there is no other.
    pub first: String,
}

/// The kinds of conflicts between texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConflictKind {
    /// No part defines it.
    Undefined,
    /// Two define it.
    Multiple,
    /// Not the same parameters and results.
    Prototype,
    /// Not as large.
    Size,
    /// Not in the same state space.
    Space,
}

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Conflict { kind, symbol, part, first } = self;
        match kind {
            ConflictKind::Undefined => write!(formatter, "Undefined reference to '{symbol}' in '{part}'"),
            ConflictKind::Multiple => {
                write!(formatter, "Multiple definition of '{symbol}' in '{part}', first defined in '{first}'")
            }
            ConflictKind::Prototype => {
                write!(formatter, "Prototype doesn't match for '{symbol}' in '{part}', first defined in '{first}'")
            }
            ConflictKind::Size => {
                write!(formatter, "Size doesn't match for '{symbol}' in '{part}', first specified in '{first}'")
            }
            ConflictKind::Space => {
                write!(formatter, "Memory space doesn't match for '{symbol}' in '{part}', first specified in '{first}'")
            }
        }
    }
}

/// Makes one text of several, for an architecture that can run each of them.
///
/// # Errors
///
/// Everything that the texts do not agree about.
pub fn link(parts: &[Part], architecture: u32) -> Result<String, Vec<Conflict>> {
    let read: Vec<_> = parts.iter().filter_map(|part| Module::parse_items(&part.text).ok()).collect();
    debug_assert_eq!(read.len(), parts.len(), "each has been read before");
    let modules: Vec<&Module<'_>> = read.iter().map(|(module, _)| module).collect();
    let names = Names::new(parts, &modules);
    let conflicts = names.conflicts();
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut merged = merge::header(parts.iter().map(|part| &part.header), architecture);
    let mut files = 0;
    for (index, (module, items)) in read.iter().enumerate() {
        let text = &parts[index].text;
        files += merge::append(&mut merged, &merge::Source { names: &names, index, module, items, text, files });
    }
    Ok(merged)
}
