//! Pools that other processes import: export, import and identity.
#![expect(unsafe_code, reason = "exports and imports raw pools")]

use std::collections::HashMap;
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use warploom_driver::sys::types::CUmemAllocationHandleType;
use warploom_driver::user_code;

use super::driver_pool::{DriverPool, PoolMemory};
use super::imported::Imported;
use super::imported_pool::ImportedPool;
use crate::ipc::{IpcError, Origin, PoolHandle, PoolName, SharedMemory, random_uuid};
use crate::memory::resource::StreamOrdered as _;
use crate::{Context, DeviceAttribute, DevicePool, Driver, PinnedPool, Result, Uuid};

/// The one kind of handle there is on Unix.
const FILE_DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

/// Refuses a device without pools for other processes, if that is what is asked for.
pub(super) fn check_support(context: &Context, handle_types: CUmemAllocationHandleType) -> Result<()> {
    if handle_types != FILE_DESCRIPTOR {
        return Ok(());
    }
    let device = context.device();
    let supported = device.attribute(DeviceAttribute::MempoolSupportedHandleTypes)?;
    if supported.cast_unsigned() & FILE_DESCRIPTOR.0 == 0 {
        return Err(IpcError::Unsupported { device: device.ordinal(), what: "pools" }.into());
    }
    Ok(())
}

/// The longest that an import waits for another thread to end the last import of the same pool.
const ENDING: Duration = Duration::from_secs(1);

/// Imported pools of a driver by their identity, as long as they exist. The driver has one pool for all
/// imports of it, which must not be imported while it is destroyed.
#[derive(Default)]
struct Registry {
    pools: Mutex<HashMap<Uuid, Weak<Imported>>>,
    ended: Condvar,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, HashMap<Uuid, Weak<Imported>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The entry of an imported pool, which goes when the driver has destroyed the pool.
pub(super) struct Registration {
    registry: Arc<Registry>,
    pool: Uuid,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.registry.lock().remove(&self.pool);
        self.registry.ended.notify_all();
    }
}

/// The pool of this identity, if it is imported.
pub(super) fn find(driver: &Driver, pool: Uuid) -> Option<ImportedPool> {
    let shared = driver.extension::<Registry>().lock().get(&pool)?.upgrade()?;
    Some(ImportedPool { shared })
}

/// Exports a new pool, under a new identity.
pub(super) fn export(pool: &DriverPool) -> Result<PoolHandle> {
    let (context, mut fd) = (pool.context(), -1_i32);
    let memory = match pool.memory() {
        PoolMemory::Device => SharedMemory::Device,
        PoolMemory::Pinned => SharedMemory::Pinned,
        PoolMemory::Managed => return Err(IpcError::NotShareable { resource: "a ManagedPool" }.into()),
    };
    let (origin, device) = (Origin::here()?, context.device().uuid()?);
    let name = PoolName { origin, memory, pool: random_uuid()?, device };
    let room = (&raw mut fd).cast();
    // SAFETY: the pool is alive, and a file descriptor fits there.
    unsafe { context.driver().cuMemPoolExportToShareableHandle(room, pool.as_raw(), FILE_DESCRIPTOR, 0) }?;
    // SAFETY: the driver has opened it for the caller just now, who closes it.
    Ok(PoolHandle::new(unsafe { OwnedFd::from_raw_fd(fd) }, name))
}

/// Imports a pool, unless it has been imported already.
fn import(context: &Context, handle: PoolHandle, memory: SharedMemory) -> Result<ImportedPool> {
    let name = handle.name();
    name.check(memory)?;
    let device = context.device();
    if memory == SharedMemory::Device && device.uuid()? != name.device {
        return Err(IpcError::OtherDevice { found: name.device, expected: device.uuid()? }.into());
    }
    context.check_generation()?;
    let registry = context.driver().extension::<Registry>();
    let is_ending =
        |pools: &mut HashMap<_, Weak<Imported>>| pools.get(&name.pool).is_some_and(|known| known.strong_count() == 0);
    // Dropped after the lock, which is held over driver calls.
    let _held = user_code::hold();
    let waited = registry.ended.wait_timeout_while(registry.lock(), ENDING, is_ending);
    let (mut pools, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    if waited.timed_out() {
        return Err(IpcError::Ending { pool: name.pool }.into());
    }
    if let Some(shared) = pools.get(&name.pool).and_then(Weak::upgrade) {
        drop(pools); // a refused import may be the last holder
        return shared.checked(context, memory).map(|()| ImportedPool { shared });
    }
    if pools.contains_key(&name.pool) {
        return Err(IpcError::Ending { pool: name.pool }.into());
    }
    let (mut raw, driver) = (null_mut(), context.driver());
    // A file descriptor is passed as a pointer.
    let fd = without_provenance_mut(handle.as_fd().as_raw_fd().cast_unsigned() as usize);
    // SAFETY: `raw` is writable, and the handle keeps the file descriptor open.
    unsafe { driver.cuMemPoolImportFromShareableHandle(&raw mut raw, fd, FILE_DESCRIPTOR, 0) }?;
    let pool_memory = match memory {
        SharedMemory::Device => PoolMemory::Device,
        SharedMemory::Pinned => PoolMemory::Pinned,
    };
    // SAFETY: it was imported just now, and only this value destroys it.
    let mut pool = unsafe { DriverPool::imported(raw, context, pool_memory) }?;
    pool.register(Registration { registry: Arc::clone(&registry), pool: name.pool });
    let shared = Arc::new(Imported::new(pool, handle, memory));
    pools.insert(shared.uuid(), Arc::downgrade(&shared));
    Ok(ImportedPool { shared })
}

/// Another handle of a pool that was made to be shared.
fn another_handle(pool: &DriverPool, resource: &'static str) -> Result<PoolHandle> {
    Ok(pool.handle().ok_or(IpcError::NotShareable { resource })?.try_clone()?)
}

impl DevicePool {
    /// A handle of the pool for another process: another file descriptor each time, and the same UUID. No
    /// driver call: a pool that can be shared is exported when it is made.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, PoolOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
    /// assert_eq!(pool.export()?.uuid(), pool.export()?.uuid());
    /// assert!(DevicePool::new(&context)?.export().is_err()); // not made to be shared
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`IpcError::NotShareable`] unless it was made with
    /// [`PoolOptions::shareable`](crate::PoolOptions::shareable), and those of [`PoolHandle::try_clone`].
    #[doc(alias = "cuMemPoolExportToShareableHandle")]
    pub fn export(&self) -> Result<PoolHandle> {
        another_handle(&self.shared, "a DevicePool")
    }

    /// The identity by which other processes know it; `None` unless it was made with
    /// [`PoolOptions::shareable`](crate::PoolOptions::shareable). No driver call.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, PoolOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
    /// assert_eq!(pool.uuid(), Some(pool.export()?.uuid()));
    /// assert_eq!(DevicePool::new(&context)?.uuid(), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn uuid(&self) -> Option<Uuid> {
        self.shared.handle().map(PoolHandle::uuid)
    }

    /// Imports a pool of another process, for buffers of it to be [imported](crate::Buffer::import) in this
    /// context. A pool that is imported already is returned again, without a driver call.
    ///
    /// The devices that may use its memory are set for each process: those of the exporter are not carried
    /// over.
    ///
    /// # Errors
    ///
    /// Without a driver call: [`IpcError::OtherMachine`], [`IpcError::OwnProcess`], [`IpcError::OtherMemory`]
    /// for a pool of page-locked memory, [`IpcError::OtherDevice`], [`IpcError::OtherContext`] if it is
    /// imported for another context, [`IpcError::Ending`] while a capture keeps an import that was dropped.
    /// And the driver's error, also for a file descriptor that is not one of a pool.
    #[doc(alias = "cuMemPoolImportFromShareableHandle")]
    pub fn import(context: &Context, handle: PoolHandle) -> Result<ImportedPool> {
        import(context, handle, SharedMemory::Device)
    }
}

impl PinnedPool {
    /// A handle of the pool for another process; see [`DevicePool::export`].
    ///
    /// # Errors
    ///
    /// As [`DevicePool::export`].
    #[doc(alias = "cuMemPoolExportToShareableHandle")]
    pub fn export(&self) -> Result<PoolHandle> {
        another_handle(&self.shared, "a PinnedPool")
    }

    /// The identity by which other processes know it; see [`DevicePool::uuid`].
    #[must_use]
    pub fn uuid(&self) -> Option<Uuid> {
        self.shared.handle().map(PoolHandle::uuid)
    }

    /// Imports a pool of another process, for the context's device to use; see [`DevicePool::import`].
    ///
    /// # Errors
    ///
    /// As [`DevicePool::import`]; [`IpcError::OtherMemory`] for a pool of device memory.
    #[doc(alias = "cuMemPoolImportFromShareableHandle")]
    pub fn import(context: &Context, handle: PoolHandle) -> Result<ImportedPool> {
        import(context, handle, SharedMemory::Pinned)
    }
}
