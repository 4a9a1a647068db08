//! The C interface of nvJitLink, as far as it is used: types and a table of functions.
//!
//! For programs with a library of their own ([`NvJitLink::from_table`](super::NvJitLink::from_table)); other
//! programs do not need it.
#![expect(unsafe_code, reason = "gives symbols of a library their C types")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names of the C interface")]

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::dynamic_library::table;

/// A link of nvJitLink's, which only nvJitLink looks into.
#[repr(C)]
#[derive(Debug)]
pub struct nvJitLink {
    _opaque: [u8; 0],
}

/// A handle of a link.
pub type nvJitLinkHandle = *mut nvJitLink;

/// The status of a call; see [`LinkCode`](super::LinkCode).
pub type nvJitLinkResult = c_int;

/// The number of a kind of input.
pub type nvJitLinkInputType = c_int;

table! {
    NvJitLinkTable {
        /// Its version.
        nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint) -> nvJitLinkResult;
        /// Begins a link; where it refuses an option there is a handle all the same, with a log.
        nvJitLinkCreate(handle: *mut nvJitLinkHandle, option_count: u32, options: *mut *const c_char) -> nvJitLinkResult;
        /// Frees a link.
        nvJitLinkDestroy(handle: *mut nvJitLinkHandle) -> nvJitLinkResult;
        /// Adds code to link.
        nvJitLinkAddData(handle: nvJitLinkHandle, of: nvJitLinkInputType, data: *const c_void, size: usize,
            name: *const c_char) -> nvJitLinkResult;
        /// Links.
        nvJitLinkComplete(handle: nvJitLinkHandle) -> nvJitLinkResult;
        /// The bytes of the cubin.
        nvJitLinkGetLinkedCubinSize(handle: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult;
        /// The cubin.
        nvJitLinkGetLinkedCubin(handle: nvJitLinkHandle, cubin: *mut c_void) -> nvJitLinkResult;
        /// The bytes of the PTX, with its end.
        nvJitLinkGetLinkedPtxSize(handle: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult;
        /// The PTX.
        nvJitLinkGetLinkedPtx(handle: nvJitLinkHandle, ptx: *mut c_char) -> nvJitLinkResult;
        /// The size of the error log, with its terminating zero.
        nvJitLinkGetErrorLogSize(handle: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult;
        /// The error.
        nvJitLinkGetErrorLog(handle: nvJitLinkHandle, log: *mut c_char) -> nvJitLinkResult;
        /// The size of the information log, with its terminating zero.
        nvJitLinkGetInfoLogSize(handle: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult;
        /// The information log.
        nvJitLinkGetInfoLog(handle: nvJitLinkHandle, log: *mut c_char) -> nvJitLinkResult;
    }
}
