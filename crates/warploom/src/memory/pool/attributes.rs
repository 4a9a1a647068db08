//! Attributes and operations that all pools share.
#![expect(unsafe_code, reason = "asks the driver about raw pools")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use warploom_driver::sys::types::{CUmemPool_attribute, CUmemoryPool};

use super::driver_pool::DriverPool;
use crate::memory::resource::{OrderedResource, StreamOrdered};
use crate::{Buffer, Context, DeviceCopy, DevicePool, ManagedPool, PinnedPool, PoolStatistics, Queue, Result, Reuse};

/// An attribute's value. Switches have 32 bits, which are the lower ones on every machine that the driver is
/// for.
fn attribute(pool: &DriverPool, attribute: CUmemPool_attribute) -> Result<u64> {
    let mut value = 0_u64;
    // SAFETY: the pool is alive, and no attribute is wider.
    unsafe { pool.context().driver().cuMemPoolGetAttribute(pool.as_raw(), attribute, (&raw mut value).cast()) }?;
    Ok(value)
}

/// The bytes in the hands of buffers.
pub(super) fn used(pool: &DriverPool) -> Result<u64> {
    attribute(pool, CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
}

pub(super) fn set_attribute(pool: &DriverPool, attribute: CUmemPool_attribute, mut value: u64) -> Result<()> {
    let driver = pool.context().driver();
    // SAFETY: as above.
    Ok(unsafe { driver.cuMemPoolSetAttribute(pool.as_raw(), attribute, (&raw mut value).cast()) }?)
}

macro_rules! pool_attributes {
    ($($pool:ident)*) => {$(
        impl $pool {
            /// The context it belongs to.
            #[must_use]
            pub fn context(&self) -> &Context {
                self.shared.context()
            }

            /// The raw handle; valid while this value is held.
            #[must_use]
            pub fn as_raw(&self) -> CUmemoryPool {
                self.shared.as_raw()
            }

            /// `true` if it was made here and ends with its last value; `false` for a pool that the driver
            /// has for a location (`default_of`) and for one that other code has made (`current_untracked`).
            #[must_use]
            pub fn is_owned(&self) -> bool {
                self.shared.is_owned()
            }

            /// The pool's statistics.
            ///
            /// # Errors
            ///
            /// The driver's error.
            #[doc(alias = "cuMemPoolGetAttribute")]
            pub fn statistics(&self) -> Result<PoolStatistics> {
                let bytes = |name| attribute(&self.shared, name);
                Ok(PoolStatistics {
                    reserved: bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)?,
                    reserved_high: bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH)?,
                    used: bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?,
                    used_high: bytes(CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH)?,
                })
            }

            /// Has [`PoolStatistics::reserved_high`] and [`PoolStatistics::used_high`] start again from the
            /// current value.
            ///
            /// # Errors
            ///
            /// The driver's error.
            #[doc(alias = "cuMemPoolSetAttribute")]
            pub fn reset_high_marks(&self) -> Result<()> {
                for name in [
                    CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                    CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                ] {
                    set_attribute(&self.shared, name, 0)?;
                }
                Ok(())
            }

            /// The bytes of unused memory that it keeps when a stream is synchronized.
            ///
            /// # Errors
            ///
            /// The driver's error.
            pub fn release_threshold(&self) -> Result<u64> {
                let name = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
                attribute(&self.shared, name)
            }

            /// Keeps that many bytes; see
            /// [`PoolOptions::release_threshold`](crate::PoolOptions::release_threshold).
            ///
            /// # Errors
            ///
            /// The driver's error.
            pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
                let name = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
                set_attribute(&self.shared, name, bytes)
            }

            /// The reuse of memory that other streams freed.
            ///
            /// # Errors
            ///
            /// The driver's error.
            pub fn reuse(&self) -> Result<Reuse> {
                let switch = |name| attribute(&self.shared, name).map(|value| value != 0);
                let [(follow_events, _), (opportunistic, _), (internal_dependencies, _)] = Reuse::default().switches();
                Ok(Reuse {
                    follow_events: switch(follow_events)?,
                    opportunistic: switch(opportunistic)?,
                    internal_dependencies: switch(internal_dependencies)?,
                })
            }

            /// Says which memory of other streams an allocation may get.
            ///
            /// # Errors
            ///
            /// The driver's error; then some of it may have been changed.
            pub fn set_reuse(&self, reuse: Reuse) -> Result<()> {
                reuse.apply(self.reuse()?, &self.shared)
            }

            /// Gives memory that no buffer uses back to where it came from, down to `keep` bytes.
            ///
            /// # Errors
            ///
            /// The driver's error.
            #[doc(alias = "cuMemPoolTrimTo")]
            pub fn trim(&self, keep: usize) -> Result<()> {
                // SAFETY: `self` keeps the pool alive.
                Ok(unsafe { self.context().driver().cuMemPoolTrimTo(self.as_raw(), keep) }?)
            }
        }

        impl OrderedResource for $pool {
            fn resource(&self) -> Arc<dyn StreamOrdered> {
                Arc::<DriverPool>::clone(&self.shared)
            }

            #[inline]
            fn allocate<T: DeviceCopy>(&self, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
                DriverPool::allocate(&self.shared, len, queue)
            }
        }

        impl PartialEq for $pool {
            /// `true` if the two are the same pool of the driver, also if they were asked for separately.
            fn eq(&self, other: &Self) -> bool {
                self.as_raw() == other.as_raw() && self.context().driver().ptr_eq(other.context().driver())
            }
        }

        impl Eq for $pool {}

        impl Hash for $pool {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.as_raw().hash(state);
            }
        }

        impl fmt::Debug for $pool {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                let (raw, device) = (self.as_raw(), self.context().device());
                formatter.debug_struct(stringify!($pool)).field("raw", &raw).field("device", device).finish()
            }
        }
    )*};
}
pool_attributes!(DevicePool PinnedPool ManagedPool);
