//! A CUDA driver in memory: any number of virtual GPUs behind the same table of functions as the real one.
//!
//! Run a program on a machine without a GPU, and find its mistakes: start a [`Machine`], open its driver, and
//! read the findings.
//!
//! ```
//! use warploom_driver::Driver;
//! use warploom_sim::{Checks, FindingKind, Machine};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let machine = Machine::builder().checks(Checks::report()).start()?; // one H200
//! let driver = Driver::open(&machine)?;
//! driver.initialize()?;
//! let (mut context, mut memory) = (std::ptr::null_mut(), 0);
//! // Sound, since the outputs are writable.
//! unsafe {
//!     driver.cuDevicePrimaryCtxRetain(&mut context, 0)?;
//!     driver.cuCtxSetCurrent(context)?;
//!     driver.cuMemAlloc_v2(&mut memory, 64)?;
//!     driver.cuMemFree_v2(memory)?;
//!     assert!(driver.cuMemFree_v2(memory).is_err());
//! }
//! assert!(matches!(machine.findings()[0].kind, FindingKind::DoubleFree { .. }));
//! println!("{}", machine.findings()[0]); // double free: cuMemFree_v2 (call 6) frees the 64 bytes at …
//! # Ok(())
//! # }
//! ```
//!
//! A machine is described by a [`Topology`](topology::Topology): a preset, a builder or a TOML file. Its driver
//! is reached as the real one is, through C functions found by name and version ([`Machine::source`]), and
//! answers as the real one answers. A function that is not simulated answers `NOT_SUPPORTED`, and
//! [`Machine::log`] names it. Programs in other languages use the same driver as `libcuda.so.1`
//! (`warploom-libcuda`).
//!
//! | | |
//! |---|---|
//! | [`Machine`], [`MachineBuilder`] | start a machine; its log, findings, leaks, trace and timeline |
//! | [`topology`] | devices, links, driver version; presets and files |
//! | [`Mode`], [`Order`] | the order of work: asynchronous, or reproducible by a seed |
//! | [`Checks`], [`Finding`], [`FindingKind`] | data races, bad accesses, misused handles, leaks |
//! | [`KernelChecks`] | data races and barriers among the threads of a kernel |
//! | [`fault`] | plans that make driver calls fail |
//! | [`trace`] | call counts, bytes, and timelines |
//!
//! ```text
//!   C caller ─▶ abi: entry points, slots ─▶ api: one folder per family ─▶ machine: state, work, clock
//!                                                                            │
//!                                              check: happens-before, findings ─▶ memory: address space, pages
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
pub use instance::{
    CodeImage, CodeImageKind, CodeRefusal, CodeText, HandOver, HostAccess, HostAccessError, Machine, MachineBuilder,
    StartError,
};
pub use machine::census::{Census, Change, KindChange, Resource};
pub use machine::log::{LogEntry, LogKind};
pub use memory::Residence;
pub use memory::shadow::{AccessKind, AllocationInfo, Frame, GraphNode, Operation, StreamInfo, StreamKind};
pub use warploom_engine::{HostOrder, Mode, Order};
