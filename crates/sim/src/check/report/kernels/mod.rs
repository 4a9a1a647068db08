//! Findings inside kernels: hazards between threads, and faults.

mod absent_block;
mod barrier;
mod fault;
mod hazard;
mod heap_misuse;
mod race;
mod shared_read;
mod thread;
mod unfinished_copy;

pub use absent_block::{Absence, AbsentBlock};
pub use barrier::{BarrierDivergence, Instead};
pub use fault::KernelFault;
pub(crate) use hazard::KernelHazard;
pub use heap_misuse::{HeapMisuse, HeapProblem};
pub use race::{KernelRace, MissingOrder};
pub use shared_read::SharedRead;
pub use thread::{RacedMemory, ThreadAccess, ThreadInfo};
pub use unfinished_copy::{CopySide, UnfinishedCopy};
