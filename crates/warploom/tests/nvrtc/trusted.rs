//! Code and cache entries of tests, with the promises that they need.
#![expect(unsafe_code, reason = "promises that bytes of a test do no harm")]

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
