//! A safe, explicit, object-level library over the CUDA driver.
//!
//! Allocate memory on a GPU, copy to it and back. Every program starts from a [`Driver`]: the system's
//! ([`Driver::load`]), or that of a simulated machine ([`Driver::open`]) where there is no GPU.
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
//! # Map
//!
//! | task | types |
//! |---|---|
//! | find a driver and its devices | [`Driver`], [`Device`], [`Context`] |
//! | allocate | [`DevicePool`], [`DeviceMemory`], [`PinnedMemory`], [`ManagedMemory`], [`VirtualMemory`], [`Cached`] |
//! | use memory | [`Buffer`], [`Slice`], [`SliceMut`], [`Rows`], [`Volume`], [`DeviceCopy`] |
//! | order work | [`Stream`], [`Event`], [`Completion`], [`HostTask`] |
//! | launch kernels | [`Library`], [`Kernel`], [`TypedKernel`], [`LaunchConfig`], [`Arguments`] |
//! | build and capture graphs | [`graph`], [`GraphDef`], [`GraphExec`], [`capture`] |
//! | use several GPUs | [`Topology`], [`Mesh`], [`Ticket`], [`PeerSet`], [`LiveSet`] |
//! | share with other processes | [`ipc`] |
//! | compile CUDA C++ and NVVM IR | `program`, with the feature `nvrtc` |
//! | run collectives | `nccl`, with the feature `nccl` |
//! | profile | `nvtx`, with the feature `nvtx`; [`ProfilerRange`] |
//! | handle failures, find leaks | [`Error`], [`diagnostics`], [`leaks`] |
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
//!
//! # Features
//!
//! None is on by default, and none needs CUDA to build: libraries are looked for when the program runs.
//!
//! | feature | adds |
//! |---|---|
//! | `bytemuck` | types that are `Pod` for that crate, as values on devices |
//! | `half` | `f16` and `bf16` of that crate, as values on devices |
//! | `num-complex` | complex numbers of that crate, as values on devices |
//! | `nccl` | collective operations by NCCL |
//! | `nvrtc` | programs in CUDA C++ by NVRTC and in NVVM IR by libNVVM |
//! | `nvtx` | ranges and marks of NVTX |
//! | `serde` | compiled code, descriptors and locations that are written and read by that crate |
//!
//! # Platforms
//!
//! Linux on x86-64 and ARM, and Windows; on macOS, which has no CUDA driver, [`Driver::load`] answers
//! `DriverNotFound`. The module `ipc` is there on Linux. Simulated machines need Linux.
//!
//! # Tests
//!
//! Code that uses this crate is tested without a GPU by the crate `warploom-test`.

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
#[cfg(target_os = "linux")]
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
    CaptureStatus, Comparison, HostTask, Priority, Stream, StreamError, StreamOptions, StreamWord, WordOperation,
    WordValue,
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
#[doc = include_str!("../../../docs/checks.md")]
struct ChecksGuide;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/simulator.md")]
struct Simulator;

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

#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../../../docs/processes.md")]
struct SeveralProcesses;
