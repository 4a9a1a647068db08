//! Missing access of a device to virtual memory, which explains a call that the driver has refused.
#![expect(unsafe_code, reason = "asks the driver about an address")]

use warploom_driver::sys::types::{CUdeviceptr, CUmemAccess_flags, CUresult};

use super::allocation::Allocation;
use super::slice::Span;
use super::uses::Access;
use crate::peers::location;
use crate::{AccessLevel, Error, MemoryError, Stream};

impl Allocation {
    /// The error of a call that reads or writes the memory on a stream: the access that the stream's device
    /// lacks, if that is the reason, or the driver's error.
    #[cold]
    pub(super) fn refused(&self, error: Error, (address, access): (CUdeviceptr, Access), stream: &Stream) -> Error {
        let (device, mut flags) = (stream.context().device(), 0);
        let is_refused = matches!(&error, Error::Driver(_)) && error.code() == Some(CUresult::CUDA_ERROR_INVALID_VALUE);
        if !is_refused || !self.is_closed_to(device) {
            return error;
        }
        let (driver, place) = (device.driver(), location(device));
        // SAFETY: `flags` is writable, `place` readable.
        if unsafe { driver.cuMemGetAccess(&raw mut flags, &raw const place, address) }.is_err() {
            return error;
        }
        let level = match u32::try_from(flags).map(CUmemAccess_flags) {
            Ok(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE) => AccessLevel::None,
            Ok(CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ) => AccessLevel::Read,
            _ => return error,
        };
        let needs = match (access, level) {
            (Access::Read, AccessLevel::Read) => return error,
            (Access::Read, _) => "read",
            (Access::Write, _) => "write",
        };
        MemoryError::NoAccess { device: device.ordinal(), address, needs, level }.into()
    }
}

impl Span<'_> {
    /// As [`Allocation::refused`].
    #[cold]
    pub(super) fn refused(self, error: Error, access: Access, stream: &Stream) -> Error {
        self.allocation.refused(error, (self.address, access), stream)
    }
}
