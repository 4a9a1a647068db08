//! A CUDA driver in memory: any number of virtual GPUs behind the same table of functions as the real one.
//!
//! A [`Machine`] has devices, links and a driver version, described by a [`Topology`](topology::Topology): a
//! preset, a builder or a TOML file. Its driver is reached exactly as the real one is, through C functions
//! found by name and version ([`Machine::source`]). What it does not simulate answers `NOT_SUPPORTED` and
//! says so in [`Machine::log`]; what it does simulate answers as the real driver answers.
//!
//! Work is asynchronous for real by default; [`Mode`] makes it reproducible instead.
//!
//! ```text
//!   C caller ─▶ shims ─▶ entry ─▶ implemented ─▶ init, device, context, stream, event, memory …   one file a family
//!                         │                        │
//!                         │                      world ─▶ engine (ops in order), memory (address space), clock
//!                       slots: which machine
//! ```

mod abi;
mod api;
mod check;
pub mod fault;
mod ffi;
mod instance;
mod machine;
mod memory;
mod process;
mod rules;
pub mod trace;

pub use warploom_topology as topology;

pub use check::{
    Absence, AbsentBlock, Backtraces, BarrierDivergence, CheckMode, Checks, CopySide, Finding, FindingKind,
    HandleProblem, HeapMisuse, HeapProblem, Instead, KernelChecks, KernelFault, KernelRace, LeakOwner, Leaked,
    MissingOrder, MissingWait, ObjectKind, RacedMemory, SharedRead, ThreadAccess, ThreadInfo, UnfinishedCopy,
};
pub use ffi::codes::{status_name, status_text};
pub use instance::{HandOver, HostAccess, HostAccessError, Machine, MachineBuilder, StartError};
pub use machine::census::{Census, Change, KindChange, Resource};
pub use machine::log::{LogEntry, LogKind};
pub use memory::Residence;
pub use memory::shadow::{AccessKind, AllocationInfo, Frame, GraphNode, Operation, StreamInfo, StreamKind};
pub use warploom_engine::{HostOrder, Mode, Order};
