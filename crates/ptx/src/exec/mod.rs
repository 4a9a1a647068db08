//! The interpreter of kernels: grids, blocks, warps, instructions.
//!
//! ```text
//!   grid         Grid ── Block… ─┬─ shared memory, barriers
//!   warp                         └─ Warp… ─┬─ Group…   lanes at one instruction of one frame
//!                                          ├─ Frame…   a call: registers, return address
//!                                          └─ local memory
//!   interpreter  the loop over instructions: fast path first, then
//!   instruction  one file for each kind of instruction: lane by lane, with traps
//!   memory       accesses of a whole warp at once, by their access pattern
//!   compute      registers to registers
//! ```
//!
//! Each line uses those below it. A warp advances in lockstep: an instruction is carried out for all lanes of
//! a group at once. Where lanes diverge, the group is split, and the one at the lowest instruction of the
//! innermost function goes first; when it meets another, the two become one again. A group that spins while
//! others wait is overtaken after a while, so that lanes that wait for each other all make progress.
//!
//! Everything is plain data: a block can be stopped after any instruction and resumed on another thread; a
//! [`Crew`] runs several at once.

mod compute;
mod context;
mod grid;
mod instruction;
mod interpreter;
mod memory;
mod registers;
mod warp;

pub use grid::block::Block;
pub use grid::crew::Crew;
pub use grid::{Cost, Grid, Step};
