//! The C interface of NVTX, as far as it is used: a struct and a table of functions.
//!
//! For programs with a library of their own ([`Nvtx::from_table`](super::Nvtx::from_table)); other programs
//! do not need it.
#![expect(unsafe_code, reason = "gives symbols of a library their C types")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names of the C interface")]

use std::ffi::{c_char, c_int};

use crate::dynamic_library::table;

/// A domain, which only the library looks into.
#[repr(C)]
#[derive(Debug)]
pub struct nvtxDomainRegistration {
    _opaque: [u8; 0],
}

/// A handle of a domain.
pub type nvtxDomainHandle_t = *mut nvtxDomainRegistration;

/// The number of a range that was started.
pub type nvtxRangeId_t = u64;

/// The attributes of a mark or a range.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct nvtxEventAttributes_t {
    /// The version of this struct.
    pub version: u16,
    /// Its size in bytes.
    pub size: u16,
    /// The category; 0 for none.
    pub category: u32,
    /// The kind of color; 0 for none.
    pub colorType: i32,
    /// The color.
    pub color: u32,
    /// The kind of payload; 0 for none.
    pub payloadType: i32,
    /// 0.
    pub reserved0: i32,
    /// The payload, as its bits.
    pub payload: u64,
    /// The kind of message; 0 for none.
    pub messageType: i32,
    /// The message, a text that ends in a zero.
    pub message: *const c_char,
}

const _: () = assert!(size_of::<nvtxEventAttributes_t>() == 48);

/// The version of [`nvtxEventAttributes_t`], which tools for later ones read, too.
pub const NVTX_VERSION: u16 = 2;
/// A color with alpha, red, green and blue.
pub const NVTX_COLOR_ARGB: i32 = 1;
/// A payload of 64 bits without a sign.
pub const NVTX_PAYLOAD_TYPE_UNSIGNED_INT64: i32 = 1;
/// A message of bytes.
pub const NVTX_MESSAGE_TYPE_ASCII: i32 = 1;

table! {
    NvtxTable {
        /// A mark in the default domain.
        nvtxMarkEx(attributes: *const nvtxEventAttributes_t) -> ();
        /// Starts a range.
        nvtxRangeStartEx(attributes: *const nvtxEventAttributes_t) -> nvtxRangeId_t;
        /// Ends a range that was started.
        nvtxRangeEnd(id: nvtxRangeId_t) -> ();
        /// Begins a range of the thread.
        nvtxRangePushEx(attributes: *const nvtxEventAttributes_t) -> c_int;
        /// Ends the thread's last range.
        nvtxRangePop() -> c_int;
        /// Makes a domain.
        nvtxDomainCreateA(name: *const c_char) -> nvtxDomainHandle_t;
        /// Ends a domain.
        nvtxDomainDestroy(domain: nvtxDomainHandle_t) -> ();
        /// A mark in a domain.
        nvtxDomainMarkEx(domain: nvtxDomainHandle_t, attributes: *const nvtxEventAttributes_t) -> ();
        /// Starts a range in a domain.
        nvtxDomainRangeStartEx(domain: nvtxDomainHandle_t, attributes: *const nvtxEventAttributes_t) -> nvtxRangeId_t;
        /// Ends a range that was started in a domain.
        nvtxDomainRangeEnd(domain: nvtxDomainHandle_t, id: nvtxRangeId_t) -> ();
        /// Begins a range of the thread in a domain.
        nvtxDomainRangePushEx(domain: nvtxDomainHandle_t, attributes: *const nvtxEventAttributes_t) -> c_int;
        /// Ends the thread's last range in a domain.
        nvtxDomainRangePop(domain: nvtxDomainHandle_t) -> c_int;
    }
}
