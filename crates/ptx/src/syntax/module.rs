//! Modules: a whole text.

use super::{Function, Header, Pragma, Variable};
use crate::error::Position;

/// A PTX text, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Module<'t> {
    /// The header.
    pub header: Header,
    /// The variables outside of functions, in the order of the text.
    pub variables: Vec<Variable<'t>>,
    /// Functions, with a body or without, in the order of the text; a name may be declared several times.
    pub functions: Vec<Function<'t>>,
    /// Other names of functions.
    pub aliases: Vec<Alias<'t>>,
    /// The source files that [`Location`](super::Location)s count.
    pub files: Vec<File<'t>>,
    /// Debug information.
    pub sections: Vec<Section<'t>>,
    /// The strings of `.pragma` outside of functions.
    pub pragmas: Vec<Pragma<'t>>,
}

/// `.alias name, function;`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias<'t> {
    /// Its position.
    pub place: Position,
    /// The other name.
    pub name: &'t str,
    /// The function that has it.
    pub function: &'t str,
}

/// `.file 1 "saxpy.cu"`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'t> {
    /// The number by which `.loc` names it.
    pub number: u32,
    /// The path, as it stands between the quotes.
    pub path: &'t str,
}

/// `.section .debug_str { … }`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'t> {
    /// Its position.
    pub place: Position,
    /// Its name, with the dot in front.
    pub name: &'t str,
    /// The contents between its braces: labels, and numbers by type.
    pub text: &'t str,
}
