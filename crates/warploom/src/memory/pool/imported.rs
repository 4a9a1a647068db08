//! Memory of imported pools: mappings of buffers of another process.
//!
//! The driver maps a buffer once for each process, and its first free ends the mapping. So imports of one
//! buffer share a mapping here, which the last of them frees, after the streams on which the others would
//! have been freed.
#![expect(unsafe_code, reason = "maps memory of other processes")]

use std::collections::HashMap;
use std::ffi::c_void;

use warploom_driver::sys::types::{CUdeviceptr, CUmemPoolPtrExportData, CUpointer_attribute};
use warploom_driver::user_code::{Mutex, MutexGuard};

use super::driver_pool::{DriverPool, PoolMemory};
use crate::diagnostics::{Subject, report};
use crate::ipc::{BufferDescriptor, IpcError, PoolHandle, SharedMemory};
use crate::memory::resource::StreamOrdered;
use crate::stream::WeakStream;
use crate::{Context, Device, Result, Stream, Uuid};

/// A pool of another process, and its buffers that are mapped here.
pub(in crate::memory) struct Imported {
    pool: DriverPool,
    handle: PoolHandle,
    memory: SharedMemory,
    mappings: Mutex<Mappings>,
}

#[derive(Default)]
struct Mappings {
    by_address: HashMap<CUdeviceptr, Mapping>,
    by_payload: HashMap<[u8; 64], CUdeviceptr>,
}

/// A mapped buffer of another process.
struct Mapping {
    /// The first descriptor that it was imported with.
    descriptor: BufferDescriptor,
    /// The bytes from its address to its end.
    extent: u64,
    /// The buffers that share it.
    imports: usize,
    /// The streams that buffers were freed on which shared it before.
    freed_on: Vec<WeakStream>,
}

impl Imported {
    pub(super) fn new(pool: DriverPool, handle: PoolHandle, memory: SharedMemory) -> Imported {
        Imported { pool, handle, memory, mappings: Mutex::default() }
    }

    pub(in crate::memory) fn uuid(&self) -> Uuid {
        self.handle.uuid()
    }

    pub(super) fn handle(&self) -> &PoolHandle {
        &self.handle
    }

    pub(in crate::memory) fn memory(&self) -> SharedMemory {
        self.memory
    }

    pub(super) fn pool(&self) -> &DriverPool {
        &self.pool
    }

    /// Refuses to be used for another context, or as other memory.
    pub(super) fn checked(&self, context: &Context, expected: SharedMemory) -> Result<()> {
        if self.memory != expected {
            return Err(IpcError::OtherMemory { what: "pool handle", found: self.memory, expected }.into());
        }
        if self.pool.context() != context {
            return Err(IpcError::OtherContext { pool: self.uuid() }.into());
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Mappings> {
        self.mappings.lock()
    }

    /// Maps the memory of a buffer, or shares the mapping that it has; the address is to be given back once.
    ///
    /// # Safety
    ///
    /// The payload is the driver's, for memory that its process keeps.
    pub(in crate::memory) unsafe fn map(&self, descriptor: &BufferDescriptor, stream: &Stream) -> Result<CUdeviceptr> {
        let mut mappings = self.lock();
        if let Some(address) = mappings.by_payload.get(&descriptor.payload).copied() {
            return mappings.share(address, descriptor);
        }
        let (driver, mut address) = (self.pool.context().driver(), 0);
        let mut data = CUmemPoolPtrExportData { reserved: descriptor.payload };
        // SAFETY: `address` is writable, `data` readable, the pool alive; the caller vouches for the payload.
        unsafe { driver.cuMemPoolImportPointer(&raw mut address, self.pool.as_raw(), &raw mut data) }?;
        if mappings.by_address.contains_key(&address) {
            return mappings.share(address, descriptor);
        }
        match self.extent(address).and_then(|extent| within(descriptor, extent)) {
            Ok(extent) => {
                mappings.by_payload.insert(descriptor.payload, address);
                let mapping = Mapping { descriptor: descriptor.clone(), extent, imports: 1, freed_on: Vec::new() };
                mappings.by_address.insert(address, mapping);
                Ok(address)
            }
            Err(error) => {
                // SAFETY: it was mapped just now, and nothing has used it.
                let freed = unsafe { self.pool.deallocate_raw(address, 0, stream) };
                let device = self.pool.context().device().ordinal();
                report(|| Subject::Memory { address, bytes: descriptor.bytes as usize, device }, freed);
                Err(error)
            }
        }
    }

    /// The bytes from an address to the end of its mapping, which is of the pool's device.
    fn extent(&self, address: CUdeviceptr) -> Result<u64> {
        let (mut start, mut size, mut ordinal) = (0_u64, 0_u64, -1_i32);
        let mut attributes = [
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut data: [*mut c_void; 3] = [(&raw mut start).cast(), (&raw mut size).cast(), (&raw mut ordinal).cast()];
        let (count, attributes, data) = (attributes.len() as u32, attributes.as_mut_ptr(), data.as_mut_ptr());
        let driver = self.pool.context().driver();
        // SAFETY: there are as many attributes as places for them, of 8, 8 and 4 bytes.
        unsafe { driver.cuPointerGetAttributes(count, attributes, data, address) }?;
        let device = self.pool.context().device().ordinal();
        if self.memory == SharedMemory::Device && u32::try_from(ordinal) != Ok(device) {
            return Err(IpcError::MappedElsewhere { found: ordinal, expected: device }.into());
        }
        // Of page-locked memory in pools, drivers say 0 for the start.
        let before = if start == 0 { Some(0) } else { address.checked_sub(start) };
        Ok(before.and_then(|before| size.checked_sub(before)).unwrap_or(0))
    }

    /// The descriptor of a buffer that is mapped at an address.
    pub(in crate::memory) fn descriptor(&self, address: CUdeviceptr) -> Option<BufferDescriptor> {
        self.lock().by_address.get(&address).map(|mapping| mapping.descriptor.clone())
    }
}

/// The extent of a mapping that has the bytes of the descriptor.
fn within(descriptor: &BufferDescriptor, extent: u64) -> Result<u64> {
    if descriptor.bytes > extent {
        return Err(IpcError::BeyondMapping { claimed: descriptor.bytes, mapped: extent }.into());
    }
    Ok(extent)
}

impl Mappings {
    /// One more import of a mapping.
    fn share(&mut self, address: CUdeviceptr, descriptor: &BufferDescriptor) -> Result<CUdeviceptr> {
        if let Some(mapping) = self.by_address.get_mut(&address) {
            within(descriptor, mapping.extent)?;
            mapping.imports += 1;
        }
        Ok(address)
    }

    /// One import less. If that was the last, the streams that its end must come after.
    fn release(&mut self, address: CUdeviceptr, stream: &Stream) -> Option<Vec<WeakStream>> {
        let mapping = self.by_address.get_mut(&address)?;
        mapping.imports -= 1;
        if mapping.imports > 0 {
            if !mapping.freed_on.iter().any(|known| known.is(stream)) {
                mapping.freed_on.retain(|known| !known.has_ended() || known.rest().is_some());
                mapping.freed_on.push(stream.downgrade());
            }
            return None;
        }
        self.by_payload.retain(|_, of| *of != address);
        Some(self.by_address.remove(&address)?.freed_on)
    }
}

// SAFETY: it allocates nothing. Mapped memory is given back once, by the last import, after the others.
unsafe impl StreamOrdered for Imported {
    fn context(&self) -> &Context {
        self.pool.context()
    }

    fn allocate_raw(&self, _bytes: usize, _stream: &Stream) -> Result<CUdeviceptr> {
        Err(IpcError::CannotAllocate { pool: self.uuid() }.into())
    }

    unsafe fn deallocate_raw(&self, address: CUdeviceptr, bytes: usize, stream: &Stream) -> Result<()> {
        let mut mappings = self.lock();
        let Some(freed_on) = mappings.release(address, stream) else { return Ok(()) };
        for other in &freed_on {
            // Without an event, waiting on the host is slow and correct.
            stream.follow_weak(other).or_else(|_| other.drain())?;
        }
        // With the lock, so that an import of the same buffer comes before or after. SAFETY: no import is
        // left, and every use of them is ordered before.
        unsafe { self.pool.deallocate_raw(address, bytes, stream) }
    }

    fn is_pinned(&self) -> bool {
        self.pool.memory() == PoolMemory::Pinned
    }

    fn is_open_to(&self, device: &Device) -> Result<Option<bool>> {
        self.pool.is_open_to(device)
    }

    fn name(&self) -> &'static str {
        "ImportedPool"
    }
}
