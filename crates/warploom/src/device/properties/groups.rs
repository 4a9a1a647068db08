//! Numeric properties of a device: limits, memory, clocks and multiprocessors.

use super::{ComputeMode, Properties};
use crate::device::DeviceAttribute as A;
use crate::location::NumaId;

impl Properties {
    /// Threads of a warp.
    #[must_use]
    pub fn warp_size(&self) -> u32 {
        self.count(A::WarpSize)
    }

    /// Multiprocessors.
    #[must_use]
    pub fn multiprocessors(&self) -> u32 {
        self.count(A::MultiprocessorCount)
    }

    /// The most threads of a block.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        self.count(A::MaxThreadsPerBlock)
    }

    /// The most threads resident on a multiprocessor.
    #[must_use]
    pub fn max_threads_per_multiprocessor(&self) -> u32 {
        self.count(A::MaxThreadsPerMultiprocessor)
    }

    /// The most blocks resident on a multiprocessor.
    #[must_use]
    pub fn max_blocks_per_multiprocessor(&self) -> u32 {
        self.count(A::MaxBlocksPerMultiprocessor)
    }

    /// Registers of 32 bits that a block may use.
    #[must_use]
    pub fn registers_per_block(&self) -> u32 {
        self.count(A::MaxRegistersPerBlock)
    }

    /// Registers of 32 bits of a multiprocessor.
    #[must_use]
    pub fn registers_per_multiprocessor(&self) -> u32 {
        self.count(A::MaxRegistersPerMultiprocessor)
    }

    /// Bytes of shared memory that a block may use without asking for more.
    #[must_use]
    pub fn shared_memory_per_block(&self) -> u32 {
        self.count(A::MaxSharedMemoryPerBlock)
    }

    /// Bytes of shared memory that a block may use if its kernel asks for them.
    #[must_use]
    pub fn shared_memory_per_block_opt_in(&self) -> u32 {
        self.count(A::MaxSharedMemoryPerBlockOptIn)
    }

    /// Bytes of shared memory that the driver keeps of every block.
    #[must_use]
    pub fn reserved_shared_memory_per_block(&self) -> u32 {
        self.count(A::ReservedSharedMemoryPerBlock)
    }

    /// Bytes of shared memory of a multiprocessor.
    #[must_use]
    pub fn shared_memory_per_multiprocessor(&self) -> u32 {
        self.count(A::MaxSharedMemoryPerMultiprocessor)
    }

    /// Bytes of constant memory for a module.
    #[must_use]
    pub fn constant_memory(&self) -> u32 {
        self.count(A::TotalConstantMemory)
    }

    /// Bytes of level 2 cache.
    #[must_use]
    pub fn l2_cache_size(&self) -> u32 {
        self.count(A::L2CacheSize)
    }

    /// Bytes of level 2 cache that can be set apart for lines that stay.
    #[must_use]
    pub fn max_persisting_l2_cache_size(&self) -> u32 {
        self.count(A::MaxPersistingL2CacheSize)
    }

    /// Bytes that one access policy can cover.
    #[must_use]
    pub fn max_access_policy_window_size(&self) -> u32 {
        self.count(A::MaxAccessPolicyWindowSize)
    }

    /// Bits that its memory moves at once.
    #[must_use]
    pub fn memory_bus_width(&self) -> u32 {
        self.count(A::GlobalMemoryBusWidth)
    }

    /// The most bytes between two rows of a copy.
    #[must_use]
    pub fn max_pitch(&self) -> u32 {
        self.count(A::MaxPitch)
    }

    /// The alignment of a texture's address, in bytes.
    #[must_use]
    pub fn texture_alignment(&self) -> u32 {
        self.count(A::TextureAlignment)
    }

    /// Engines that copy beside kernels.
    #[must_use]
    pub fn copy_engines(&self) -> u32 {
        self.count(A::AsyncEngineCount)
    }

    /// The ratio of `f32` to `f64` throughput.
    #[must_use]
    pub fn single_to_double_ratio(&self) -> u32 {
        self.count(A::SingleToDoublePrecisionPerfRatio)
    }

    /// Domains in which memory operations are ordered apart.
    #[must_use]
    pub fn memory_sync_domains(&self) -> u32 {
        self.count(A::MemSyncDomainCount)
    }

    /// The most bytes the device can decompress at once; 0 if it cannot.
    #[must_use]
    pub fn max_decompress_length(&self) -> u32 {
        self.count(A::MemDecompressMaximumLength)
    }

    /// The most threads of a block along x, y and z.
    #[must_use]
    pub fn max_block(&self) -> [u32; 3] {
        [A::MaxBlockDimX, A::MaxBlockDimY, A::MaxBlockDimZ].map(|attribute| self.count(attribute))
    }

    /// The most blocks of a grid along x, y and z.
    #[must_use]
    pub fn max_grid(&self) -> [u32; 3] {
        [A::MaxGridDimX, A::MaxGridDimY, A::MaxGridDimZ].map(|attribute| self.count(attribute))
    }

    /// The highest clock of the multiprocessors, in hertz.
    #[must_use]
    pub fn clock_hz(&self) -> u64 {
        u64::from(self.count(A::ClockRate)) * 1000
    }

    /// The highest clock of the memory, in hertz.
    #[must_use]
    pub fn memory_clock_hz(&self) -> u64 {
        u64::from(self.count(A::MemoryClockRate)) * 1000
    }

    /// The compute mode.
    #[must_use]
    pub fn compute_mode(&self) -> ComputeMode {
        ComputeMode::from_raw(self.get(A::ComputeMode).unwrap_or(0))
    }

    /// The NUMA node of the host that is closest, where the driver knows.
    #[must_use]
    pub fn host_numa(&self) -> Option<NumaId> {
        self.get(A::HostNumaId).and_then(|node| NumaId::try_from(node).ok())
    }

    /// The NUMA node that the device's own memory is, on machines where it is one.
    #[must_use]
    pub fn numa(&self) -> Option<NumaId> {
        let is_node = self.is(A::NumaConfig);
        self.get(A::NumaId).filter(|_| is_node).and_then(|node| NumaId::try_from(node).ok())
    }
}
