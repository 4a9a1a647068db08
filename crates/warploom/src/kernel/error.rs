//! Errors of loading libraries and launching kernels.

use std::path::PathBuf;

use super::Dimensions;
use crate::PriorityRange;

/// A launch that was refused before the driver was called.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LaunchError {
    /// There is at least one of everything.
    #[error("a {what} of {dimensions} is empty; it has at least 1 in each direction")]
    Empty {
        /// `grid`, `block` or `cluster`.
        what: &'static str,
        /// What was asked for.
        dimensions: Dimensions,
    },

    /// A block is longer in a direction than the device can have it.
    #[error("a block of {block} is too long in some direction; the device has at most {limit}")]
    BlockTooLarge {
        /// What was asked for.
        block: Dimensions,
        /// The most in each direction.
        limit: Dimensions,
    },

    /// A block has more threads than the kernel can have in one.
    #[error("a block of {block} has {} threads; this kernel has at most {limit} there", block.total())]
    TooManyThreads {
        /// What was asked for.
        block: Dimensions,
        /// The most threads, for what the kernel needs of the device.
        limit: u32,
    },

    /// A grid is longer in a direction than the device can have it.
    #[error("a grid of {grid} is too long in some direction; the device has at most {limit}; let each thread do more")]
    GridTooLarge {
        /// What was asked for.
        grid: Dimensions,
        /// The most in each direction.
        limit: Dimensions,
    },

    /// A block has more dynamic shared memory than the kernel may have.
    #[error(
        "{bytes} bytes of dynamic shared memory are more than the {limit} that this kernel may have; up to what the device \
         has, `KernelAttribute::MaxDynamicShared` can be set"
    )]
    SharedMemory {
        /// What was asked for.
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

    /// A grid consists of whole clusters.
    #[error("a grid of {grid} blocks is no whole number of clusters of {cluster}")]
    PartOfCluster {
        /// The blocks that were asked for.
        grid: Dimensions,
        /// The blocks of a cluster.
        cluster: Dimensions,
    },

    /// The device has no cooperative launches.
    #[error("device {device} has no cooperative launches")]
    NotCooperative {
        /// The device.
        device: u32,
    },

    /// The blocks of a cooperative launch wait for each other, and so have to fit the device all at once.
    #[error("{blocks} blocks cannot wait for each other; {limit} of them fit the device at once")]
    TooManyCooperativeBlocks {
        /// What was asked for.
        blocks: u64,
        /// The most.
        limit: u64,
    },

    /// A launch has one of the priorities that streams have.
    #[error("a launch cannot have priority {priority}; there are {range}")]
    PriorityOutOfRange {
        /// What was asked for.
        priority: i32,
        /// What there is.
        range: PriorityRange,
    },

    /// A configuration was checked for another kernel, or another device.
    #[error("the configuration was checked for another kernel or device; check it for this one")]
    CheckedElsewhere,

    /// A kernel has as many arguments as it takes.
    #[error("{given} arguments for a kernel that takes {takes}")]
    ArgumentCount {
        /// How many were given.
        given: usize,
        /// How many the kernel takes.
        takes: usize,
    },

    /// An argument is as large as the kernel takes it.
    #[error("argument {index} has {given} bytes, and the kernel takes {takes} there")]
    ArgumentSize {
        /// Which one, from 0 on.
        index: usize,
        /// How large it is.
        given: usize,
        /// How large the kernel takes it.
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
