//! `Limited`: a resource with a budget of bytes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warploom_driver::sys::types::CUdeviceptr;

use crate::{Error, MemoryError, OrderedResource, Result, StreamOrdered, Synchronous, SynchronousResource};

/// A resource with a limit of bytes in use. An allocation over the limit is refused before the driver is
/// asked.
///
/// Bytes count as asked for, without the driver's rounding, and until a free is enqueued. Memory that cannot
/// be freed counts for ever.
///
/// ```
/// use warploom::{DevicePool, Driver, Limited, MemoryError, OrderedResource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let share = Limited::ordered(&DevicePool::new(&context)?, 1000);
/// let buffer = share.allocate::<u32>(200, &stream)?;
/// let refused = share.allocate::<u32>(51, &stream).map(drop);
/// assert_eq!(refused, Err(MemoryError::OverLimit { asked: 204, used: 800, limit: 1000 }.into()));
/// drop(buffer);
/// share.allocate::<u32>(250, &stream)?;
/// # Ok(())
/// # }
/// ```
pub struct Limited<R: ?Sized> {
    limit: usize,
    used: AtomicUsize,
    pub(super) below: Arc<R>,
}

impl Limited<dyn StreamOrdered> {
    /// At most `limit` bytes of a stream-ordered resource.
    #[must_use]
    pub fn ordered(resource: &impl OrderedResource, limit: usize) -> Arc<Self> {
        Arc::new(Limited { limit, used: AtomicUsize::new(0), below: resource.resource() })
    }
}

impl Limited<dyn Synchronous> {
    /// At most `limit` bytes of a synchronous resource.
    #[must_use]
    pub fn synchronous(resource: &impl SynchronousResource, limit: usize) -> Arc<Self> {
        Arc::new(Limited { limit, used: AtomicUsize::new(0), below: resource.resource() })
    }
}

impl<R: ?Sized> Limited<R> {
    /// The most bytes that it hands out.
    #[must_use]
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The bytes that it has handed out.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    pub(super) fn allocating(
        &self,
        bytes: usize,
        allocate: impl FnOnce() -> Result<CUdeviceptr>,
    ) -> Result<CUdeviceptr> {
        let more = |used: usize| used.checked_add(bytes).filter(|used| *used <= self.limit);
        let refused = |used| Error::Memory(MemoryError::OverLimit { asked: bytes, used, limit: self.limit });
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(refused)?;
        // Also if the resource below panics.
        let counted = Counted { used: &self.used, bytes };
        let address = allocate()?;
        std::mem::forget(counted);
        Ok(address)
    }

    pub(super) fn freeing(&self, _: CUdeviceptr, bytes: usize, free: impl FnOnce() -> Result<()>) -> Result<()> {
        free()?;
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// Bytes that count as used until this is dropped.
struct Counted<'a> {
    used: &'a AtomicUsize,
    bytes: usize,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl<R: ?Sized> fmt::Debug for Limited<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Limited");
        text.field("used", &self.used()).field("limit", &self.limit).finish_non_exhaustive()
    }
}
