//! The interpreter of kernels: grids, blocks, warps, instructions.
//!
//! ```text
//!   Grid ── Block… ─┬─ shared memory, barriers
//!                   └─ Warp… ─┬─ Group…   lanes that stand at one instruction of one frame
//!                             ├─ Frame…   a function that is running: registers, where it returns to
//!                             └─ local memory
//! ```
//!
//! A warp advances in lockstep: an instruction is carried out for all lanes of a group at once. Where lanes part, the group
//! is split, and the one that stands at the lowest instruction of the innermost function goes first; when it meets
//! another, the two become one again. A group that spins while others wait is overtaken after a while, so lanes that wait
//! for each other all get on.
//!
//! Everything is plain data: a block can be stopped after any instruction and go on later, on another thread too; a [`Crew`]
//! runs several at once.

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
pub use grid::{Grid, Step};
