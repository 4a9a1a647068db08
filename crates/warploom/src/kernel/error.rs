//! Why a kernel cannot be launched like that.

use super::Dimensions;
use crate::PriorityRange;

/// Why a kernel cannot be launched like that. The driver has not been asked to.
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
