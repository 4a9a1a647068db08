//! A safe, explicit, object-level library over the CUDA driver.
//!
//! Everything starts from a [`Driver`]: the system's ([`Driver::load`]) or a simulated machine
//! ([`Driver::open`]); nothing here can tell them apart.
//!
//! ```
//! use warploom::{DevicePool, Driver};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?; // or: Driver::load()?
//! let context = driver.device(0)?.context()?;
//! let stream = context.stream()?;
//! let pool = DevicePool::new(&context)?;
//!
//! let sent = pool.upload(b"there", &stream)?;
//! let mut copy = pool.zeroed(sent.len(), &stream)?;
//! sent.copy_to(&mut copy, &stream)?;
//! assert_eq!(copy.download(&stream)?, b"there");
//! # Ok(())
//! # }
//! ```
//!
//! # Principles
//!
//! - **A value owns its raw handle and holds the owners that the handle depends on.** A [`Stream`] holds its
//!   [`Context`], a [`Buffer`] its [`DevicePool`] and every stream that used it. Every value you hold is
//!   valid, and may be dropped in any order.
//! - **Work is enqueued on a stream you name.** No call has a default stream, and none looks at the thread's
//!   current context; where the driver needs one to be current, the call makes it so and restores the
//!   previous one. A default stream is named, too: [`Context::legacy_stream`],
//!   [`Context::per_thread_stream`].
//! - **Waiting is a choice**: a thread ([`Stream::synchronize`]), another stream ([`Stream::wait_for`]), a
//!   task ([`Stream::completion`]), or a function that is called in turn ([`Stream::host`]).
//! - **No call keeps the caller's host memory.** Copies from and to the host go through memory of their own
//!   and wait, or take a [`PinnedBuffer`] along and do not.
//! - **Device memory is freed after its last use**, on whichever streams that was; see [`Buffer`].
//! - **A failure is a value** that names the call, the code and its meaning; see [`Error`]. A failure in a
//!   `drop` is reported to a hook, or to `tracing`; see [`diagnostics`].
//! - **A captured graph keeps the memory and code it uses**, and no drop spoils a capture; see [`capture`].
//! - **Leaks can be found**: [`leaks`] lists the live objects, by kind, device and bytes.
//!
//! # Memory for several devices
//!
//! [`DevicePool::peers`] is the set of devices that may use a pool's memory. It lives in the driver, which is
//! asked by every read and told by every change, however large, with one call; see [`LiveSet`] and
//! [`PeerSet`].
//!
//! ```
//! use warploom::{DevicePool, Driver, LiveSet};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let driver = Driver::open(&warploom_sim::Machine::preset("dgx-h100")?)?;
//! let pool = DevicePool::new(&driver.device(0)?.context()?)?;
//! pool.peers().extend(driver.devices()?)?;
//! assert_eq!(pool.peers().len()?, 7);
//! # Ok(())
//! # }
//! ```
//!
//! # Memory for several processes
//!
//! A pool made with [`PoolOptions::shareable`] is imported by other processes, which use its buffers without
//! a copy; see [`ipc`].
//!
//! # Several devices at once
//!
//! A [`Topology`] has the peer capabilities of devices, a [`Mesh`] enables access, and [`Mesh::copy`] copies
//! between devices in order with everything else that uses either end, without a wait of the host.

mod callback;
pub mod capture;
mod completion;
mod context;
mod device;
pub mod diagnostics;
#[cfg(any(feature = "nccl", feature = "nvrtc", feature = "nvtx"))]
mod dynamic_library;
mod error;
mod event;
pub mod graph;
mod handle;
#[cfg(unix)]
pub mod ipc;
mod kernel;
pub mod leaks;
mod live_set;
mod location;
mod memory;
mod mesh;
#[cfg(feature = "nccl")]
pub mod nccl;
#[cfg(feature = "nvtx")]
pub mod nvtx;
mod peers;
pub mod prelude;
#[cfg(feature = "nvrtc")]
pub mod program;
mod queue;
mod reclaimer;
mod stream;
mod topology;

pub use capture::CaptureError;
pub use completion::{Completion, HostReturn, Point};
pub use context::{
    CachePreference, Context, ContextError, ContextId, ContextOptions, GenerationChange, GenerationWatch, Limit,
    MemoryInfo, PriorityRange, ProfilerRange, Scheduling,
};
pub use device::{
    ComputeCapability, ComputeMode, Device, DeviceAttribute, DeviceError, Driver, PciAddress, Properties, Uuid,
};
pub use error::{Error, Malformed, Result};
pub use event::{Event, EventError, EventOptions, Timed, Timing, Untimed};
pub use graph::{GraphDef, GraphError, GraphExec};
pub use kernel::{
    Argument, ArgumentList, Arguments, ArgumentsFor, BlockSuggestion, CheckedConfig, Dimensions, Fits, JitOptions,
    Kernel, KernelAttribute, KernelAttributes, LaunchConfig, LaunchError, Library, LibraryError, ListArgument,
    Occupancy, Parameter, ParameterInfo, Parameters, Shape, TypedKernel, UsedMemory, Using,
};
pub use live_set::LiveSet;
pub use location::{Host, Location, LocationError, NumaId};
#[cfg(feature = "bytemuck")]
pub use memory::Plain;
pub use memory::{
    AccessedBy, Advice, Buffer, CacheOptions, CacheStatistics, Cached, CastError, CopyError, CopyOptions, Counted,
    Counts, DefaultResource, DeviceCopy, DeviceMemory, DevicePool, FreeError, Granularity, GraphPool, GrowError,
    HostSlice, HostSliceMut, Limited, Locations, Logged, ManagedBuffer, ManagedError, ManagedMemory, ManagedPool,
    ManagedRange, ManagedRangeMut, MemoryError, MemoryKind, OrderedResource, OtherStreams, Pending, PinnedBuffer,
    PinnedMemory, PinnedOptions, PinnedPool, PinnedReturn, PoolOptions, PoolStatistics, Reuse, Rows, RowsMut, Slice,
    SliceMut, SourceOrder, StreamOrdered, Synchronous, SynchronousResource, VirtualMemory, VirtualMemoryError,
    VirtualOptions, Volume, VolumeMut, VolumeShape, WeakAllocation, advise, copy_batch, copy_batch_with, discard_batch,
    discard_prefetch_batch, prefetch_batch,
};
pub use mesh::{CopyPolicy, EnableReport, Mesh, MeshReport, PairReport, PeerOutcome, PoolReport, Ticket};
pub use peers::{AccessLayer, AccessLevel, DeviceRef, PeerError, PeerSet};
pub use queue::Queue;
pub use stream::{
    CaptureStatus, Comparison, HostTask, Priority, Stream, StreamError, StreamOptions, StreamWord, WordValue,
};
pub use topology::{Link, Pair, PeerAtomics, Topology};
pub use warploom_derive::DeviceCopy;
pub use warploom_driver::{CallCounter, CallRecorder, DriverError, DriverId, DriverVersion, Function};
pub use {warploom_driver as driver, warploom_driver::sys};

/// The version of this crate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/peers.md")]
struct Peers;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-cuda-core.md")]
struct FromCudaCore;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/from-cudarc.md")]
struct FromCudarc;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/first-kernel.md")]
struct FirstKernel;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/finding-races.md")]
struct FindingRaces;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/managed-memory.md")]
struct ManagedMemoryGuide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/capture.md")]
struct CaptureGuide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/graphs.md")]
struct GraphGuide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/several-gpus.md")]
struct SeveralGpus;

#[cfg(all(doctest, unix))]
#[doc = include_str!("../../../docs/processes.md")]
struct SeveralProcesses;
