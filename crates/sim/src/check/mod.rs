//! Checks of the programs that run on a machine.
//!
//! Every op is checked when it is enqueued, in any order of execution: may it touch these bytes, and is it
//! ordered against all other accesses to them? Clocks answer the second question, so a missing wait is found
//! even in a run that was right by luck.
//!
//! ```text
//!   call ─▶ enter (site) ─▶ enqueue ─▶ Checker ─▶ known     the steps that are over before the op
//!                                         │         ▲
//!                                         │         └── events, waits, synchronises, the default stream
//!                                         └──▶ shadow memory   the earlier accesses to these bytes
//! ```
//!
//! - A *timeline* is a stream, or the host. Each op is a step of its stream's timeline.
//!   [`Known`](warploom_engine::Known) is a vector clock over them. It goes wherever the engine's own clock
//!   goes (records, waits, the default stream's order), and also to and from the host: the ops of a thread
//!   come behind all that the thread has seen to be over.
//! - [Shadow memory](crate::memory::shadow) remembers, for each piece of memory, the accesses that a later
//!   one can still race with, and the bytes that were written.
//! - Memory of a pool exists from a step of the allocating stream to a step of the freeing one; other memory
//!   from one call to another. Both ends are checked like accesses.
//!
//! Accesses of the host to page-locked and managed memory are no calls. A Rust program announces them with
//! [`Machine::host_access`](crate::Machine::host_access).
//!
//! Streams that wait for a value in memory are not checked for races until the wait is over: only then is the
//! write known that ended it.
//!
//! Memory that several processes share has a journal of their accesses, and shared events carry clocks: see
//! [`Processes`].
//!
//! Nothing here knows the machine: the functions take the [`Parts`] that they compare.

mod bodies;
mod checker;
mod kernels;
mod memory;
mod pending_kernels;
mod processes;
mod report;
mod streams;

pub use report::{
    Absence, AbsentBlock, Backtraces, BarrierDivergence, CheckMode, Checks, CopySide, Finding, FindingKind,
    HandleProblem, HeapMisuse, HeapProblem, Instead, KernelChecks, KernelFault, KernelRace, LeakOwner, Leaked,
    MissingOrder, MissingWait, ObjectKind, RacedMemory, SharedRead, ThreadAccess, ThreadInfo, UnfinishedCopy,
};

pub(crate) use bodies::{BodyPlace, BodyRun, ReportedPairs};
pub(crate) use checker::{Checker, Parts};
pub(crate) use kernels::Watched;
pub(crate) use memory::{memory_leak, object_leak, reservation_leak};
pub(crate) use processes::Processes;
pub(crate) use report::{Findings, KernelHazard, emit};
pub(crate) use streams::Drafts;
