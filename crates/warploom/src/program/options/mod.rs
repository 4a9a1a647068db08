//! Compile options.

mod language;
mod messages;
mod precompiled;

use std::ffi::OsString;
use std::path::PathBuf;

pub use language::CxxStandard;
pub(super) use language::Macro;
pub use messages::Severity;
pub use precompiled::PrecompiledHeader;
#[cfg(test)]
pub(super) use precompiled::ReadPrecompiled;
pub(super) use precompiled::{is_precompiling, reads_precompiled};

use super::Architecture;

/// The trade-off between the speed of compilation and that of the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FastCompile {
    /// A little.
    Least,
    /// A compromise.
    Medium,
    /// Most optimisations are left out.
    Most,
}

/// libNVVM's name for it; NVRTC has no such option.
pub(super) const UNOPTIMIZED: &str = "-opt=0";

/// Compile options: an architecture, and NVRTC's defaults for everything else.
///
/// Not every NVRTC has every option; one that is too old for an option refuses it by name
/// ([`NvrtcError::OptionRefused`](super::NvrtcError::OptionRefused)).
///
/// One thing is not as NVRTC has it by default: files beside the source, or in the current folder if it has
/// none, are not included. Give headers with the program, or name folders with
/// [`include`](CompileOptions::include).
///
/// ```
/// use warploom::program::{Architecture, CompileOptions, CxxStandard, Target};
///
/// # fn main() -> warploom::Result<()> {
/// let options = CompileOptions::new(Architecture::sm(90)).standard(CxxStandard::Cxx17);
/// let options = options.define("BLOCK", 256).line_info();
/// let arguments = options.arguments(Target::Ptx)?;
/// assert!(arguments.iter().any(|argument| argument.as_c_str() == c"--define-macro=BLOCK=256"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub struct CompileOptions {
    pub(super) architecture: Architecture,
    pub(super) standard: Option<CxxStandard>,
    pub(super) includes: Vec<PathBuf>,
    pub(super) pre_includes: Vec<String>,
    pub(super) macros: Vec<Macro>,
    pub(super) switches: Vec<&'static str>,
    pub(super) max_registers: Option<u32>,
    pub(super) split_compile: Option<u32>,
    pub(super) severities: Vec<(Severity, u32)>,
    pub(super) is_optimized_lto: bool,
    pub(super) assembler: Vec<String>,
    /// Options with a text or a path, by the name with its `=`.
    pub(super) values: Vec<(&'static str, OsString)>,
    pub(super) extra: Vec<String>,
}

impl CompileOptions {
    /// Everything as NVRTC has it by default, for this architecture.
    pub fn new(architecture: impl Into<Architecture>) -> CompileOptions {
        CompileOptions {
            architecture: architecture.into(),
            standard: None,
            includes: Vec::new(),
            pre_includes: Vec::new(),
            macros: Vec::new(),
            switches: Vec::new(),
            max_registers: None,
            split_compile: None,
            severities: Vec::new(),
            is_optimized_lto: false,
            assembler: Vec::new(),
            values: Vec::new(),
            extra: Vec::new(),
        }
    }

    /// Code that tells which line an instruction comes from.
    #[doc(alias = "--generate-line-info")]
    pub fn line_info(self) -> CompileOptions {
        self.switch("--generate-line-info", "--generate-line-info")
    }

    /// Code for a debugger, which is not optimised.
    #[doc(alias = "--device-debug")]
    pub fn debug(self) -> CompileOptions {
        self.switch("--device-debug", "--device-debug")
    }

    /// Optimised even if it is for a debugger.
    #[doc(alias = "--dopt")]
    pub fn optimize_debug(mut self) -> CompileOptions {
        self.switches.retain(|other| *other != UNOPTIMIZED);
        self.switch("--dopt", "--dopt=on")
    }

    /// Not optimised at all; only libNVVM can be asked that, and NVRTC by [`debug`](CompileOptions::debug).
    pub fn unoptimized(mut self) -> CompileOptions {
        self.switches.retain(|other| *other != "--dopt=on");
        self.switch(UNOPTIMIZED, UNOPTIMIZED)
    }

    /// Debug information as Numba lays it out; needs [`debug`](CompileOptions::debug), and a compiler that
    /// knows it.
    pub fn numba_debug(self) -> CompileOptions {
        self.switch("--numba-debug", "--numba-debug")
    }

    /// Fast instead of exact arithmetic: approximate functions, and all of the parts below as is fastest, but
    /// for those that are chosen by themselves, before or after.
    #[doc(alias = "--use_fast_math")]
    pub fn fast_math(self) -> CompileOptions {
        self.switch("--use_fast_math", "--use_fast_math")
    }

    /// `true` if the smallest numbers of single precision become zero.
    #[doc(alias = "--ftz")]
    pub fn flush_to_zero(self, on: bool) -> CompileOptions {
        self.switch("--ftz", if on { "--ftz=true" } else { "--ftz=false" })
    }

    /// `true` if division in single precision is rounded right, rather than approximate.
    #[doc(alias = "--prec-div")]
    pub fn precise_division(self, on: bool) -> CompileOptions {
        self.switch("--prec-div", if on { "--prec-div=true" } else { "--prec-div=false" })
    }

    /// `true` if square roots in single precision are rounded right, rather than approximate.
    #[doc(alias = "--prec-sqrt")]
    pub fn precise_square_root(self, on: bool) -> CompileOptions {
        self.switch("--prec-sqrt", if on { "--prec-sqrt=true" } else { "--prec-sqrt=false" })
    }

    /// `true` if a product and a sum may become one operation, which rounds once.
    #[doc(alias = "--fmad")]
    pub fn contract(self, on: bool) -> CompileOptions {
        self.switch("--fmad", if on { "--fmad=true" } else { "--fmad=false" })
    }

    /// The most registers that a thread of a kernel has, 1 to 255.
    #[doc(alias = "--maxrregcount")]
    pub fn max_registers(mut self, registers: u32) -> CompileOptions {
        self.max_registers = Some(registers);
        self
    }

    /// Code that is to be linked with more.
    #[doc(alias = "--relocatable-device-code")]
    pub fn relocatable(self) -> CompileOptions {
        self.switch("--relocatable-device-code", "--relocatable-device-code=true")
    }

    /// Code that is complete in itself, and to which more can be linked all the same.
    #[doc(alias = "--extensible-whole-program")]
    pub fn extensible(self) -> CompileOptions {
        self.switch("--extensible-whole-program", "--extensible-whole-program")
    }

    /// LTO-IR that has been optimised already, by itself; for [`Target::LtoIr`](super::Target::LtoIr) only.
    #[doc(alias = "--gen-opt-lto")]
    pub fn optimized_lto(mut self) -> CompileOptions {
        self.is_optimized_lto = true;
        self
    }

    /// More attempts to use vector instructions.
    #[doc(alias = "--extra-device-vectorization")]
    pub fn vectorize_more(self) -> CompileOptions {
        self.switch("--extra-device-vectorization", "--extra-device-vectorization")
    }

    /// Takes less time, for slower code; needs an NVRTC that knows it.
    #[doc(alias = "--Ofast-compile")]
    pub fn fast_compile(self, how: FastCompile) -> CompileOptions {
        let switch = match how {
            FastCompile::Least => "--Ofast-compile=min",
            FastCompile::Medium => "--Ofast-compile=mid",
            FastCompile::Most => "--Ofast-compile=max",
        };
        self.switch("--Ofast-compile", switch)
    }

    /// An option for the assembler, which is asked for cubins: `-O1`, `--verbose`.
    #[doc(alias("--ptxas-options", "-Xptxas"))]
    pub fn assembler(mut self, option: impl Into<String>) -> CompileOptions {
        self.assembler.push(option.into());
        self
    }

    /// Nothing that was compiled before is used again.
    #[doc(alias = "--no-cache")]
    pub fn no_compiler_cache(self) -> CompileOptions {
        self.switch("--no-cache", "--no-cache")
    }

    /// The seed of the names that the compiler generates, so that they are reproducible; needs an NVRTC that
    /// knows it.
    #[doc(alias = "--frandom-seed")]
    pub fn random_seed(self, seed: impl Into<String>) -> CompileOptions {
        self.value("--frandom-seed=", seed.into())
    }

    /// The number of compiler threads; 0 for one per processor.
    #[doc(alias = "--split-compile")]
    pub fn split_compile(mut self, threads: u32) -> CompileOptions {
        self.split_compile = Some(threads);
        self
    }

    /// A raw option, passed after all others. Prefer the functions above where there is one: options that
    /// contradict each other are not noticed. Options that read precompiled headers are refused when the
    /// program is compiled ([`NvrtcError::UnsafeOption`](super::NvrtcError::UnsafeOption)).
    pub fn raw(mut self, option: impl Into<String>) -> CompileOptions {
        self.extra.push(option.into());
        self
    }

    /// The architecture.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// The last call holds.
    fn switch(mut self, family: &str, switch: &'static str) -> CompileOptions {
        self.switches.retain(|other| other.split('=').next() != Some(family));
        self.switches.push(switch);
        self
    }

    /// The last call holds.
    fn value(mut self, name: &'static str, value: impl Into<OsString>) -> CompileOptions {
        self.values.retain(|(other, _)| *other != name);
        self.values.push((name, value.into()));
        self
    }
}
