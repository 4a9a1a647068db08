//! Arithmetic of the instructions on plain values: no registers, no lanes, no memory.
//!
//! Everything but [`approximate`] gives the bits that an H200 gives: the simulator's test of single
//! instructions compares them, variant by variant. Rounding to nearest uses the processor's own arithmetic;
//! every other rounding goes through [`soft`], which computes exactly with integers and rounds once.

pub(crate) mod approximate;
pub(crate) mod bits;
pub(crate) mod carry;
pub(crate) mod compare;
pub(crate) mod convert;
pub(crate) mod dot;
pub(crate) mod extreme;
pub(crate) mod float;
pub(crate) mod half;
pub(crate) mod integer;
pub(crate) mod round;
pub(crate) mod soft;
pub(crate) mod video;
