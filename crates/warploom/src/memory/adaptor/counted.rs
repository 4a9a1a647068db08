//! `Counted`: a resource with statistics.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use warploom_driver::sys::types::CUdeviceptr;

use crate::{OrderedResource, Result, StreamOrdered, Synchronous, SynchronousResource};

/// A resource that counts its allocations.
///
/// ```
/// use warploom::{Counted, DeviceMemory, Driver, SynchronousResource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let counted = Counted::synchronous(&DeviceMemory::new(&driver.device(0)?.context()?));
/// let _kept = counted.allocate::<u8>(100)?;
/// drop(counted.allocate::<u8>(50)?);
/// let counts = counted.counts();
/// assert_eq!((counts.live, counts.live_bytes), (1, 100));
/// assert_eq!((counts.allocations, counts.peak_bytes), (2, 150));
/// # Ok(())
/// # }
/// ```
pub struct Counted<R: ?Sized> {
    counts: Mutex<Counts>,
    pub(super) below: Arc<R>,
}

/// The counts of a [`Counted`] resource. Bytes count as asked for, and until a free is enqueued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Allocations that were not freed.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The most of these bytes that there ever were.
    pub peak_bytes: u64,
    /// All allocations.
    pub allocations: u64,
    /// The bytes of all allocations.
    pub allocated_bytes: u64,
    /// Allocations and frees that failed.
    pub failures: u64,
}

impl Counted<dyn StreamOrdered> {
    /// Counts the allocations of a stream-ordered resource from now on.
    #[must_use]
    pub fn ordered(resource: &impl OrderedResource) -> Arc<Self> {
        Arc::new(Counted { counts: Mutex::default(), below: resource.resource() })
    }
}

impl Counted<dyn Synchronous> {
    /// Counts the allocations of a synchronous resource from now on.
    #[must_use]
    pub fn synchronous(resource: &impl SynchronousResource) -> Arc<Self> {
        Arc::new(Counted { counts: Mutex::default(), below: resource.resource() })
    }
}

impl<R: ?Sized> Counted<R> {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        *self.lock()
    }

    /// Has [`Counts::peak_bytes`] start again from the current value.
    pub fn reset_peak(&self) {
        let mut counts = self.lock();
        counts.peak_bytes = counts.live_bytes;
    }

    pub(super) fn allocating(
        &self,
        bytes: usize,
        allocate: impl FnOnce() -> Result<CUdeviceptr>,
    ) -> Result<CUdeviceptr> {
        let allocated = allocate();
        let (mut counts, bytes) = (self.lock(), bytes as u64);
        if allocated.is_ok() {
            counts.live += 1;
            counts.live_bytes += bytes;
            counts.peak_bytes = counts.peak_bytes.max(counts.live_bytes);
            counts.allocations += 1;
            counts.allocated_bytes += bytes;
        } else {
            counts.failures += 1;
        }
        allocated
    }

    pub(super) fn freeing(&self, _: CUdeviceptr, bytes: usize, free: impl FnOnce() -> Result<()>) -> Result<()> {
        let freed = free();
        let mut counts = self.lock();
        if freed.is_ok() {
            counts.live -= 1;
            counts.live_bytes -= bytes as u64;
        } else {
            counts.failures += 1;
        }
        freed
    }
}

impl<R: ?Sized> fmt::Debug for Counted<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Counted").field("counts", &self.counts()).finish_non_exhaustive()
    }
}
