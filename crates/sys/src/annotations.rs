//! Memory annotations: an export table of drivers that check programs.
//!
//! A program that keeps freed memory, and hands it out again itself, hides from such a driver which of it is
//! in use. With these functions it tells. `cuGetExportTable` returns the table for
//! [`MEMORY_ANNOTATIONS_ID`]; a driver that checks nothing does not know it.

use crate::types::{CUdeviceptr, CUresult, CUstream, CUuuid};

/// The identifier of the table.
pub const MEMORY_ANNOTATIONS_ID: CUuuid =
    CUuuid { bytes: [0x5a, 0x1f, 0x7c, 0x52, 0x1d, 0x0e, 0x4b, 0x6b, 0x1c, 0x3e, 0x77, 0x61, 0x72, 0x70, 0x6c, 0x6d] };

/// The functions of the table, each a C function that takes a stream as the driver's own functions do.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MemoryAnnotationTable {
    /// The size of the table in bytes; a later form of it is larger.
    pub size: usize,
    /// Bytes of an allocation are handed out as a block: uninitialised, and valid for work that comes after
    /// this in the order of the stream. From the first block on, only the blocks of that allocation are
    /// valid.
    pub lend: unsafe extern "C" fn(address: CUdeviceptr, bytes: usize, stream: CUstream) -> CUresult,
    /// The block that starts at an address goes back, after all its uses in the order of the stream.
    pub release: unsafe extern "C" fn(address: CUdeviceptr, stream: CUstream) -> CUresult,
}
