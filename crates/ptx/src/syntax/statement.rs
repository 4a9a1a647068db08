//! Statements of a body.

use super::{Operand, ScalarType, Variable, Words};
use crate::error::Position;

/// `{ … }`: statements, and the names declared among them.
#[derive(Clone, Debug, PartialEq)]
pub struct Block<'t> {
    /// The position of the opening brace.
    pub place: Position,
    /// The position of the closing brace.
    pub end: Position,
    /// Its statements, in order.
    pub statements: Vec<Statement<'t>>,
}

/// One statement of a body.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Statement<'t> {
    /// `$L__BB0_2:`
    Label(Label<'t>),
    /// `@%p1 bra $L__BB0_2;`
    Instruction(Instruction<'t>),
    /// `.reg .b32 %r<7>;`
    Registers(Registers<'t>),
    /// `.local .align 8 .b8 frame[16];`, or another space; several in one declaration are a statement each.
    Variable(Box<Variable<'t>>),
    /// `{ … }`
    Block(Block<'t>),
    /// `targets: .branchtargets $L1, $L2;`
    BranchTargets(BranchTargets<'t>),
    /// `targets: .calltargets first, second;`
    CallTargets(CallTargets<'t>),
    /// `shape: .callprototype (.param .b32 _) _ (.param .b64 _);`
    Prototype(Box<Prototype<'t>>),
    /// `.loc 1 23 5`
    Location(Location<'t>),
    /// `.pragma "nounroll";`; several in one directive are a statement each.
    Pragma(Pragma<'t>),
}

/// One string of a `.pragma`: advice to a compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pragma<'t> {
    /// The position of the string.
    pub place: Position,
    /// The string, without quotes.
    pub text: &'t str,
}

/// A place that branches name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'t> {
    /// Its position.
    pub place: Position,
    /// Its name, without the colon.
    pub name: &'t str,
}

/// One instruction: `@!%p1 ld.global.f32 %f1, [%rd4+16];`
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'t> {
    /// Its position, at the guard if it has one.
    pub place: Position,
    /// The guard predicate.
    pub guard: Option<Guard<'t>>,
    /// Its name: `ld`.
    pub opcode: &'t str,
    /// Its modifiers, in order and without the dots: `global`, `f32`. Colons stay: `shared::cluster`.
    pub modifiers: Words<'t>,
    /// Its operands, results first.
    pub operands: Vec<Operand<'t>>,
    /// All of it as it is written, up to the semicolon.
    pub text: &'t str,
}

/// `@%p1` or `@!%p1`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'t> {
    /// The predicate.
    pub register: &'t str,
    /// `true` if it must be false.
    pub negated: bool,
}

/// `.reg .v2 .b32 first, %r<7>;`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers<'t> {
    /// The position of the declaration.
    pub place: Position,
    /// The type of each, or of each element.
    pub scalar: ScalarType,
    /// Elements of each; 1 for scalars.
    pub lanes: u8,
    /// The names.
    pub names: Vec<RegisterName<'t>>,
}

/// A register, or a family of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegisterName<'t> {
    /// The position of the name.
    pub place: Position,
    /// The name, or the common start of the names.
    pub name: &'t str,
    /// `%r<7>` are the seven registers `%r0` to `%r6`; `None` is the one that is called `name`. As large as
    /// the text says.
    pub count: Option<u32>,
}

/// The labels that a `brx.idx` chooses from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchTargets<'t> {
    /// Its position.
    pub place: Position,
    /// The name of the list.
    pub name: &'t str,
    /// The labels, by index.
    pub labels: Vec<&'t str>,
}

/// The functions that an indirect call may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTargets<'t> {
    /// Its position.
    pub place: Position,
    /// The name of the list.
    pub name: &'t str,
    /// The functions.
    pub functions: Vec<&'t str>,
}

/// The prototype of an indirect call: its parameters and results.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype<'t> {
    /// Its position.
    pub place: Position,
    /// The name of the prototype.
    pub name: &'t str,
    /// The results; the names are mostly `_`.
    pub results: Vec<Variable<'t>>,
    /// The parameters; the names are mostly `_`.
    pub parameters: Vec<Variable<'t>>,
    /// `.noreturn`: the call never comes back.
    pub never_returns: bool,
}

/// `.loc 1 23 5, function_name $L__info_string0, inlined_at 1 40 3`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location<'t> {
    /// Its position.
    pub place: Position,
    /// The [`File`](super::File)'s number, line and column of the next instruction.
    pub source: [u32; 3],
    /// The label, and the offset from it, at which `.debug_str` holds the name of the function that was
    /// inlined.
    pub function: Option<(&'t str, u64)>,
    /// File, line and column of the call that it was inlined at.
    pub inlined_at: Option<[u32; 3]>,
}
