//! `PinnedMemory`: page-locked memory, allocated and freed at once.
#![expect(unsafe_code, reason = "allocates and frees page-locked memory")]

use std::fmt;
use std::ptr::{null_mut, with_exposed_provenance_mut};
use std::sync::Arc;

use warploom_driver::sys::types::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_WRITECOMBINED, CUdeviceptr,
};

use super::PinnedBuffer;
use crate::memory::free_after::{FreeError, free_after};
use crate::memory::resource::{Synchronous, SynchronousResource};
use crate::{Buffer, Context, DeviceCopy, Queue, Result};

/// Page-locked memory of the host, which devices use at the same address. Copies from and to it run while the
/// host goes on.
///
/// Locking pages is dear, and so is freeing them, which waits for everything enqueued in the context: keep
/// buffers and use them again. As a [`SynchronousResource`] it gives [`Buffer`](crate::Buffer)s, to be used
/// on streams; a [`PinnedBuffer`] is for the host to read and write.
///
/// ```
/// use warploom::{DevicePool, Driver, PinnedMemory};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let mut device = DevicePool::new(&context)?.zeroed::<f32>(1000, &stream)?;
///
/// let mut host = PinnedMemory::new(&context).buffer::<f32>(1000)?;
/// host[3] = 0.5;
/// let sending = device.as_slice_mut().copy_from_pinned(host, &stream)?; // the copy has the memory now
/// let host = sending.wait()?; // and here it is again
/// assert_eq!(device.slice(2..5)?.download(&stream)?, host[2..5]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PinnedMemory {
    shared: Arc<Shared>,
}

struct Shared {
    context: Context,
    flags: u32,
}

/// Options of [`PinnedMemory`].
///
/// ```
/// use warploom::{Driver, PinnedMemory, PinnedOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let memory = PinnedMemory::with(&context, PinnedOptions::new().write_combined());
/// let outgoing = memory.buffer_of(&[1_u8, 2, 3])?;
/// assert_eq!(outgoing.len(), 3);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use]
pub struct PinnedOptions {
    portable: bool,
    write_combined: bool,
}

impl PinnedOptions {
    /// Memory that every context can use, as all has been since devices and host share one space of
    /// addresses.
    pub fn new() -> PinnedOptions {
        PinnedOptions::default()
    }

    /// Tells the driver that other contexts will use the memory, too.
    pub fn portable(mut self) -> PinnedOptions {
        self.portable = true;
        self
    }

    /// Memory that the host writes past its caches: faster to copy from, and very slow for the host to read.
    pub fn write_combined(mut self) -> PinnedOptions {
        self.write_combined = true;
        self
    }

    /// `CU_MEMHOSTALLOC_*`.
    fn flags(self) -> u32 {
        let portable = if self.portable { CU_MEMHOSTALLOC_PORTABLE } else { 0 };
        let write_combined = if self.write_combined { CU_MEMHOSTALLOC_WRITECOMBINED } else { 0 };
        CU_MEMHOSTALLOC_DEVICEMAP | portable | write_combined
    }
}

impl PinnedMemory {
    /// Page-locked memory that belongs to a context.
    #[must_use]
    #[doc(alias = "cuMemAllocHost")]
    pub fn new(context: &Context) -> PinnedMemory {
        PinnedMemory::with(context, PinnedOptions::new())
    }

    /// Page-locked memory of a certain kind.
    #[must_use]
    #[doc(alias = "cuMemHostAlloc")]
    pub fn with(context: &Context, options: PinnedOptions) -> PinnedMemory {
        PinnedMemory { shared: Arc::new(Shared { context: context.clone(), flags: options.flags() }) }
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.shared.context
    }

    /// `len` values, all of whose bytes are 0, for the host to read and write.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`].
    pub fn buffer<T: DeviceCopy>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        PinnedBuffer::zeroed(len, self)
    }

    /// These values, for the host to read and write.
    ///
    /// # Errors
    ///
    /// As [`SynchronousResource::allocate`].
    pub fn buffer_of<T: DeviceCopy>(&self, values: &[T]) -> Result<PinnedBuffer<T>> {
        PinnedBuffer::copied(values, self)
    }

    /// Frees a buffer of it when everything enqueued on `queue` so far is done, and returns the error.
    ///
    /// Dropping a buffer waits for work that was enqueued with it; this also waits for work that used it by
    /// its raw address.
    ///
    /// # Errors
    ///
    /// With the buffer as it was: [`MemoryError::OtherResource`](crate::MemoryError::OtherResource) unless it
    /// was allocated here, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) if the queue
    /// belongs to another driver, and the driver's error of the wait, which may be a failure of that work.
    /// Without it: the driver's error of the free.
    #[doc(alias = "cuMemFreeHost")]
    pub fn free_after<T: DeviceCopy>(&self, buffer: Buffer<T>, queue: &impl Queue) -> Result<(), FreeError<T>> {
        free_after(&self.shared, buffer, queue)
    }
}

impl SynchronousResource for PinnedMemory {
    fn resource(&self) -> Arc<dyn Synchronous> {
        Arc::<Shared>::clone(&self.shared)
    }
}

// SAFETY: the driver hands memory out once, until it is freed; `cuMemFreeHost` waits for the context of the
// memory. Devices use it at the host's address, whatever the flags.
unsafe impl Synchronous for Shared {
    fn context(&self) -> &Context {
        &self.context
    }

    fn allocate_raw(&self, bytes: usize) -> Result<CUdeviceptr> {
        let _current = self.context.current()?;
        let mut memory = null_mut();
        // SAFETY: `memory` is writable, and `_current` keeps the context current.
        unsafe { self.context.driver().cuMemHostAlloc(&raw mut memory, bytes, self.flags) }?;
        Ok(memory.expose_provenance() as CUdeviceptr)
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, _bytes: usize) -> Result<()> {
        let memory = with_exposed_provenance_mut(address as usize);
        // SAFETY: the caller gives back an address of `allocate_raw`, once.
        Ok(unsafe { self.context.driver().cuMemFreeHost(memory) }?)
    }

    fn free_waits_for_context(&self) -> bool {
        true
    }

    fn is_pinned(&self) -> bool {
        true
    }

    fn name(&self) -> &'static str {
        "PinnedMemory"
    }
}

impl fmt::Debug for PinnedMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let device = self.context().device();
        formatter.debug_struct("PinnedMemory").field("device", device).field("flags", &self.shared.flags).finish()
    }
}
