//! Virtual memory that processes share.
#![expect(unsafe_code, reason = "exports and imports raw memory")]

use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::without_provenance_mut;
use std::sync::Arc;

use warploom_driver::sys::types::{CUmemAllocationHandleType, CUmemGenericAllocationHandle, CUmemLocationType};

use super::VirtualMemory;
use super::memory::Shared;
use super::range::Range;
use crate::diagnostics::{Subject, report};
use crate::ipc::{IpcError, MemoryHandle, MemoryName, Origin};
use crate::memory::allocation::Allocation;
use crate::{Buffer, Device, DeviceCopy, MemoryError, Result};

/// The one kind of handle there is on Unix.
const FILE_DESCRIPTOR: CUmemAllocationHandleType = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

impl VirtualMemory {
    /// A handle of a buffer's memory, for another process to [map](VirtualMemory::import).
    ///
    /// ```
    /// use warploom::{Driver, VirtualMemory, VirtualOptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let memory = VirtualMemory::with(&context, VirtualOptions::new().shareable())?;
    /// let buffer = memory.allocate::<u32>(1000)?;
    /// assert_eq!(memory.export(&buffer)?.size_in_bytes(), 4000);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`IpcError::NotShareable`] unless this resource was made with
    /// [`VirtualOptions::shareable`](crate::VirtualOptions::shareable), [`MemoryError::OtherResource`] unless
    /// the buffer was allocated here, [`IpcError::Empty`] without bytes, [`IpcError::Pieces`] for one that
    /// has grown, and the driver's error.
    #[doc(alias = "cuMemExportToShareableHandle")]
    pub fn export<T: DeviceCopy>(&self, buffer: &Buffer<T>) -> Result<MemoryHandle> {
        let (shared, device) = (&self.shared, self.context().device());
        if shared.options.handle_types != FILE_DESCRIPTOR {
            return Err(IpcError::NotShareable { resource: "this VirtualMemory" }.into());
        }
        if !buffer.allocation().is_from(shared) {
            return Err(MemoryError::OtherResource.into());
        }
        if buffer.size_in_bytes() == 0 {
            return Err(IpcError::Empty.into());
        }
        let ranges = shared.ranges();
        let range = ranges.get(&buffer.as_raw()).ok_or(MemoryError::OtherResource)?;
        let mut pieces = range.pieces();
        let (count, piece) = (pieces.len(), pieces.next());
        let (1, Some((handle, mapped))) = (count, piece) else {
            return Err(IpcError::Pieces { pieces: count }.into());
        };
        let (origin, uuid, mut fd) = (Origin::here()?, device.uuid()?, -1_i32);
        let room = (&raw mut fd).cast();
        // SAFETY: the range keeps the memory, and a file descriptor fits there.
        unsafe { device.driver().cuMemExportToShareableHandle(room, handle, FILE_DESCRIPTOR, 0) }?;
        // SAFETY: the driver has opened it for the caller just now, who closes it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let (bytes, mapped) = (buffer.size_in_bytes() as u64, mapped as u64);
        Ok(MemoryHandle::new(fd, MemoryName { origin, device: uuid, bytes, mapped }))
    }

    /// A buffer with memory of another process, mapped at addresses of this resource, for the devices that it
    /// is for. The memory stays until the last process has dropped it.
    ///
    /// ```no_run
    /// use std::os::unix::net::UnixStream;
    /// use warploom::ipc::MemoryHandle;
    /// use warploom::{Buffer, VirtualMemory};
    ///
    /// fn weights(socket: &UnixStream, memory: &VirtualMemory) -> warploom::Result<Buffer<f32>> {
    ///     let handle = MemoryHandle::receive(socket)?;
    ///     // SAFETY: the sender has written them, waited, and writes them no more.
    ///     unsafe { memory.import(handle) }
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Without a driver call: [`IpcError::OtherMachine`], [`IpcError::OwnProcess`],
    /// [`IpcError::OtherDevice`], and [`IpcError::Values`] if the bytes are not a whole number of values. And
    /// the driver's error: for a file descriptor that is not one of memory, and for more bytes than the
    /// memory has. Then nothing is mapped.
    ///
    /// # Safety
    ///
    /// The handle is one that [`VirtualMemory::export`] returned in another process, for as many values of a
    /// type with the same layout. No process writes the memory without an order to the reads and writes here,
    /// made by an [`IpcEvent`](crate::ipc::IpcEvent) or by waiting and a message. This cannot be seen from
    /// here.
    #[doc(alias = "cuMemImportFromShareableHandle")]
    pub unsafe fn import<T: DeviceCopy>(&self, handle: MemoryHandle) -> Result<Buffer<T>> {
        let (shared, device) = (&self.shared, self.context().device());
        handle.check_origin()?;
        let MemoryName { device: found, bytes, mapped, .. } = handle.name;
        let expected = device.uuid()?;
        if found != expected {
            return Err(IpcError::OtherDevice { found, expected }.into());
        }
        // Both were checked when the handle was read.
        let (bytes, mapped, size) = (bytes as usize, mapped as usize, size_of::<T>());
        if bytes.checked_rem(size) != Some(0) {
            return Err(IpcError::Values { bytes, size }.into());
        }
        shared.context.check_generation()?;
        let range = shared.import(&handle, mapped)?;
        let address = range.address();
        shared.keep(range);
        // SAFETY: as many bytes are mapped there, and the resource keeps them under this address.
        let allocation = unsafe { Allocation::synchronous((address, bytes), Arc::<Shared>::clone(shared)) };
        // SAFETY: it has as many bytes as these values.
        Ok(unsafe { Buffer::over(allocation, bytes / size) })
    }
}

impl Shared {
    /// Memory of another process, mapped.
    fn import(&self, shared: &MemoryHandle, bytes: usize) -> Result<Range> {
        let device = self.context.device();
        let mut range = self.reserve(bytes)?;
        let mut handle = 0;
        // A file descriptor is passed as a pointer.
        let fd = without_provenance_mut(shared.as_fd().as_raw_fd().cast_unsigned() as usize);
        // SAFETY: `handle` is writable, and the file descriptor is open.
        unsafe { device.driver().cuMemImportFromShareableHandle(&raw mut handle, fd, FILE_DESCRIPTOR) }?;
        if let Err(error) = self.check_location(handle) {
            // SAFETY: gives back the one reference that was had.
            let released = unsafe { device.driver().cuMemRelease(handle) };
            report(|| Subject::Memory { address: 0, bytes, device: device.ordinal() }, released);
            return Err(error);
        }
        // SAFETY: it was imported just now, for the range to give back.
        unsafe { range.take_over(handle, bytes) }?;
        range.open(&self.access)?;
        Ok(range)
    }

    /// Refuses memory of another device.
    fn check_location(&self, handle: CUmemGenericAllocationHandle) -> Result<()> {
        let device: &Device = self.context.device();
        let mut properties = self.options.properties(device);
        let driver = device.driver();
        // SAFETY: `properties` is writable, and the memory is there.
        unsafe { driver.cuMemGetAllocationPropertiesFromHandle(&raw mut properties, handle) }?;
        let location = properties.location;
        if location.type_ != CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE || location.id() != device.as_raw() {
            return Err(IpcError::MappedElsewhere { found: location.id(), expected: device.ordinal() }.into());
        }
        Ok(())
    }
}
