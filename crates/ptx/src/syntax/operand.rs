//! Operands of instructions.

use super::Immediate;

/// An operand of an instruction.
///
/// A name can be that of a register, a variable or a function: registers need no `%` in front, and a
/// variable's or function's name stands for its address.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Operand<'t> {
    /// `%r1`, `%laneid`, `table`, `$L__BB0_2`
    Name(&'t str),
    /// `%tid.x`, `vector.y`
    Element {
        /// The vector.
        name: &'t str,
        /// Its element, without the dot.
        element: &'t str,
    },
    /// `7`, `0f3F800000`, `(2*3)`
    Immediate(Immediate),
    /// `!%p1`
    Not(&'t str),
    /// `-%r1`, `-%r1.h0`
    Negated(Box<Operand<'t>>),
    /// `_`: an unused result.
    Sink,
    /// `%p1|%p2`: two results, of which `None` is `_`.
    Pair(Option<&'t str>, Option<&'t str>),
    /// `table+16`: an address as a value.
    Sum {
        /// The variable.
        name: &'t str,
        /// Bytes from its start.
        offset: i64,
    },
    /// `[%rd1+4]`
    Address(Address<'t>),
    /// `table[3]`: an element of an array in memory.
    Subscript {
        /// The array.
        name: &'t str,
        /// The index of the element.
        index: Box<Address<'t>>,
    },
    /// `{%f1, %f2, _, 0f00000000}`
    Vector(Vec<Operand<'t>>),
    /// `[texture, {%f1, %f2}]`: several operands in one pair of brackets.
    Bracketed(Vec<Operand<'t>>),
    /// `(argument0, argument1)`: arguments or results of a call.
    Parenthesized(Vec<Operand<'t>>),
}

/// Memory that an instruction reads or writes: `[%rd1+4]`, `[table+-8]`, `[64]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'t> {
    /// The base of the address.
    pub base: Base<'t>,
    /// Bytes from the base.
    pub offset: i64,
    /// `true` if `.unified` follows the brackets.
    pub unified: bool,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base<'t> {
    /// A register's value or a variable's start.
    Name(&'t str),
    /// An element of a vector register.
    Element(&'t str, &'t str),
    /// The start of the space: the offset is the address.
    Zero,
}
