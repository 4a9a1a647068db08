//! Checks of the programs that run on a machine.
//!
//! Two questions are asked of every op when it is enqueued, whatever order it will run in: *may it touch these bytes*, and
//! *is it ordered against everyone else who does*. The second is answered by clocks, so it does not matter how the run
//! happened to go: a missing wait is found in a run that was right by luck.
//!
//! ```text
//!   call ─▶ enter (site: which call) ─▶ enqueue ─▶ watch ─▶ known    what is certain to be over before the op?
//!                                                     │        ▲
//!                                                     │        └── events, waits, synchronises, the default stream
//!                                                     └──▶ shadow   who touched these bytes before?
//! ```
//!
//! - A *timeline* is a stream, or the host. Each op is a step of its stream's timeline. [`Known`](warploom_engine::Known) is a vector clock over them;
//!   it goes wherever the engine's own clock goes (records, waits, the default stream's order), and also to and from the
//!   host: what a thread enqueues comes behind what it has seen to be over.
//! - [`shadow`] remembers, for each piece of memory, the accesses that a later one can still race with, and which bytes
//!   were written.
//! - Memory of a pool exists from a step of the allocating stream to a step of the freeing one; other memory from one call
//!   to another. Both ends are checked like accesses.
//!
//! What the host does to page-locked and managed memory is not a call. A Rust program says it with
//! [`Machine::host_access`](crate::Machine::host_access).
//!
//! Streams that wait for a value in memory are not checked for races until the wait is over: only then is it known whose
//! write ended it.

mod free;
mod handles;
mod host;
mod kernel;
mod leak;
mod outside;
mod report;
mod watch;

pub use host::{HandOver, HostAccess, HostAccessError};
pub use report::{
    Absence, AbsentBlock, Backtraces, BarrierDivergence, CheckMode, Checks, CopySide, End, Finding, FindingKind,
    HandleProblem, HeapMisuse, HeapProblem, Instead, KernelChecks, KernelFault, KernelRace, Leaked, MissingOrder,
    MissingWait, ObjectKind, RacedMemory, SharedRead, ThreadAccess, ThreadInfo, UnfinishedCopy,
};

pub(crate) use kernel::{Late, Watched};
pub(crate) use report::{Findings, KernelHazard};
