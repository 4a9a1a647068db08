//! Bytes of a caller reach the readers of binaries by a promise: the functions that take them are `unsafe`.

use warploom::program::{
    Architecture, CacheEntry, CodeKind, CompileOptions, Libdevice, NvvmProgram, ObjectCode, UntrustedCode,
};
use warploom::{Driver, Library, Result};

fn trusted(bytes: Vec<u8>) -> ObjectCode {
    UntrustedCode::new(CodeKind::Cubin, "k", bytes).trust()
}

fn loaded(driver: &Driver, bytes: &[u8]) -> Result<Library> {
    Library::from_bytes(driver, bytes)
}

fn entry(bytes: &[u8]) -> CacheEntry {
    CacheEntry::from_bytes(bytes)
}

fn program(bitcode: &[u8]) -> NvvmProgram {
    NvvmProgram::new("k", bitcode, CompileOptions::new(Architecture::sm(90)))
}

fn module(program: NvvmProgram, bitcode: &[u8]) -> NvvmProgram {
    program.module("more", bitcode)
}

fn lazy_module(program: NvvmProgram, bitcode: &[u8]) -> NvvmProgram {
    program.lazy_module("more", bitcode)
}

fn precompiled(options: CompileOptions) -> CompileOptions {
    options.use_precompiled_header("headers.pch")
}

fn all_precompiled(options: CompileOptions) -> CompileOptions {
    options.precompiled_headers()
}

fn libdevice() -> Result<Libdevice> {
    Libdevice::read("libdevice.bc")
}

fn main() {}
