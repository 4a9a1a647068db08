//! Access by the host to managed memory.
//!
//! A `&[T]` must not change while it is there. Only work on streams could change it: work that was enqueued
//! before is waited for, and to enqueue more that writes, the buffer would have to be borrowed mutably. Work
//! that only reads may go on. Launches of graphs that use the memory are refused while it is borrowed
//! ([`host_borrows`](crate::memory::host_borrows)).
//!
//! A device without concurrent managed access must not work at all, on anything, while the host touches
//! managed memory. No borrow can see to that: other threads have streams of their own. So there the host is
//! refused, but for an `unsafe` promise.
#![expect(unsafe_code, reason = "reads and writes memory that host and devices share")]

use std::ptr::{NonNull, with_exposed_provenance_mut};
use std::sync::OnceLock;

use warploom_driver::sys::types::CUdeviceptr;

use super::ManagedBuffer;
use crate::live_set::lock::Lock;
use crate::memory::allocation::Allocation;
use crate::memory::host_borrows::HostBorrow;
use crate::memory::resource::refuse_padding;
use crate::{DeviceAttribute, DeviceCopy, Driver, Error, HostSlice, HostSliceMut, ManagedError, MemoryError, Result};

/// Pages are at least that large.
const PAGE: CUdeviceptr = 4096;

impl<T: DeviceCopy> ManagedBuffer<T> {
    /// The values, for the host to read, when all work that was enqueued with them is done.
    ///
    /// While they are borrowed, streams may read them, too, but nothing can write them. Launches of graphs
    /// that use the memory are refused ([`MemoryError::HostBorrowed`]).
    ///
    /// ```compile_fail,E0502
    /// # use warploom::{ManagedBuffer, Queue, Result};
    /// fn overwritten(buffer: &mut ManagedBuffer<u8>, queue: &impl Queue) -> Result<u8> {
    ///     let values = buffer.host()?;
    ///     buffer.fill(1, queue)?;
    ///     Ok(values[0])
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ManagedError::NotManaged`] if the memory is not managed, [`MemoryError::Cast`] if it is not aligned
    /// for the host, [`ManagedError::HostAccessUnsupported`] if the driver has a device that cannot work
    /// while the host does, and the driver's error, which may be a failure of that work.
    pub fn host(&self) -> Result<HostSlice<'_, T>> {
        let start = self.ready()?;
        concurrent(self.context().driver())?;
        let borrow = HostBorrow::shared(self.allocation())?;
        steady(self.allocation());
        // SAFETY: there are that many values, aligned, for as long as the buffer lives, and the host can read
        // them at any time. Whatever wrote them is done; to enqueue more, the buffer would have to be
        // borrowed mutably, and graphs that use it are not launched. The memory comes from outside the
        // program, and the host writes no padding where a cache reuses it; so it has bytes, and any bytes are
        // values (`DeviceCopy`).
        let values = unsafe { std::slice::from_raw_parts(start, self.len()) };
        Ok(HostSlice::new(values, borrow))
    }

    /// The values, for the host to read and write, when all work that was enqueued with them is done. Nothing
    /// else can use them while they are borrowed; work enqueued afterwards sees the written values. Launches
    /// of graphs that use the memory are refused until then ([`MemoryError::HostBorrowed`]).
    ///
    /// # Errors
    ///
    /// As [`ManagedBuffer::host`], and [`MemoryError::ReusedPadding`] if a cache has the memory and the values
    /// have padding.
    pub fn host_mut(&mut self) -> Result<HostSliceMut<'_, T>> {
        let start = self.ready()?;
        refuse_padding::<T>(self.allocation().reuses_memory())?;
        concurrent(self.context().driver())?;
        let borrow = HostBorrow::exclusive(self.allocation())?;
        steady(self.allocation());
        // SAFETY: as above; and no work at all uses the values, nor can any be enqueued, since the buffer is
        // borrowed mutably.
        let values = unsafe { std::slice::from_raw_parts_mut(start, self.len()) };
        Ok(HostSliceMut::new(values, borrow))
    }

    /// As [`ManagedBuffer::host`], also with devices that cannot work while the host uses managed memory.
    /// Waits for everything that is enqueued in the memory's context.
    ///
    /// # Errors
    ///
    /// As [`ManagedBuffer::host`], but for [`ManagedError::HostAccessUnsupported`].
    ///
    /// # Safety
    ///
    /// No device without concurrent managed access works while the values are borrowed, on any memory, for
    /// whomever.
    pub unsafe fn host_while_idle(&self) -> Result<HostSlice<'_, T>> {
        let start = self.ready()?;
        let borrow = HostBorrow::shared(self.allocation())?;
        self.context().synchronize()?;
        steady(self.allocation());
        // SAFETY: as in `host`; that the host can read them is what the caller sees to.
        let values = unsafe { std::slice::from_raw_parts(start, self.len()) };
        Ok(HostSlice::new(values, borrow))
    }

    /// As [`ManagedBuffer::host_mut`], also with devices that cannot work while the host uses managed memory.
    /// Waits for everything that is enqueued in the memory's context.
    ///
    /// # Errors
    ///
    /// As [`ManagedBuffer::host_mut`], but for [`ManagedError::HostAccessUnsupported`].
    ///
    /// # Safety
    ///
    /// As [`ManagedBuffer::host_while_idle`].
    pub unsafe fn host_mut_while_idle(&mut self) -> Result<HostSliceMut<'_, T>> {
        let start = self.ready()?;
        refuse_padding::<T>(self.allocation().reuses_memory())?;
        let borrow = HostBorrow::exclusive(self.allocation())?;
        self.context().synchronize()?;
        steady(self.allocation());
        // SAFETY: as in `host_mut`; that the host can use them is what the caller sees to.
        let values = unsafe { std::slice::from_raw_parts_mut(start, self.len()) };
        Ok(HostSliceMut::new(values, borrow))
    }

    /// The first value, for the host, if it is managed and aligned.
    fn ready(&self) -> Result<*mut T> {
        if !self.allocation().is_managed()? {
            return Err(ManagedError::NotManaged { what: "host access", index: None }.into());
        }
        let (address, bytes, size, align) = (self.as_raw(), self.size_in_bytes(), size_of::<T>(), align_of::<T>());
        if !address.is_multiple_of(align as CUdeviceptr) {
            return Err(MemoryError::Cast { bytes, address, size, align }.into());
        }
        if bytes == 0 {
            return Ok(NonNull::dangling().as_ptr()); // where a slice of no bytes may be
        }
        Ok(with_exposed_provenance_mut(address as usize))
    }
}

/// The first device that cannot work while the host uses managed memory, as it was found once.
#[derive(Default)]
struct Exclusive(OnceLock<Option<u32>>);

/// Refuses a driver with a device that cannot work while the host uses managed memory.
fn concurrent(driver: &Driver) -> Result<()> {
    let known = driver.extension::<Exclusive>();
    let exclusive = match known.0.get() {
        Some(found) => *found,
        None => {
            let found = find_exclusive(driver)?;
            *known.0.get_or_init(|| found)
        }
    };
    exclusive.map_or(Ok(()), |device| Err(Error::Managed(ManagedError::HostAccessUnsupported { device })))
}

fn find_exclusive(driver: &Driver) -> Result<Option<u32>> {
    for device in driver.devices()? {
        if device.attribute(DeviceAttribute::ConcurrentManagedAccess)? == 0 {
            return Ok(Some(device.ordinal()));
        }
    }
    Ok(None)
}

/// Gives discarded contents a fixed value.
///
/// Discarded contents may differ at every read, until they are written. No reference exists yet: since the
/// discard, which takes a mutable borrow, every access has come through here. A cache may have got the memory
/// from a buffer that was discarded.
fn steady(allocation: &Allocation) {
    let _alone = Lock::of(with_exposed_provenance_mut::<u8>(allocation.address() as usize));
    if !allocation.managed().take_discard(allocation.reuses_memory()) {
        return;
    }
    let (start, end) = (allocation.address(), allocation.address() + allocation.bytes() as CUdeviceptr);
    let mut at = start;
    while at < end {
        let byte = with_exposed_provenance_mut::<u8>(at as usize);
        // SAFETY: it is a byte of the allocation, which the host may read and write now, and which nobody
        // else uses.
        unsafe { byte.write_volatile(byte.read_volatile()) };
        at = (at / PAGE + 1) * PAGE;
    }
}
