//! The C interface of libNVVM, as far as it is used: types and a table of functions.
//!
//! For programs with a library of their own ([`Nvvm::from_table`](super::Nvvm::from_table)); other programs
//! do not need it.
#![expect(unsafe_code, reason = "gives symbols of a library their C types")]
#![expect(non_camel_case_types, non_snake_case, reason = "the names of the C interface")]

use std::ffi::{c_char, c_int};

use crate::dynamic_library::table;

/// A program of libNVVM's, which only libNVVM looks into.
#[repr(C)]
#[derive(Debug)]
pub struct _nvvmProgram {
    _opaque: [u8; 0],
}

/// A handle of a program.
pub type nvvmProgram = *mut _nvvmProgram;

/// The status of a call; see [`NvvmCode`](super::NvvmCode).
pub type nvvmResult = c_int;

table! {
    NvvmTable {
        /// Its version.
        nvvmVersion(major: *mut c_int, minor: *mut c_int) -> nvvmResult;
        /// The versions of IR and of debug information that it takes.
        nvvmIRVersion(major: *mut c_int, minor: *mut c_int, debug_major: *mut c_int, debug_minor: *mut c_int) -> nvvmResult;
        /// Makes an empty program.
        nvvmCreateProgram(program: *mut nvvmProgram) -> nvvmResult;
        /// Frees a program.
        nvvmDestroyProgram(program: *mut nvvmProgram) -> nvvmResult;
        /// Adds a module, as a text or as bitcode.
        nvvmAddModuleToProgram(program: nvvmProgram, bytes: *const c_char, size: usize, name: *const c_char) -> nvvmResult;
        /// Adds as much of a module as others need, which is bitcode.
        nvvmLazyAddModuleToProgram(program: nvvmProgram, bytes: *const c_char, size: usize, name: *const c_char)
            -> nvvmResult;
        /// Verifies the modules.
        nvvmVerifyProgram(program: nvvmProgram, option_count: c_int, options: *const *const c_char) -> nvvmResult;
        /// Compiles.
        nvvmCompileProgram(program: nvvmProgram, option_count: c_int, options: *const *const c_char) -> nvvmResult;
        /// The size of the result; for PTX, with its terminating zero.
        nvvmGetCompiledResultSize(program: nvvmProgram, size: *mut usize) -> nvvmResult;
        /// The result.
        nvvmGetCompiledResult(program: nvvmProgram, result: *mut c_char) -> nvvmResult;
        /// The bytes of the log, with its end.
        nvvmGetProgramLogSize(program: nvvmProgram, size: *mut usize) -> nvvmResult;
        /// The log.
        nvvmGetProgramLog(program: nvvmProgram, log: *mut c_char) -> nvvmResult;
    }
    newer {
        /// The LLVM version of the IR that it takes for an architecture.
        nvvmLLVMVersion(architecture: *const c_char, major: *mut c_int) -> nvvmResult;
    }
}
