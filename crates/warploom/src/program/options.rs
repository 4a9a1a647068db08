//! How a program is compiled.

use std::path::PathBuf;

use super::Architecture;

/// A version of C++.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CxxStandard {
    /// C++03
    Cxx03,
    /// C++11
    Cxx11,
    /// C++14
    Cxx14,
    /// C++17
    Cxx17,
    /// C++20
    Cxx20,
    /// C++23, with a newer NVRTC
    Cxx23,
}

/// What becomes of one of the compiler's numbered messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Severity {
    /// It is not given.
    Suppress,
    /// It is a warning.
    Warning,
    /// It ends the compilation.
    Error,
}

/// How much speed of the code is given for a compilation that takes less time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FastCompile {
    /// A little.
    Least,
    /// Something between.
    Medium,
    /// Most optimisations are left out.
    Most,
}

/// What libNVVM calls it; NVRTC has nothing of the kind.
pub(super) const UNOPTIMIZED: &str = "-opt=0";

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Macro {
    Defined { name: String, value: Option<String> },
    Undefined { name: String },
}

/// How a program is compiled: for which architecture, and everything else as NVRTC has it by default.
///
/// One thing is not as NVRTC has it by default: files beside the source, or in the current folder if it has none, are not
/// included. Give headers with the program, or name folders with [`include`](CompileOptions::include).
///
/// ```
/// use warploom::program::{Architecture, CompileOptions, CxxStandard, Target};
///
/// # fn main() -> warploom::Result<()> {
/// let options = CompileOptions::new(Architecture::sm(90)).standard(CxxStandard::Cxx17).define("BLOCK", 256).line_info();
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
            extra: Vec::new(),
        }
    }

    /// Which C++.
    #[doc(alias = "--std")]
    pub fn standard(mut self, standard: CxxStandard) -> CompileOptions {
        self.standard = Some(standard);
        self
    }

    /// A folder to look for headers in that are not given with the program, after those named before.
    #[doc(alias = "--include-path")]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> CompileOptions {
        self.includes.push(folder.into());
        self
    }

    /// A header that is included before the source.
    #[doc(alias = "--pre-include")]
    pub fn pre_include(mut self, header: impl Into<String>) -> CompileOptions {
        self.pre_includes.push(header.into());
        self
    }

    /// A macro with this value.
    #[doc(alias = "--define-macro")]
    pub fn define(mut self, name: impl Into<String>, value: impl ToString) -> CompileOptions {
        self.macros.push(Macro::Defined { name: name.into(), value: Some(value.to_string()) });
        self
    }

    /// A macro that is there, for `#ifdef`; its value is 1.
    pub fn define_flag(mut self, name: impl Into<String>) -> CompileOptions {
        self.macros.push(Macro::Defined { name: name.into(), value: None });
        self
    }

    /// Takes away a macro, one defined before or one of NVRTC's own.
    #[doc(alias = "--undefine-macro")]
    pub fn undefine(mut self, name: impl Into<String>) -> CompileOptions {
        self.macros.push(Macro::Undefined { name: name.into() });
        self
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

    /// Debug information as Numba lays it out; needs [`debug`](CompileOptions::debug), and a compiler that knows it.
    pub fn numba_debug(self) -> CompileOptions {
        self.switch("--numba-debug", "--numba-debug")
    }

    /// Fast instead of exact arithmetic: approximate functions, and all of the parts below as is fastest, but for those that
    /// are chosen by themselves, before or after.
    #[doc(alias = "--use_fast_math")]
    pub fn fast_math(self) -> CompileOptions {
        self.switch("--use_fast_math", "--use_fast_math")
    }

    /// Whether the smallest numbers of single precision become zero.
    #[doc(alias = "--ftz")]
    pub fn flush_to_zero(self, on: bool) -> CompileOptions {
        self.switch("--ftz", if on { "--ftz=true" } else { "--ftz=false" })
    }

    /// Whether division in single precision is rounded right, rather than approximate.
    #[doc(alias = "--prec-div")]
    pub fn precise_division(self, on: bool) -> CompileOptions {
        self.switch("--prec-div", if on { "--prec-div=true" } else { "--prec-div=false" })
    }

    /// Whether square roots in single precision are rounded right, rather than approximate.
    #[doc(alias = "--prec-sqrt")]
    pub fn precise_square_root(self, on: bool) -> CompileOptions {
        self.switch("--prec-sqrt", if on { "--prec-sqrt=true" } else { "--prec-sqrt=false" })
    }

    /// Whether a product and a sum may become one operation, which rounds once.
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

    /// Functions without a word for where they run, run on the device.
    #[doc(alias = "--device-as-default-execution-space")]
    pub fn device_by_default(self) -> CompileOptions {
        self.switch("--device-as-default-execution-space", "--device-as-default-execution-space")
    }

    /// Pointers that kernels take do not alias.
    #[doc(alias = "--restrict")]
    pub fn restrict(self) -> CompileOptions {
        self.switch("--restrict", "--restrict")
    }

    /// `__int128` on the device.
    #[doc(alias = "--device-int128")]
    pub fn int128(self) -> CompileOptions {
        self.switch("--device-int128", "--device-int128")
    }

    /// More attempts to use vector instructions.
    #[doc(alias = "--extra-device-vectorization")]
    pub fn vectorize_more(self) -> CompileOptions {
        self.switch("--extra-device-vectorization", "--extra-device-vectorization")
    }

    /// `__float128` on the device; needs compute capability 10.0, and an NVRTC that knows it.
    #[doc(alias = "--device-float128")]
    pub fn float128(self) -> CompileOptions {
        self.switch("--device-float128", "--device-float128")
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

    /// Without some of what NVRTC declares by itself, which takes less time; needs an NVRTC that knows it.
    #[doc(alias = "--minimal")]
    pub fn minimal(self) -> CompileOptions {
        self.switch("--minimal", "--minimal")
    }

    /// The log says which functions were inlined.
    #[doc(alias = "--optimization-info")]
    pub fn inlining_info(self) -> CompileOptions {
        self.switch("--optimization-info", "--optimization-info=inline")
    }

    /// Messages of one line, without the source that they are about.
    #[doc(alias = "--brief-diagnostics")]
    pub fn brief_diagnostics(self) -> CompileOptions {
        self.switch("--brief-diagnostics", "--brief-diagnostics=true")
    }

    /// An option for the assembler, which is asked for cubins: `-O1`, `--verbose`.
    #[doc(alias("--ptxas-options", "-Xptxas"))]
    pub fn assembler(mut self, option: impl Into<String>) -> CompileOptions {
        self.assembler.push(option.into());
        self
    }

    /// No warnings.
    #[doc(alias = "--disable-warnings")]
    pub fn no_warnings(self) -> CompileOptions {
        self.switch("--disable-warnings", "--disable-warnings")
    }

    /// What becomes of one of the compiler's messages, by its number: 177 of `warning #177-D`.
    #[doc(alias("--diag-suppress", "--diag-warn", "--diag-error"))]
    pub fn diagnostic(mut self, number: u32, severity: Severity) -> CompileOptions {
        self.severities.retain(|(_, other)| *other != number);
        self.severities.push((severity, number));
        self
    }

    /// How many threads compile; 0 for as many as there are processors.
    #[doc(alias = "--split-compile")]
    pub fn split_compile(mut self, threads: u32) -> CompileOptions {
        self.split_compile = Some(threads);
        self
    }

    /// An option as it is, after all others. What has a function here is better asked for by that: options that contradict
    /// each other are not noticed.
    pub fn raw(mut self, option: impl Into<String>) -> CompileOptions {
        self.extra.push(option.into());
        self
    }

    /// The architecture.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        self.architecture
    }

    /// What was said last is what holds.
    fn switch(mut self, family: &str, switch: &'static str) -> CompileOptions {
        self.switches.retain(|other| other.split('=').next() != Some(family));
        self.switches.push(switch);
        self
    }
}
