//! The driver calls for a copy of contiguous bytes.
//!
//! The calls that say which way a copy goes refuse memory of the host's pools where they want device memory.
//! The one that looks by itself takes it, and all other page-locked memory, on either side; for device
//! memory, the others say more.
#![expect(unsafe_code, reason = "passes addresses on that its callers have checked")]

use std::ffi::c_void;

use warploom_driver::Result;
use warploom_driver::sys::types::{CUdeviceptr, CUstream};

use crate::Driver;
use crate::memory::slice::Span;

/// Copies between two ranges of one context.
///
/// # Safety
///
/// Both have that many bytes, do not overlap, and are there in the order of the stream, which is alive.
#[inline]
pub(super) unsafe fn within(
    driver: &Driver,
    to: Span<'_>,
    from: Span<'_>,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    let (destination, source) = (to.address, from.address);
    // SAFETY: the caller's promise.
    unsafe {
        if to.allocation.is_pinned() || from.allocation.is_pinned() {
            driver.cuMemcpyAsync(destination, source, bytes, stream)
        } else {
            driver.cuMemcpyDtoDAsync_v2(destination, source, bytes, stream)
        }
    }
}

/// Copies from memory of the host.
///
/// # Safety
///
/// Both have that many bytes and do not overlap; `to` is there in the order of the stream, which is alive,
/// and `from` until the stream is done with it.
pub(super) unsafe fn from_host(
    driver: &Driver,
    to: Span<'_>,
    from: *const c_void,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if to.allocation.is_pinned() {
            driver.cuMemcpyAsync(to.address, from.expose_provenance() as CUdeviceptr, bytes, stream)
        } else {
            driver.cuMemcpyHtoDAsync_v2(to.address, from, bytes, stream)
        }
    }
}

/// Copies to memory of the host.
///
/// # Safety
///
/// As [`from_host`], the other way round; nothing else uses `to` meanwhile.
pub(super) unsafe fn to_host(
    driver: &Driver,
    to: *mut c_void,
    from: Span<'_>,
    bytes: usize,
    stream: CUstream,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe {
        if from.allocation.is_pinned() {
            driver.cuMemcpyAsync(to.expose_provenance() as CUdeviceptr, from.address, bytes, stream)
        } else {
            driver.cuMemcpyDtoHAsync_v2(to, from.address, bytes, stream)
        }
    }
}
