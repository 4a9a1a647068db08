//! Errors of loading libraries and launching kernels.

use std::path::PathBuf;

use super::{Dimensions, KernelAttribute};
use crate::PriorityRange;

/// A launch that was refused before the driver was called.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LaunchError {
    /// A dimension is 0.
    #[error("a {what} of {dimensions} has a dimension of 0; each must be at least 1")]
    Empty {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// The requested value.
        dimensions: Dimensions,
    },

    /// The block exceeds the device's limit in a dimension.
    #[error("a block of {block} exceeds the device's limit of {limit}; use a smaller block")]
    BlockTooLarge {
        /// The requested value.
        block: Dimensions,
        /// The limit in each dimension.
        limit: Dimensions,
    },

    /// The block has too many threads for the kernel.
    #[error("a block of {block} has {} threads; this kernel has at most {limit} in a block", block.total())]
    TooManyThreads {
        /// The requested value.
        block: Dimensions,
        /// The most threads, given the kernel's registers and shared memory.
        limit: u32,
    },

    /// The grid exceeds the device's limit in a dimension.
    #[error("a grid of {grid} exceeds the device's limit of {limit}; let each thread do more")]
    GridTooLarge {
        /// The requested value.
        grid: Dimensions,
        /// The limit in each dimension.
        limit: Dimensions,
    },

    /// The dynamic shared memory exceeds the kernel's limit.
    #[error(
        "{bytes} bytes of dynamic shared memory exceed this kernel's limit of {limit}; raise it with \
         `KernelAttribute::MaxDynamicShared`, up to the device's limit"
    )]
    SharedMemory {
        /// The requested value.
        bytes: u32,
        /// The most.
        limit: u32,
    },

    /// The device has no clusters.
    #[error("device {device} has no clusters; they came with compute capability 9.0")]
    NoClusters {
        /// The device.
        device: u32,
    },

    /// The grid is not a whole number of clusters.
    #[error("a grid of {grid} blocks is not a whole number of clusters of {cluster}; round it up")]
    PartOfCluster {
        /// The blocks that were asked for.
        grid: Dimensions,
        /// The blocks of a cluster.
        cluster: Dimensions,
    },

    /// The cluster has more blocks than the device runs together.
    #[error(
        "a cluster of {cluster} has {} blocks; this kernel has at most {limit} in a cluster: use smaller clusters, or \
         set `KernelAttribute::NonPortableClusterSize`",
        cluster.total()
    )]
    ClusterTooLarge {
        /// The blocks of a cluster.
        cluster: Dimensions,
        /// The most blocks of a cluster with this configuration.
        limit: u32,
    },

    /// The device has no cooperative launches.
    #[error("device {device} has no cooperative launches; launch without cooperation")]
    NotCooperative {
        /// The device.
        device: u32,
    },

    /// The blocks of a cooperative launch do not fit the device at once.
    #[error("a cooperative launch of {blocks} blocks does not fit the device; at most {limit} run at once")]
    TooManyCooperativeBlocks {
        /// The requested value.
        blocks: u64,
        /// The most.
        limit: u64,
    },

    /// An attribute of the kernel cannot have the value, or cannot be set.
    #[error(
        "the driver refuses {value} for {attribute:?} of the kernel on device {device}, which stays {current}; set a value \
         that the device has, as `Properties` says, if the attribute can be set"
    )]
    AttributeRefused {
        /// The attribute.
        attribute: KernelAttribute,
        /// The value asked for.
        value: i32,
        /// The value that it has.
        current: i32,
        /// The device.
        device: u32,
    },

    /// The context has no such priority.
    #[error("a launch cannot have priority {priority}; there are {range}")]
    PriorityOutOfRange {
        /// The requested value.
        priority: i32,
        /// The range that exists.
        range: PriorityRange,
    },

    /// A configuration was checked for another kernel, or another device.
    #[error("the configuration was checked for another kernel or device; check it for this one")]
    CheckedElsewhere,

    /// The number of arguments differs from the number of parameters.
    #[error("{given} arguments were given; the kernel has {takes} parameters")]
    ArgumentCount {
        /// The number given.
        given: usize,
        /// The number of parameters.
        takes: usize,
    },

    /// The size of an argument differs from that of its parameter.
    #[error("argument {index} has {given} bytes; the kernel's parameter has {takes}")]
    ArgumentSize {
        /// Its index, from 0 on.
        index: usize,
        /// Its size.
        given: usize,
        /// The size of the parameter.
        takes: usize,
    },
}

/// Code that cannot be loaded, or that lacks the kernel or variable asked for.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LibraryError {
    /// The driver could not load the code, and its compiler wrote a log.
    #[error("{error}; the compiler says: {log}")]
    NotLoaded {
        /// The driver's error.
        error: warploom_driver::Error,
        /// The compiler's log.
        log: Box<str>,
    },

    /// PTX text with a zero byte in it.
    #[error("PTX with a zero at byte {position}; load a binary with Library::from_bytes")]
    NulInText {
        /// The position of the zero.
        position: usize,
    },

    /// A text that begins with the magic number of a binary.
    #[error("the PTX begins like {format}, which drivers read without checks; load a binary with Library::from_bytes")]
    BinaryText {
        /// The format that the driver would take it for.
        format: &'static str,
    },

    /// A binary that is shorter than its header says.
    #[error("the binary has {have} bytes and its header says {}; it is truncated, or not a binary", bytes_needed(*needed))]
    Truncated {
        /// The bytes there are.
        have: usize,
        /// The bytes that the header asks for; `None` if the header itself is cut short or overflows.
        needed: Option<u64>,
    },

    /// A file could not be read.
    #[error("{} cannot be read: {why}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        why: Box<str>,
    },

    /// The optimization level is above 4.
    #[error("there is no optimization level {level}; they go from 0 to 4")]
    OptimizationLevel {
        /// The level asked for.
        level: u32,
    },

    /// The bound on the registers of a thread is out of range.
    #[error("a thread cannot be held to {count} registers; it has from 1 to 255")]
    MaxRegisters {
        /// The number asked for.
        count: u32,
    },

    /// The library has no kernel of this name.
    #[error("there is no kernel {name:?}; {}", kernel_list(available))]
    NoSuchKernel {
        /// The name asked for.
        name: Box<str>,
        /// The library's kernels, sorted; empty if the driver cannot list them.
        available: Box<[String]>,
    },

    /// The library has no variable of this name.
    #[error("there is no variable {name:?}, or nothing in the library uses it; the names of C++ are mangled")]
    NoSuchGlobal {
        /// The name asked for.
        name: Box<str>,
    },
}

/// The bytes that a header asks for.
fn bytes_needed(count: Option<u64>) -> String {
    count.map_or_else(|| "more than there can be".to_owned(), |count| count.to_string())
}

/// The names of a library's kernels.
fn kernel_list(names: &[String]) -> String {
    if names.is_empty() {
        return "the library has none, or the driver does not say".to_owned();
    }
    format!("there are {}", names.join(", "))
}
