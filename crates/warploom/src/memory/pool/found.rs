//! Pools that a location has already: its default pool and its current one.
#![expect(unsafe_code, reason = "asks the driver for raw pools")]

use std::collections::HashMap;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use warploom_driver::sys::types::{CUmemLocation, CUmemoryPool};

use super::driver_pool::{DriverPool, PoolMemory};
use crate::location::refused_at;
use crate::memory::resource::StreamOrdered as _;
use crate::{Context, MemoryError, Result};

/// The pools of a driver that were made here and are alive, by their handles.
#[derive(Default)]
struct OwnPools(Mutex<HashMap<usize, Weak<DriverPool>>>);

impl OwnPools {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Weak<DriverPool>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lists a new pool among those that were made here.
pub(super) fn list(pool: DriverPool) -> Arc<DriverPool> {
    let pool = Arc::new(pool);
    let own = pool.context().driver().extension::<OwnPools>();
    own.lock().insert(pool.as_raw().addr(), Arc::downgrade(&pool));
    pool
}

/// Takes a pool off the list, before it is destroyed.
pub(super) fn unlist(pool: &DriverPool) {
    pool.context().driver().extension::<OwnPools>().lock().remove(&pool.as_raw().addr());
}

/// The pool with this handle, if it was made here.
fn own(context: &Context, raw: CUmemoryPool) -> Option<Arc<DriverPool>> {
    context.driver().extension::<OwnPools>().lock().get(&raw.addr())?.upgrade()
}

/// A pool that the driver has for a location.
enum Which {
    /// The default pool of the location.
    Default,
    /// The current pool of the location: allocations that name no pool come from it.
    Current,
}

fn ask(which: Which, context: &Context, memory: PoolMemory, mut location: CUmemLocation) -> Result<CUmemoryPool> {
    let (driver, device, kind, mut raw) =
        (context.driver(), context.device().as_raw(), memory.allocation_type(), null_mut());
    // SAFETY: `raw` is writable, `location` readable.
    let found = unsafe {
        match (which, memory) {
            (Which::Default, PoolMemory::Device) => driver.cuDeviceGetDefaultMemPool(&raw mut raw, device),
            (Which::Current, PoolMemory::Device) => driver.cuDeviceGetMemPool(&raw mut raw, device),
            (Which::Default, _) => driver.cuMemGetDefaultMemPool(&raw mut raw, &raw mut location, kind),
            (Which::Current, _) => driver.cuMemGetMemPool(&raw mut raw, &raw mut location, kind),
        }
    };
    found.map(|()| raw).map_err(|error| refused_at(&[location], error))
}

impl DriverPool {
    /// The default pool of a location. The driver has it from the start, until the end.
    pub(super) fn default_of(
        context: &Context,
        memory: PoolMemory,
        location: CUmemLocation,
    ) -> Result<Arc<DriverPool>> {
        let raw = ask(Which::Default, context, memory, location)?;
        // SAFETY: the driver keeps its default pools.
        unsafe { DriverPool::opened(raw, context, memory) }
    }

    /// The current pool of a location: one that was made here, which is shared and kept, or the default one.
    pub(super) fn current(context: &Context, memory: PoolMemory, location: CUmemLocation) -> Result<Arc<DriverPool>> {
        let raw = ask(Which::Current, context, memory, location)?;
        if let Some(pool) = own(context, raw)
            && pool.context() == context
            && pool.memory() == memory
        {
            return Ok(pool);
        }
        if raw != ask(Which::Default, context, memory, location)? {
            return Err(MemoryError::Untracked { of: memory.name(), device: context.device().ordinal() }.into());
        }
        // SAFETY: the driver keeps its default pools.
        unsafe { DriverPool::opened(raw, context, memory) }
    }

    /// The current pool of a location, whatever code has made it.
    ///
    /// # Safety
    ///
    /// The pool lives at least as long as this value.
    pub(super) unsafe fn current_untracked(
        context: &Context,
        memory: PoolMemory,
        location: CUmemLocation,
    ) -> Result<Arc<DriverPool>> {
        let raw = ask(Which::Current, context, memory, location)?;
        // SAFETY: the caller vouches for its life; the driver, for its location and its kind of memory.
        unsafe { DriverPool::opened(raw, context, memory) }
    }

    /// A pool that other code owns, which the context's device may use from now on.
    ///
    /// # Safety
    ///
    /// As [`DriverPool::borrowed`].
    unsafe fn opened(raw: CUmemoryPool, context: &Context, memory: PoolMemory) -> Result<Arc<DriverPool>> {
        // SAFETY: the caller vouches for the pool.
        let pool = unsafe { DriverPool::borrowed(raw, context, memory) };
        pool.open()?;
        Ok(Arc::new(pool))
    }
}
