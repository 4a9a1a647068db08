//! The C interface of nvJitLink, as far as it is used: types and a table of functions.
//!
//! For those who bring a library of their own ([`NvJitLink::from_table`](super::NvJitLink::from_table));
//! nobody else needs it.
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

/// What a call answers; see [`LinkCode`](super::LinkCode).
pub type nvJitLinkResult = c_int;

/// The number of a kind of input.
pub type nvJitLinkInputType = c_int;

table! {
    NvJitLinkTable {
        /// Which nvJitLink it is.
        nvJitLinkVersion(major: *mut c_uint, minor: *mut c_uint) -> nvJitLinkResult;
        /// Begins a link; where it refuses an option there is a handle all the same, with a log.
        nvJitLinkCreate(handle: *mut nvJitLinkHandle, option_count: u32, options: *mut *const c_char) -> nvJitLinkResult;
        /// Frees a link.
        nvJitLinkDestroy(handle: *mut nvJitLinkHandle) -> nvJitLinkResult;
        /// Adds something to be linked.
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
        /// The bytes of what went wrong, with their end.
        nvJitLinkGetErrorLogSize(handle: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult;
        /// What went wrong.
        nvJitLinkGetErrorLog(handle: nvJitLinkHandle, log: *mut c_char) -> nvJitLinkResult;
        /// The bytes of what else there is to say, with their end.
        nvJitLinkGetInfoLogSize(handle: nvJitLinkHandle, size: *mut usize) -> nvJitLinkResult;
        /// What else there is to say.
        nvJitLinkGetInfoLog(handle: nvJitLinkHandle, log: *mut c_char) -> nvJitLinkResult;
    }
}
