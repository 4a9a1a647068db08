//! Programs by NVRTC, libNVVM and nvJitLink: with stand-ins for the libraries, and, where they are there,
//! with the libraries themselves.

mod caches;
mod compile;
mod disk;
mod disk_trust;
mod driver_link;
mod example;
mod failures;
mod fake;
mod fake_link;
mod fake_nvvm;
mod link;
mod loading;
mod mutations;
mod nvvm;
mod precompiled;
mod real;
mod real_nvvm;
mod trusted;

use warploom::program::{Architecture, CompileOptions, NvrtcError, Program};
use warploom::{Error, Result};

/// The error of NVRTC or of the crate.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> NvrtcError {
    match result {
        Err(Error::Nvrtc(error)) => *error,
        other => panic!("{other:?}"),
    }
}

fn options() -> CompileOptions {
    CompileOptions::new(Architecture::sm(90))
}

fn program(source: &str) -> Program {
    Program::new("test.cu", source, options())
}
