//! Programs in CUDA C++ or NVVM IR, compiled when they are needed, by NVIDIA's NVRTC or libNVVM.
//!
//! The feature `nvrtc` brings none of these libraries along, and none is needed to build: [`Nvrtc::load`]
//! finds the library when the program runs, and says how to get it where there is none; so do [`Nvvm::load`]
//! and [`NvJitLink::load`]. No GPU and no driver is needed to compile.
//!
//! | | |
//! |---|---|
//! | [`Nvrtc`] | the library: its version, the architectures that it compiles for |
//! | [`Program`] | a source with headers, names that are asked for, and options |
//! | [`NvvmProgram`] | modules of NVVM IR, and options; compiled by [`Nvvm`], and [`Libdevice`] has the functions of mathematics |
//! | [`CompileOptions`] | the compile options; [`Architecture`] is the target architecture |
//! | [`Compiled`] | the result: [`ObjectCode`] and the log |
//! | [`UntrustedCode`] | bytes of a caller: PTX is checked, binaries are trusted by an `unsafe` promise |
//! | [`Linker`] | several pieces of code become one, by NVIDIA's nvJitLink ([`NvJitLink`]) or by the driver |
//! | [`ProgramCache`] | programs that are compiled once: [`MemoryCache`], [`DiskCache`] |
//! | [`NvrtcError`], [`NvvmError`], [`LinkError`] | the errors, in [`Error::Nvrtc`](crate::Error::Nvrtc) and its neighbours |
//!
//! `docs/compiling.md` shows it all at once.

mod architecture;
mod arguments;
mod cache;
mod code;
mod error;
mod files;
mod handle;
pub mod link;
mod loading;
mod nvrtc;
pub mod nvvm;
mod object_code;
mod options;
mod output;
mod precompiled;
pub mod raw;
#[cfg(feature = "serde")]
mod serialize;
mod source;
mod source_file;
mod untrusted_code;
mod version;
mod warning;

pub use architecture::Architecture;
pub use cache::{CacheEntry, CacheKey, CacheTrustError, DiskCache, KeyBuilder, MemoryCache, ProgramCache};
pub use code::NvrtcCode;
pub use error::NvrtcError;
pub use link::{LinkError, Linked, Linker, NvJitLink};
pub use nvrtc::{NVRTC_VARIABLE, Nvrtc};
pub use nvvm::{Libdevice, Nvvm, NvvmError, NvvmProgram};
pub use object_code::{CodeKind, ObjectCode};
pub use options::{CompileOptions, CxxStandard, FastCompile, PrecompiledHeader, Severity};
pub use source::{Cached, Compiled, Program, Target};
pub use source_file::SourceFile;
pub use untrusted_code::UntrustedCode;
pub use version::NvrtcVersion;
pub use warning::Warning;

#[cfg(doctest)]
#[doc = include_str!("../../../../docs/compiling.md")]
struct Compiling;
