//! Programs in NVVM IR, a dialect of LLVM's, compiled by NVIDIA's libNVVM: the output of compilers of other
//! languages.
//!
//! ```no_run
//! use warploom::program::{Architecture, CompileOptions, Nvvm, NvvmProgram, Target};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let nvvm = Nvvm::load()?;
//! let bitcode = std::fs::read("kernel.bc")?;
//! let options = CompileOptions::new(Architecture::compute(90)).flush_to_zero(true);
//! // SAFETY: the compiler of this project has written it.
//! let program = unsafe { NvvmProgram::new("kernel", bitcode, options) };
//! let program = program.libdevice(&nvvm.libdevice()?); // for __nv_powf and its like
//! let ptx = program.compile(&nvvm, Target::Ptx)?.code;
//! # Ok(())
//! # }
//! ```

mod arguments;
mod error;
mod handle;
mod key;
mod libdevice;
mod library;
pub mod raw;
mod source;

pub use error::{NvvmCode, NvvmError};
pub use libdevice::{LIBDEVICE_VARIABLE, Libdevice};
pub use library::{NVVM_VARIABLE, Nvvm};
pub use source::NvvmProgram;
