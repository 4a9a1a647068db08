//! The driver's memory pools.
#![expect(unsafe_code, reason = "owns a raw pool")]

use std::ptr::null_mut;
use std::sync::Arc;

use warploom_driver::sys::types::{
    CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationType, CUmemLocation, CUmemLocationType,
    CUmemPoolHandle_st, CUmemPoolProps, CUmemoryPool,
};
#[cfg(target_os = "linux")]
use warploom_driver::sys::types::{CUmemAllocationHandleType, CUresult};

use super::access_cache::AccessCache;
use super::attributes;
use super::found;
use crate::capture::{self, RelaxedMode};
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark};
use crate::location::refused_at;
use crate::memory::allocation_ref::AllocationRef;
use crate::memory::resource::{StreamOrdered, allocate, size};
use crate::{
    Buffer, Context, Device, DeviceCopy, Error, MemoryError, PeerSet, PoolOptions, Queue, Result, Stream, callback,
    reclaimer,
};

/// A pool, for streams of a context to use.
pub(in crate::memory) struct DriverPool {
    raw: Handle<CUmemPoolHandle_st>,
    context: Context,
    memory: PoolMemory,
    /// The most bytes that it takes, as it was made; 0 is no maximum.
    max_size: usize,
    /// `true` if the pool ends with this value; the driver's own do not.
    is_owned: bool,
    /// Its handle for other processes, if it was made to be shared.
    #[cfg(target_os = "linux")]
    handle: Option<Box<crate::ipc::PoolHandle>>,
    /// The entry in the list of imported pools, if another process has made it. It goes after the pool.
    #[cfg(target_os = "linux")]
    registration: Option<super::sharing::Registration>,
    grants: AccessCache,
    _mark: Mark,
}

/// The kind of a pool's memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) enum PoolMemory {
    /// Memory of the context's device.
    Device,
    /// Page-locked memory of the host.
    Pinned,
    Managed,
}

impl PoolMemory {
    /// Its name in errors.
    pub(super) fn name(self) -> &'static str {
        match self {
            PoolMemory::Device => "device memory",
            PoolMemory::Pinned => "page-locked memory",
            PoolMemory::Managed => "managed memory",
        }
    }

    pub(super) fn allocation_type(self) -> CUmemAllocationType {
        match self {
            PoolMemory::Device | PoolMemory::Pinned => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            PoolMemory::Managed => CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED,
        }
    }
}

impl DriverPool {
    /// As [`OrderedResource::allocate`](super::OrderedResource::allocate), without dynamic dispatch.
    #[inline]
    pub(super) fn allocate<T: DeviceCopy>(this: &Arc<DriverPool>, len: usize, queue: &impl Queue) -> Result<Buffer<T>> {
        let allocation = DriverPool::hold(Arc::clone(this), size::<T>(len)?, queue.stream())?;
        // SAFETY: it has as many bytes as these values.
        Ok(unsafe { Buffer::held(allocation, len) })
    }

    fn hold(this: Arc<DriverPool>, bytes: usize, stream: &Stream) -> Result<AllocationRef> {
        allocate(this, bytes, stream)
    }

    /// A new pool at a location, which ends with this value.
    pub(super) fn new(
        context: &Context,
        memory: PoolMemory,
        location: CUmemLocation,
        options: PoolOptions,
    ) -> Result<Arc<DriverPool>> {
        #[cfg(target_os = "linux")]
        super::sharing::check_support(context, options.handle_types)?;
        let properties = CUmemPoolProps {
            allocType: memory.allocation_type(),
            handleTypes: options.handle_types,
            location,
            win32SecurityAttributes: null_mut(),
            maxSize: options.max_size,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, `properties` readable.
        unsafe { context.driver().cuMemPoolCreate(&raw mut raw, &raw const properties) }
            .map_err(|error| refused_at(&[location], error))?;
        let mark = mark(context, || (Kind::Pool, raw.addr() as u64, 0));
        #[cfg_attr(not(target_os = "linux"), expect(unused_mut, reason = "there are no handles to keep"))]
        let mut pool = DriverPool {
            raw: Handle::new(raw),
            context: context.clone(),
            memory,
            max_size: options.max_size,
            is_owned: true,
            #[cfg(target_os = "linux")]
            handle: None,
            #[cfg(target_os = "linux")]
            registration: None,
            grants: AccessCache::default(),
            _mark: mark,
        };
        options.apply(&pool)?;
        pool.open()?;
        #[cfg(target_os = "linux")]
        pool.share(options.handle_types)?;
        Ok(found::list(pool))
    }

    /// A pool that other code owns.
    ///
    /// # Safety
    ///
    /// It is a pool of the context's device that has this kind of memory, and lives at least as long as this
    /// value.
    pub(super) unsafe fn borrowed(raw: CUmemoryPool, context: &Context, memory: PoolMemory) -> DriverPool {
        DriverPool {
            raw: Handle::new(raw),
            context: context.clone(),
            memory,
            max_size: 0,
            is_owned: false,
            #[cfg(target_os = "linux")]
            handle: None,
            #[cfg(target_os = "linux")]
            registration: None,
            grants: AccessCache::default(),
            _mark: Mark::default(),
        }
    }

    /// A pool of another process that was imported, and ends here with this value.
    ///
    /// # Safety
    ///
    /// The driver has imported it, and nothing else destroys it.
    #[cfg(target_os = "linux")]
    pub(super) unsafe fn imported(raw: CUmemoryPool, context: &Context, memory: PoolMemory) -> Result<DriverPool> {
        // SAFETY: it lives until this value destroys it.
        let mut pool = unsafe { DriverPool::borrowed(raw, context, memory) };
        pool.is_owned = true;
        pool._mark = mark(context, || (Kind::Pool, raw.addr() as u64, 0));
        pool.open()?;
        Ok(pool)
    }

    /// Has an imported pool hold its entry in the list of imported pools.
    #[cfg(target_os = "linux")]
    pub(super) fn register(&mut self, registration: super::sharing::Registration) {
        self.registration = Some(registration);
    }

    /// Exports a pool that was made to be shared. The driver describes none of its memory before.
    #[cfg(target_os = "linux")]
    fn share(&mut self, handle_types: CUmemAllocationHandleType) -> Result<()> {
        if handle_types != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
            self.handle = Some(Box::new(super::sharing::export(self)?));
        }
        Ok(())
    }

    /// Its handle for other processes, if it was made to be shared.
    #[cfg(target_os = "linux")]
    pub(in crate::memory) fn handle(&self) -> Option<&crate::ipc::PoolHandle> {
        self.handle.as_deref()
    }

    /// Lets the context's device use the memory. At first, only the host may use that of a host pool.
    pub(super) fn open(&self) -> Result<()> {
        match self.memory {
            PoolMemory::Pinned => self.set_access(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
            PoolMemory::Device | PoolMemory::Managed => Ok(()),
        }
    }

    /// Sets the access of the context's device to the memory.
    fn set_access(&self, flags: CUmemAccess_flags) -> Result<()> {
        let device = self.context.device().as_raw();
        let access = CUmemAccessDesc {
            location: CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device),
            flags,
        };
        // SAFETY: the pool is alive, and there is one descriptor to read.
        Ok(unsafe { self.context.driver().cuMemPoolSetAccess(self.as_raw(), &raw const access, 1) }?)
    }

    /// The devices that may use the memory of a device's pool.
    pub(super) fn peers(&self) -> PeerSet<'_> {
        PeerSet::new(&self.raw, self.context.device())
    }

    /// Everything but the shell.
    fn take(&mut self) -> DriverPool {
        DriverPool {
            raw: Handle::new(self.raw.raw()),
            context: self.context.clone(),
            memory: self.memory,
            max_size: self.max_size,
            is_owned: std::mem::take(&mut self.is_owned),
            #[cfg(target_os = "linux")]
            handle: self.handle.take(),
            #[cfg(target_os = "linux")]
            registration: self.registration.take(),
            grants: std::mem::take(&mut self.grants),
            _mark: std::mem::take(&mut self._mark),
        }
    }

    /// The error of an allocation: the pool's own limit, if that is the reason, or the driver's.
    #[cold]
    fn refused(&self, asked: usize, error: Error) -> Error {
        let limit = self.max_size;
        if limit == 0 || !error.is_out_of_memory() {
            return error;
        }
        match attributes::used(self).map(|used| usize::try_from(used).unwrap_or(usize::MAX)) {
            Ok(used) if used.saturating_add(asked) > limit => MemoryError::OverLimit { asked, used, limit }.into(),
            _ => error,
        }
    }

    /// The kind of its memory.
    pub(in crate::memory) fn memory(&self) -> PoolMemory {
        self.memory
    }

    /// `true` if it ends with this value.
    pub(super) fn is_owned(&self) -> bool {
        self.is_owned
    }

    pub(in crate::memory) fn as_raw(&self) -> CUmemoryPool {
        self.raw.raw()
    }

    /// Takes back all access that was granted: a pool that is made later may get the handle of this one, and
    /// was seen to get its grants with it. They go at once, so that work on buffers that were dropped has to
    /// be over; their frees come after that work, in streams of this context.
    fn revoke(&self) -> Result<()> {
        match self.memory {
            PoolMemory::Device => self.peers().revoke(|| self.context.synchronize()),
            PoolMemory::Pinned => {
                self.context.synchronize()?;
                self.set_access(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE)
            }
            PoolMemory::Managed => Ok(()),
        }
    }
}

// SAFETY: the driver hands memory of a pool out in stream order, once, until it is freed in stream order.
// Memory of a pool of page-locked memory is the host's, at the same address.
unsafe impl StreamOrdered for DriverPool {
    fn context(&self) -> &Context {
        &self.context
    }

    #[inline]
    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        let mut address: CUdeviceptr = 0;
        let (driver, pool) = (self.context.driver(), self.as_raw());
        stream.context().check_generation()?;
        // SAFETY: `address` is writable; pool and stream are alive and of the same driver.
        let allocate = |raw| unsafe { driver.cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, raw) };
        stream.enqueue(allocate).map_err(|error| self.refused(bytes, error))?;
        Ok(address)
    }

    #[inline]
    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize, stream: &Stream) -> Result<()> {
        // SAFETY: the caller gives back an address of `allocate_raw`, once, in the order of a stream that is
        // alive.
        stream.enqueue(|raw| unsafe { self.context.driver().cuMemFreeAsync(address, raw) })
    }

    fn is_pinned(&self) -> bool {
        self.memory == PoolMemory::Pinned
    }

    fn is_managed(&self) -> bool {
        self.memory == PoolMemory::Managed
    }

    fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        match self.memory {
            PoolMemory::Device => self.grants.include(device, (self.context.device(), self.peers())).map(Some),
            PoolMemory::Pinned => Ok(Some(false)), // it was opened to the context's device
            PoolMemory::Managed => Ok(Some(true)),
        }
    }

    fn name(&self) -> &'static str {
        match self.memory {
            PoolMemory::Device => "DevicePool",
            PoolMemory::Pinned => "PinnedPool",
            PoolMemory::Managed => "ManagedPool",
        }
    }
}

impl Drop for DriverPool {
    fn drop(&mut self) {
        if !self.is_owned {
            return;
        }
        if callback::is_running() {
            return reclaimer::defer(self.take());
        }
        if capture::any()
            && let Some(capture) = capture::in_context(&self.context)
        {
            // Its end may have to wait for the context, which cannot be waited for.
            return capture.defer(Box::new(self.take()));
        }
        let _relaxed = RelaxedMode::new(self.context.driver());
        // If the grants cannot be taken back, the pool ends all the same.
        self.revoke().unwrap_or_default();
        // Before the driver can give its handle to another pool.
        found::unlist(self);
        // SAFETY: `raw` came from the driver for this value to destroy. No buffer is left, since each holds
        // its pool; frees that are still enqueued are finished by the driver.
        let destroy = || unsafe { self.context.driver().cuMemPoolDestroy(self.as_raw()) };
        #[cfg(not(target_os = "linux"))]
        let destroyed = destroy();
        #[cfg(target_os = "linux")]
        let destroyed = destroy().or_else(|error| match error.code() {
            // An imported pool stays while its memory is mapped, which is until the free is done.
            Some(CUresult::CUDA_ERROR_INVALID_VALUE) if self.registration.is_some() => {
                self.context.synchronize().map_err(|_| error).and_then(|()| destroy())
            }
            _ => Err(error),
        });
        report(|| Subject::Pool { device: self.context.device().ordinal() }, destroyed);
    }
}
