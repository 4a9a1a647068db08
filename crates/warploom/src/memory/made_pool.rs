//! Pools of memory that the host can use, too: made, used and destroyed alike, wherever their memory is.
#![expect(unsafe_code, reason = "owns a raw pool")]

use std::ptr::null_mut;

use warploom_driver::sys::types::{
    CUdeviceptr, CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPoolHandle_st, CUmemPoolProps, CUmemoryPool,
};

use super::resource::StreamOrdered;
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::{Context, DeviceAttribute, Error, PoolOptions, Result, Stream};

/// A pool that was made here, and ends with this value.
pub(super) struct MadePool {
    raw: Handle<CUmemPoolHandle_st>,
    context: Context,
    kind: CUmemAllocationType,
}

impl MadePool {
    /// A pool of that kind of memory at a location, for the context's device to use.
    pub(super) fn new(
        context: &Context,
        kind: CUmemAllocationType,
        location: CUmemLocation,
        options: PoolOptions,
    ) -> Result<MadePool> {
        let properties = CUmemPoolProps {
            allocType: kind,
            handleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            location,
            win32SecurityAttributes: null_mut(),
            maxSize: options.max_size,
            usage: 0,
            gpuDirectRDMACapable: 0,
            reserved: [0; 53],
        };
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, `properties` readable.
        unsafe { context.driver().cuMemPoolCreate(&raw mut raw, &raw const properties) }?;
        let pool = MadePool { raw: Handle::new(raw), context: context.clone(), kind };
        options.apply(context, raw)?;
        if pool.is_pinned() {
            // At first, only the host may use the memory of a host pool.
            pool.set_access(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE)?;
        }
        Ok(pool)
    }

    /// Says what the context's device may do with the memory.
    fn set_access(&self, flags: CUmemAccess_flags) -> Result<()> {
        let device = self.context.device().as_raw();
        let access = CUmemAccessDesc {
            location: CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device),
            flags,
        };
        // SAFETY: the pool is alive, and there is one descriptor to read.
        Ok(unsafe { self.context.driver().cuMemPoolSetAccess(self.as_raw(), &raw const access, 1) }?)
    }

    pub(super) fn as_raw(&self) -> CUmemoryPool {
        self.raw.raw()
    }
}

/// Whether a device says that it can do something; what a driver is too old to know, it cannot.
pub(super) fn can(context: &Context, attribute: DeviceAttribute) -> Result<bool> {
    match context.device().attribute(attribute) {
        Err(Error::UnknownAttribute { .. }) => Ok(false),
        value => Ok(value? != 0),
    }
}

// SAFETY: the driver hands memory of a pool out in stream order, once, until it is freed in stream order. Pinned memory in a pool
// of this kind is the host's, at the same address.
unsafe impl StreamOrdered for MadePool {
    fn context(&self) -> &Context {
        &self.context
    }

    fn allocate_raw(&self, bytes: usize, stream: &Stream) -> Result<CUdeviceptr> {
        let mut address: CUdeviceptr = 0;
        let (driver, pool) = (self.context.driver(), self.as_raw());
        stream.context().check_generation()?;
        // SAFETY: `address` is writable; pool and stream are alive and of the same driver.
        stream.enqueue(|raw| unsafe { driver.cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, raw) })?;
        Ok(address)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize, stream: &Stream) -> Result<()> {
        stream.context().check_generation()?;
        // SAFETY: the caller gives back what `allocate_raw` gave, once, in the order of a stream that is alive.
        stream.enqueue(|raw| unsafe { self.context.driver().cuMemFreeAsync(address, raw) })
    }

    fn is_pinned(&self) -> bool {
        self.kind == CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED
    }
}

impl Drop for MadePool {
    fn drop(&mut self) {
        if self.is_pinned() {
            // A pool that is made later may get the handle of this one, and was seen to get its grants with it. Access goes at
            // once, so that work on buffers that were dropped has to be over. If the grant cannot be taken back, the pool
            // ends all the same.
            let none = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
            self.context.synchronize().and_then(|()| self.set_access(none)).unwrap_or_default();
        }
        // SAFETY: `raw` came from `cuMemPoolCreate`, and nothing else owns it. No buffer is left, since each holds its pool;
        // frees that are still enqueued are finished by the driver.
        let destroyed = unsafe { self.context.driver().cuMemPoolDestroy(self.as_raw()) };
        report(|| Subject::Pool { device: self.context.device().ordinal() }, destroyed);
    }
}
