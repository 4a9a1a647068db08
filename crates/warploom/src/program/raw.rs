//! The C interface of NVRTC, as far as it is used: types and a table of functions.
//!
//! For programs with a library of their own ([`Nvrtc::from_table`](super::Nvrtc::from_table)); other programs
//! do not need it.
#![expect(unsafe_code, reason = "gives symbols of a library their C types")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names of the C interface")]

use std::ffi::{c_char, c_int};

use crate::dynamic_library::table;

/// A program of NVRTC's, which only NVRTC looks into.
#[repr(C)]
#[derive(Debug)]
pub struct _nvrtcProgram {
    _opaque: [u8; 0],
}

/// A handle of a program.
pub type nvrtcProgram = *mut _nvrtcProgram;

/// The status of a call; see [`NvrtcCode`](super::NvrtcCode).
pub type nvrtcResult = c_int;

table! {
    NvrtcTable {
        /// NVRTC's version.
        nvrtcVersion(major: *mut c_int, minor: *mut c_int) -> nvrtcResult;
        /// The number of architectures it compiles for.
        nvrtcGetNumSupportedArchs(count: *mut c_int) -> nvrtcResult;
        /// The architectures, ascending: 90 is `sm_90`.
        nvrtcGetSupportedArchs(architectures: *mut c_int) -> nvrtcResult;
        /// Makes a program of copies of the texts.
        nvrtcCreateProgram(program: *mut nvrtcProgram, source: *const c_char, name: *const c_char, header_count: c_int,
            headers: *const *const c_char, header_names: *const *const c_char) -> nvrtcResult;
        /// Frees a program.
        nvrtcDestroyProgram(program: *mut nvrtcProgram) -> nvrtcResult;
        /// Asks for a lowered name, before the program is compiled.
        nvrtcAddNameExpression(program: nvrtcProgram, expression: *const c_char) -> nvrtcResult;
        /// Compiles.
        nvrtcCompileProgram(program: nvrtcProgram, option_count: c_int, options: *const *const c_char) -> nvrtcResult;
        /// The bytes of the log, with its end.
        nvrtcGetProgramLogSize(program: nvrtcProgram, size: *mut usize) -> nvrtcResult;
        /// The log.
        nvrtcGetProgramLog(program: nvrtcProgram, log: *mut c_char) -> nvrtcResult;
        /// The bytes of the PTX, with its end.
        nvrtcGetPTXSize(program: nvrtcProgram, size: *mut usize) -> nvrtcResult;
        /// The PTX.
        nvrtcGetPTX(program: nvrtcProgram, ptx: *mut c_char) -> nvrtcResult;
        /// The bytes of the cubin; 0 for a virtual architecture.
        nvrtcGetCUBINSize(program: nvrtcProgram, size: *mut usize) -> nvrtcResult;
        /// The cubin.
        nvrtcGetCUBIN(program: nvrtcProgram, cubin: *mut c_char) -> nvrtcResult;
        /// The bytes of the LTO-IR; 0 if it was not asked for.
        nvrtcGetLTOIRSize(program: nvrtcProgram, size: *mut usize) -> nvrtcResult;
        /// The LTO-IR.
        nvrtcGetLTOIR(program: nvrtcProgram, ltoir: *mut c_char) -> nvrtcResult;
        /// The lowered name; it belongs to the program.
        nvrtcGetLoweredName(program: nvrtcProgram, expression: *const c_char, name: *mut *const c_char) -> nvrtcResult;
    }
    newer {
        /// The bytes for precompiled headers.
        nvrtcGetPCHHeapSize(size: *mut usize) -> nvrtcResult;
        /// The number of bytes to be for precompiled headers.
        nvrtcSetPCHHeapSize(size: usize) -> nvrtcResult;
        /// The outcome of a precompiled header.
        nvrtcGetPCHCreateStatus(program: nvrtcProgram) -> nvrtcResult;
        /// The bytes that a precompiled header would have needed.
        nvrtcGetPCHHeapSizeRequired(program: nvrtcProgram, size: *mut usize) -> nvrtcResult;
    }
}
