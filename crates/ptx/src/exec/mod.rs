//! Runs kernels.
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

pub(crate) mod access;
mod atomic;
mod barrier;
mod block;
mod call;
mod change;
mod cluster;
mod coalesced;
mod collective;
mod compute;
mod crew;
mod direct;
mod frame;
mod grid;
mod group;
mod host;
mod local;
mod matrix;
mod memory;
mod memory_barrier;
mod print;
mod processor;
mod reach;
mod registers;
mod shared;
mod special;
mod spread;
mod step;
mod straight;
mod survey;
mod transfer;
mod trap;
mod vec_memory;
mod warp;
mod whole;
mod wide;

pub use access::{Access, Fault};
pub use block::Block;
pub use crew::Crew;
pub use direct::Direct;
pub(crate) use grid::place_of;
pub use grid::{Grid, Launch, LaunchError, Step};
pub use host::{Event, Freed, Host, Touch};
pub use memory::{HeapProblem, Memory};
pub use trap::{Trap, TrapKind};
pub use vec_memory::VecMemory;
