//! Memory annotations: blocks that a program hands out itself, for drivers that check programs.
#![expect(unsafe_code, reason = "calls C functions of an export table")]

use std::fmt;
use std::ptr::null;

use warploom_sys::types::{CUdeviceptr, CUresult, CUstream};
use warploom_sys::{Function, MEMORY_ANNOTATIONS_ID, MemoryAnnotationTable};

use crate::{Driver, DriverError, Error, Result};

/// The functions by which a program tells a driver that checks programs of memory that it hands out itself;
/// see [`Driver::memory_annotations`].
pub struct MemoryAnnotations {
    table: MemoryAnnotationTable,
    /// Keeps the functions callable.
    driver: Driver,
}

impl Driver {
    /// The driver's memory annotations; `None` from a driver that does not check programs, such as a real
    /// one.
    ///
    /// For allocators that hand out parts of an allocation, and keep freed parts for the next: without being
    /// told, the driver takes all of the allocation to be in use. One driver call.
    #[doc(alias = "cuGetExportTable")]
    #[must_use]
    pub fn memory_annotations(&self) -> Option<MemoryAnnotations> {
        let (mut found, id) = (null(), MEMORY_ANNOTATIONS_ID);
        // SAFETY: `found` is writable, and the identifier readable.
        unsafe { self.cuGetExportTable(&raw mut found, &raw const id) }.ok()?;
        let found = found.cast::<MemoryAnnotationTable>();
        // SAFETY: a driver that knows the identifier returns this table, which begins with its size and lives
        // as long as the driver.
        let is_whole = !found.is_null() && unsafe { (*found).size } >= size_of::<MemoryAnnotationTable>();
        // SAFETY: as above, and all of it is there.
        is_whole.then(|| MemoryAnnotations { table: unsafe { *found }, driver: self.clone() })
    }
}

impl MemoryAnnotations {
    /// A block of an allocation is handed out: uninitialised, and valid for later work of the stream. From
    /// the first block on, only its blocks are valid memory.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`] if the block is not in an allocation or overlaps another, or if the driver lets
    /// calls fail in which it finds an error of the program.
    ///
    /// # Safety
    ///
    /// The stream is one of the driver's; a default stream is that of the current context.
    pub unsafe fn lend(&self, address: CUdeviceptr, bytes: usize, stream: CUstream) -> Result<()> {
        // SAFETY: the caller vouches for the stream, and the driver is held.
        self.check(unsafe { (self.table.lend)(address, bytes, stream) })
    }

    /// The block that starts at an address goes back, after all its uses in the order of the stream.
    ///
    /// # Errors
    ///
    /// As [`MemoryAnnotations::lend`]; [`Error::Driver`] if no block starts there.
    ///
    /// # Safety
    ///
    /// As [`MemoryAnnotations::lend`].
    pub unsafe fn release(&self, address: CUdeviceptr, stream: CUstream) -> Result<()> {
        // SAFETY: the caller vouches for the stream, and the driver is held.
        self.check(unsafe { (self.table.release)(address, stream) })
    }

    fn check(&self, code: CUresult) -> Result<()> {
        match code {
            CUresult::CUDA_SUCCESS => Ok(()),
            code => Err(Error::Driver(DriverError { function: Function::cuGetExportTable, code })),
        }
    }
}

impl fmt::Debug for MemoryAnnotations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("MemoryAnnotations").field("driver", &self.driver).finish_non_exhaustive()
    }
}
