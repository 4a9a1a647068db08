//! `Logged`: a resource that reports its calls to `tracing`.

use std::fmt;
use std::sync::Arc;

use warploom_driver::sys::types::CUdeviceptr;
use warploom_driver::user_code;

use crate::{OrderedResource, Result, StreamOrdered, Synchronous, SynchronousResource};

/// A resource that tells [`tracing`](https://docs.rs/tracing) of every allocation and free: events of level
/// `DEBUG`, or `WARN` for failures, with the target `warploom::memory` and the fields `resource`, `bytes`,
/// `address` and `error`.
///
/// ```
/// use warploom::{DevicePool, Driver, Logged, OrderedResource};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let weights = Logged::ordered(&DevicePool::new(&context)?, "weights");
/// weights.allocate::<f32>(1000, &context.stream()?)?;
/// # Ok(())
/// # }
/// ```
pub struct Logged<R: ?Sized> {
    name: Arc<str>,
    pub(super) below: Arc<R>,
}

impl Logged<dyn StreamOrdered> {
    /// Tells of a stream-ordered resource, by a name for it.
    #[must_use]
    pub fn ordered(resource: &impl OrderedResource, name: &str) -> Arc<Self> {
        Arc::new(Logged { name: name.into(), below: resource.resource() })
    }
}

impl Logged<dyn Synchronous> {
    /// Tells of a synchronous resource, by a name for it.
    #[must_use]
    pub fn synchronous(resource: &impl SynchronousResource, name: &str) -> Arc<Self> {
        Arc::new(Logged { name: name.into(), below: resource.resource() })
    }
}

impl<R: ?Sized> Logged<R> {
    pub(super) fn allocating(
        &self,
        bytes: usize,
        allocate: impl FnOnce() -> Result<CUdeviceptr>,
    ) -> Result<CUdeviceptr> {
        let (allocated, name) = (allocate(), Arc::clone(&self.name));
        let result = allocated.clone();
        user_code::emit(move || {
            let resource = &*name;
            match result {
                Ok(address) => tracing::debug!(target: "warploom::memory", resource, bytes, address, "allocated"),
                Err(error) => tracing::warn!(target: "warploom::memory", resource, bytes, %error, "not allocated"),
            }
        });
        allocated
    }

    pub(super) fn freeing(&self, address: CUdeviceptr, bytes: usize, free: impl FnOnce() -> Result<()>) -> Result<()> {
        let (freed, name) = (free(), Arc::clone(&self.name));
        let result = freed.clone();
        user_code::emit(move || {
            let resource = &*name;
            match result {
                Ok(()) => tracing::debug!(target: "warploom::memory", resource, bytes, address, "freed"),
                Err(error) => tracing::warn!(target: "warploom::memory", resource, bytes, address, %error, "not freed"),
            }
        });
        freed
    }
}

impl<R: ?Sized> fmt::Debug for Logged<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Logged").field("name", &self.name).finish_non_exhaustive()
    }
}
