//! Buffers that processes share: their descriptors, and buffers made of them.
#![expect(unsafe_code, reason = "takes memory of other processes")]

use std::sync::Arc;

use warploom_driver::sys::types::{CUdeviceptr, CUmemPoolPtrExportData};

use super::allocation::Allocation;
use super::pool::driver_pool::DriverPool;
use super::pool::imported::Imported;
use super::resource::{AnyOrdered, StreamOrdered as _};
use crate::ipc::{BufferDescriptor, ImportedPool, IpcError, PoolName};
use crate::{Buffer, DeviceCopy, MemoryError, Queue, Result};

impl<T: DeviceCopy> Buffer<T> {
    /// Its description for another process, which has imported its pool. An imported buffer has that of its
    /// maker, to be passed on.
    ///
    /// The driver is asked once for each buffer. The descriptor keeps no memory: see [`Buffer::import`] for
    /// the time that the buffer must be kept.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, PoolOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let pool = DevicePool::with(&context, PoolOptions::new().shareable())?;
    /// let descriptor = pool.zeroed::<f32>(1000, &stream)?.descriptor()?;
    /// assert_eq!(descriptor.size_in_bytes(), 4000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`IpcError::NotShareable`] unless its memory is that of a pool made with
    /// [`PoolOptions::shareable`](crate::PoolOptions::shareable), without an adaptor, [`IpcError::Empty`]
    /// without bytes, and the driver's error.
    #[doc(alias = "cuMemPoolExportPointer")]
    pub fn descriptor(&self) -> Result<BufferDescriptor> {
        let allocation = self.allocation();
        let refused = IpcError::NotShareable { resource: allocation.resource_name() };
        let resource = allocation.ordered_resource().ok_or(refused.clone())?;
        if self.size_in_bytes() == 0 {
            return Err(IpcError::Empty.into());
        }
        match resource {
            AnyOrdered::Pool(pool) => {
                let PoolName { origin, memory, pool: identity, .. } = *pool.handle().ok_or(refused)?.name();
                let payload = allocation.uses().export_or_ask(|| export(pool, self.as_raw()))?;
                let bytes = self.size_in_bytes() as u64;
                Ok(BufferDescriptor { origin, memory, pool: identity, bytes, payload })
            }
            AnyOrdered::Imported(imported) => Ok(imported.descriptor(self.as_raw()).ok_or(refused)?),
            AnyOrdered::Other(_) => Err(refused.into()),
        }
    }

    /// `true` if it is a buffer of another process, made by [`Buffer::import`].
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        matches!(self.allocation().ordered_resource(), Some(AnyOrdered::Imported(_)))
    }

    /// A buffer of another process, at an address of this process's own. Dropped, it is freed here in the
    /// order of `queue`; the exporter's buffer stays.
    ///
    /// Imports of one descriptor share a mapping, which the last of them ends.
    ///
    /// # Errors
    ///
    /// Without a driver call: [`IpcError::OtherMachine`], [`IpcError::OwnProcess`], [`IpcError::OtherPool`],
    /// [`IpcError::OtherMemory`], [`IpcError::Values`] if the bytes are not a whole number of values,
    /// [`ContextError::Mismatch`](crate::ContextError::Mismatch) if the queue belongs to another context,
    /// [`CaptureError::NotCapturable`](crate::CaptureError::NotCapturable) if it is captured. After it, and
    /// without a mapping: the driver's error, [`IpcError::BeyondMapping`] for more bytes than it mapped,
    /// [`IpcError::MappedElsewhere`] for memory of another device, and [`MemoryError::Cast`] for a wrong
    /// alignment.
    ///
    /// # Safety
    ///
    /// The descriptor is one that [`Buffer::descriptor`] returned in another process, for as many values of a
    /// type with the same layout; a driver crashes on one that was forged. That process keeps the buffer
    /// until this one, and all work that uses it here, is done: freed earlier, the memory is handed out again
    /// there, and written by both. The buffer's allocation is done in its stream, and no process writes the
    /// memory without an order to the reads and writes here, made by an [`IpcEvent`](crate::ipc::IpcEvent) or
    /// by waiting and a message; also not through a second import in this process. None of this can be seen
    /// from here.
    #[doc(alias = "cuMemPoolImportPointer")]
    pub unsafe fn import(pool: &ImportedPool, descriptor: &BufferDescriptor, queue: &impl Queue) -> Result<Buffer<T>> {
        let (imported, stream) = (&pool.shared, queue.stream());
        check(imported, descriptor)?;
        let len = len::<T>(descriptor)?;
        imported.context().serves(stream)?;
        stream.refuse_captured("an import of memory")?;
        // SAFETY: the caller vouches for the descriptor.
        let address = unsafe { imported.map(descriptor, stream) }?;
        let (bytes, is_pinned) = (descriptor.bytes as usize, imported.is_pinned());
        let resource = AnyOrdered::Imported(Arc::clone(imported));
        // SAFETY: the memory is mapped there, has as many bytes, and is given back by the allocation, in the
        // order of the stream.
        let allocation = unsafe { Allocation::ordered((address, bytes), is_pinned, resource, stream.clone()) };
        let align = align_of::<T>();
        if !address.is_multiple_of(align as u64) {
            // The allocation ends here, and the mapping with it.
            return Err(MemoryError::Cast { bytes, address, size: size_of::<T>(), align }.into());
        }
        // SAFETY: it has as many bytes as these values.
        Ok(unsafe { Buffer::over(allocation, len) })
    }
}

/// Refuses a descriptor that is not one of the pool, or was not made for this process.
fn check(imported: &Imported, descriptor: &BufferDescriptor) -> Result<()> {
    descriptor.check_origin()?;
    let (found, expected) = (descriptor.pool(), imported.uuid());
    if found != expected {
        return Err(IpcError::OtherPool { found, expected }.into());
    }
    let (found, expected) = (descriptor.memory(), imported.memory());
    if found != expected {
        return Err(IpcError::OtherMemory { what: "buffer descriptor", found, expected }.into());
    }
    Ok(())
}

/// The values of a descriptor's bytes.
fn len<T>(descriptor: &BufferDescriptor) -> Result<usize> {
    let (claimed, size) = (descriptor.size_in_bytes(), size_of::<T>());
    let bytes = usize::try_from(claimed).ok().filter(|bytes| (1..=isize::MAX as usize).contains(bytes));
    let bytes = bytes.ok_or(IpcError::Size { bytes: claimed, mapped: claimed })?;
    match bytes.checked_rem(size) {
        Some(0) => Ok(bytes / size),
        _ => Err(IpcError::Values { bytes, size }.into()),
    }
}

/// The driver's export data of an allocation of the pool.
fn export(pool: &DriverPool, address: CUdeviceptr) -> Result<[u8; 64]> {
    let mut data = CUmemPoolPtrExportData { reserved: [0; 64] };
    // SAFETY: `data` is writable; the address is that of a buffer of the pool, which the caller has.
    unsafe { pool.context().driver().cuMemPoolExportPointer(&raw mut data, address) }?;
    Ok(data.reserved)
}
