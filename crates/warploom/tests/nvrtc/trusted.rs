//! Code and cache entries of tests, with the promises that they need.
#![expect(unsafe_code, reason = "promises that bytes of a test do no harm")]

use std::path::PathBuf;

use warploom::program::{CacheEntry, CodeKind, CompileOptions, NvvmProgram, ObjectCode, UntrustedCode};

/// Code for a stand-in, which does not look into it, or that is refused before it is read.
pub(crate) fn code(kind: CodeKind, name: &str, bytes: impl AsRef<[u8]>) -> ObjectCode {
    // SAFETY: no driver, no nvJitLink and no libNVVM follows offsets in it.
    unsafe { UntrustedCode::new(kind, name, bytes.as_ref()).trust() }
}

/// An entry of any bytes, of which no code is made.
pub(crate) fn entry(bytes: &[u8]) -> CacheEntry {
    // SAFETY: the bytes have no digest, so that nothing in them is used.
    unsafe { CacheEntry::from_bytes(bytes) }
}

/// Precompiled headers of a stand-in, which reads none, or of NVRTC itself.
pub(crate) trait Precompiled {
    fn with_precompiled_headers(self) -> CompileOptions;
    fn with_precompiled_header(self, file: impl Into<PathBuf>) -> CompileOptions;
}

impl Precompiled for CompileOptions {
    fn with_precompiled_headers(self) -> CompileOptions {
        // SAFETY: there are no files but those that NVRTC has just made.
        unsafe { self.precompiled_headers() }
    }

    fn with_precompiled_header(self, file: impl Into<PathBuf>) -> CompileOptions {
        // SAFETY: NVRTC has just made the file.
        unsafe { self.use_precompiled_header(file) }
    }
}

/// A program in IR that the tests have written: texts, with a mistake at most, or bytes for a stand-in.
pub(crate) fn program(name: &str, ir: impl AsRef<[u8]>, options: CompileOptions) -> NvvmProgram {
    // SAFETY: libNVVM was seen to take these texts, or to refuse them.
    unsafe { NvvmProgram::new(name, ir, options) }
}

/// Further modules of such a program.
pub(crate) trait Modules {
    fn with_module(self, name: &str, ir: impl AsRef<[u8]>) -> NvvmProgram;
    fn with_lazy_module(self, name: &str, bitcode: impl AsRef<[u8]>) -> NvvmProgram;
}

impl Modules for NvvmProgram {
    fn with_module(self, name: &str, ir: impl AsRef<[u8]>) -> NvvmProgram {
        // SAFETY: as of `program`.
        unsafe { self.module(name, ir) }
    }

    fn with_lazy_module(self, name: &str, bitcode: impl AsRef<[u8]>) -> NvvmProgram {
        // SAFETY: as of `program`.
        unsafe { self.lazy_module(name, bitcode) }
    }
}
