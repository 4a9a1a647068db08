//! Counts of kernels over all of their launches, and the shapes of these.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// A kernel and the sums over its launches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCount {
    /// Its name in the PTX.
    pub name: String,
    /// Number of launches that ended.
    pub launches: u64,
    /// Sums over the launches.
    #[serde(flatten)]
    pub work: KernelWork,
    /// Virtual time of all launches together, in nanoseconds.
    pub time_ns: u64,
    /// Virtual time of the longest launch.
    pub longest_ns: u64,
}

/// The work of a kernel, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelWork {
    /// Blocks; a cluster counts as one.
    pub blocks: u64,
    /// Instructions of warps.
    pub instructions: u64,
    /// Instructions of threads. Without divergence they are 32 times those of full warps.
    pub thread_instructions: u64,
    /// Branches at which the threads of a warp parted.
    pub divergent_branches: u64,
    /// Bytes of global memory loaded and stored.
    pub bytes: u64,
    /// Loads and stores of global memory by warps.
    pub requests: u64,
    /// Sectors of 32 bytes that these touched.
    pub sectors: u64,
    /// Sectors that the same bytes would take side by side.
    pub needed_sectors: u64,
}

impl AddAssign for KernelWork {
    fn add_assign(&mut self, other: Self) {
        self.blocks += other.blocks;
        self.instructions += other.instructions;
        self.thread_instructions += other.thread_instructions;
        self.divergent_branches += other.divergent_branches;
        self.bytes += other.bytes;
        self.requests += other.requests;
        self.sectors += other.sectors;
        self.needed_sectors += other.needed_sectors;
    }
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchShape {
    /// Blocks, in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block, in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
}
