//! Kinds of memory, and the devices and hosts that can use them.
#![expect(unsafe_code, reason = "asks the driver about an address")]

use std::ffi::c_void;

use warploom_driver::sys::types::{CUdeviceptr, CUmemorytype, CUpointer_attribute};

use crate::{Buffer, Context, DeviceCopy, Result, Slice};

/// Kinds of memory, by [`Buffer::kind`].
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryKind {
    /// Memory of a device, which the host cannot read or write by its address.
    Device,
    /// Page-locked memory of the host, which devices use, too.
    Pinned,
    /// Managed memory, which the host and devices use, and whose pages move.
    Managed,
    /// Memory of the host that the driver does not know.
    Pageable,
    /// A kind that a newer driver invented.
    Unknown(u32),
}

impl MemoryKind {
    /// `true` if a device can use it by its address. Pageable memory can be used only by devices with access
    /// to all memory of the host, of which the driver says nothing here. Of an unknown kind nothing is known.
    #[must_use]
    pub const fn is_device_accessible(self) -> bool {
        matches!(self, MemoryKind::Device | MemoryKind::Pinned | MemoryKind::Managed)
    }

    /// `true` if the host can use it by its address. Of an unknown kind nothing is known.
    #[must_use]
    pub const fn is_host_accessible(self) -> bool {
        matches!(self, MemoryKind::Pinned | MemoryKind::Managed | MemoryKind::Pageable)
    }

    /// The kind by the driver's numbers; the type is 0 for memory that it does not know.
    fn from_raw(memory_type: u32, is_managed: bool) -> MemoryKind {
        match CUmemorytype(memory_type) {
            _ if is_managed => MemoryKind::Managed,
            CUmemorytype::CU_MEMORYTYPE_HOST => MemoryKind::Pinned,
            CUmemorytype::CU_MEMORYTYPE_DEVICE => MemoryKind::Device,
            CUmemorytype(0) => MemoryKind::Pageable,
            CUmemorytype(raw) => MemoryKind::Unknown(raw),
        }
    }

    /// Asks the driver for the kind of memory at an address, in one call.
    pub(super) fn ask(context: &Context, address: CUdeviceptr) -> Result<MemoryKind> {
        let (mut memory_type, mut is_managed) = (0_u32, 0_u32);
        let mut attributes = [
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CUpointer_attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED,
        ];
        let mut data: [*mut c_void; 2] = [(&raw mut memory_type).cast(), (&raw mut is_managed).cast()];
        let (count, attributes, data) = (attributes.len() as u32, attributes.as_mut_ptr(), data.as_mut_ptr());
        // SAFETY: there are as many attributes as places for them, each of 4 bytes; any address may be asked
        // about, and of one that the driver does not know, the answers are 0.
        unsafe { context.driver().cuPointerGetAttributes(count, attributes, data, address) }?;
        Ok(MemoryKind::from_raw(memory_type, is_managed != 0))
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// The kind of its memory; see [`Slice::kind`].
    ///
    /// # Errors
    ///
    /// As [`Slice::kind`].
    pub fn kind(&self) -> Result<MemoryKind> {
        self.as_slice().kind()
    }

    /// `true` if its memory is managed: its resource says so, or else the driver, which is asked once.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuPointerGetAttribute")]
    pub fn is_managed(&self) -> Result<bool> {
        self.allocation().is_managed()
    }
}

impl<T: DeviceCopy> Slice<'_, T> {
    /// The kind of its memory, as its resource says. About memory of other code, the driver is asked once.
    ///
    /// ```
    /// use warploom::{Driver, DevicePool, MemoryKind, PinnedMemory};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let context = driver.device(0)?.context()?;
    /// let stream = context.stream()?;
    /// let buffer = DevicePool::new(&context)?.zeroed::<u8>(100, &stream)?;
    /// assert_eq!(buffer.kind()?, MemoryKind::Device);
    /// let pinned = PinnedMemory::new(&context).buffer::<u8>(100)?.into_buffer();
    /// assert!(pinned.kind()?.is_host_accessible() && pinned.kind()?.is_device_accessible());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuPointerGetAttributes")]
    pub fn kind(self) -> Result<MemoryKind> {
        self.span.allocation.kind()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_kind_of_memory_keeps_its_number() {
        let kinds = [0, 1, 2, 9].map(|raw| MemoryKind::from_raw(raw, false));
        let expected = [MemoryKind::Pageable, MemoryKind::Pinned, MemoryKind::Device, MemoryKind::Unknown(9)];
        assert_eq!(kinds, expected);
        assert_eq!(MemoryKind::from_raw(9, true), MemoryKind::Managed);
        assert!(!MemoryKind::Unknown(9).is_device_accessible() && !MemoryKind::Unknown(9).is_host_accessible());
    }
}
