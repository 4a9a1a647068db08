//! Options of a new pool.

use warploom_driver::sys::types::{CUmemAllocationHandleType, CUmemPool_attribute};

use super::attributes::set_attribute;
use super::driver_pool::DriverPool;
use crate::Result;

/// Options of a new pool.
///
/// ```
/// use warploom::{DevicePool, Driver, PoolOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let pool = DevicePool::with(&context, PoolOptions::new().max_size(64 << 20))?;
/// assert!(pool.allocate::<u8>(65 << 20, &stream).is_err_and(|error| error.is_out_of_memory()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct PoolOptions {
    pub(super) max_size: usize,
    /// The handles that it can be exported as.
    pub(super) handle_types: CUmemAllocationHandleType,
    release_threshold: u64,
    reuse: Reuse,
}

impl PoolOptions {
    /// No maximum; all memory is kept for the next allocation, and reused in every way.
    pub fn new() -> PoolOptions {
        let handle_types = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
        PoolOptions { max_size: 0, handle_types, release_threshold: u64::MAX, reuse: Reuse::default() }
    }

    /// The most bytes that the pool takes from where its memory is; the driver rounds up. 0 is no maximum.
    pub fn max_size(mut self, bytes: usize) -> PoolOptions {
        self.max_size = bytes;
        self
    }

    /// The bytes of unused memory that the pool keeps when a stream is synchronized. The driver's own
    /// default, 0, has it give everything back then, only to take it again.
    pub fn release_threshold(mut self, bytes: u64) -> PoolOptions {
        self.release_threshold = bytes;
        self
    }

    /// The reuse of memory that other streams freed.
    pub fn reuse(mut self, reuse: Reuse) -> PoolOptions {
        self.reuse = reuse;
        self
    }

    /// A pool that other processes can import; see [`ipc`](crate::ipc).
    ///
    /// Page-locked memory can be shared by a pool of a NUMA node
    /// ([`PinnedPool::on_numa_node`](crate::PinnedPool::on_numa_node)), managed memory not at all.
    #[cfg(target_os = "linux")]
    #[doc(alias = "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR")]
    pub fn shareable(mut self) -> PoolOptions {
        self.handle_types = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        self
    }

    /// Sets the attributes that differ from those of a new pool.
    pub(super) fn apply(self, pool: &DriverPool) -> Result<()> {
        if self.release_threshold != 0 {
            let threshold = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            set_attribute(pool, threshold, self.release_threshold)?;
        }
        self.reuse.apply(Reuse::default(), pool)
    }
}

impl Default for PoolOptions {
    fn default() -> Self {
        PoolOptions::new()
    }
}

/// The reuse of memory that was freed on another stream. Memory freed on the same stream is always reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "the driver has had these three since pools came")]
pub struct Reuse {
    /// Memory whose free the stream waits for, by way of events.
    pub follow_events: bool,
    /// Memory whose free happens to be done; then which memory it is differs from run to run.
    pub opportunistic: bool,
    /// Memory whose free is still to come, if nothing else is left; the stream is made to wait.
    pub internal_dependencies: bool,
}

impl Default for Reuse {
    /// Everything, as in a new pool.
    fn default() -> Self {
        Reuse { follow_events: true, opportunistic: true, internal_dependencies: true }
    }
}

impl Reuse {
    /// The three, with the attribute of each.
    pub(super) fn switches(self) -> [(CUmemPool_attribute, bool); 3] {
        [
            (CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, self.follow_events),
            (CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, self.opportunistic),
            (CUmemPool_attribute::CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES, self.internal_dependencies),
        ]
    }

    /// Sets the attributes that differ from `before`.
    pub(super) fn apply(self, before: Reuse, pool: &DriverPool) -> Result<()> {
        for ((attribute, is_on), (_, was_on)) in self.switches().into_iter().zip(before.switches()) {
            if is_on != was_on {
                set_attribute(pool, attribute, is_on.into())?;
            }
        }
        Ok(())
    }
}
