//! Link options, in the form of each linker.

use super::{LinkError, Linker};
use crate::JitOptions;

/// One thing that is asked of a linker.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum LinkOption {
    LineInfo,
    Debug,
    Optimize(bool),
    MaxRegisters(u32),
    FlushToZero(bool),
    PreciseDivision(bool),
    PreciseSquareRoot(bool),
    Contract(bool),
    KeepKernel(String),
    KeepVariable(String),
    RemoveUnusedVariables,
    Assembler(String),
    SplitCompile(u32),
    SplitCompileExtended(u32),
    Time,
    Verbose,
    NoCache,
    Raw(String),
}

impl LinkOption {
    /// nvJitLink's name for it.
    pub(super) fn word(&self) -> String {
        match self {
            LinkOption::LineInfo => "-lineinfo".to_owned(),
            LinkOption::Debug => "-g".to_owned(),
            LinkOption::Optimize(on) => format!("-O{}", if *on { 3 } else { 0 }),
            LinkOption::MaxRegisters(registers) => format!("-maxrregcount={registers}"),
            LinkOption::FlushToZero(on) => format!("-ftz={}", u8::from(*on)),
            LinkOption::PreciseDivision(on) => format!("-prec-div={}", u8::from(*on)),
            LinkOption::PreciseSquareRoot(on) => format!("-prec-sqrt={}", u8::from(*on)),
            LinkOption::Contract(on) => format!("-fma={}", u8::from(*on)),
            LinkOption::KeepKernel(name) => format!("-kernels-used={name}"),
            LinkOption::KeepVariable(name) => format!("-variables-used={name}"),
            LinkOption::RemoveUnusedVariables => "-optimize-unused-variables".to_owned(),
            LinkOption::Assembler(option) => format!("-Xptxas={option}"),
            LinkOption::SplitCompile(threads) => format!("-split-compile={threads}"),
            LinkOption::SplitCompileExtended(threads) => format!("-split-compile-extended={threads}"),
            LinkOption::Time => "-time".to_owned(),
            LinkOption::Verbose => "-verbose".to_owned(),
            LinkOption::NoCache => "-no-cache".to_owned(),
            LinkOption::Raw(option) => option.clone(),
        }
    }

    /// `true` if it may be asked more than once.
    fn is_one_of_many(&self) -> bool {
        use LinkOption::{Assembler, KeepKernel, KeepVariable, Raw};
        matches!(self, KeepKernel(_) | KeepVariable(_) | Assembler(_) | Raw(_))
    }

    /// A number of registers that no thread can have.
    pub(super) fn impossible_registers(&self) -> Option<u32> {
        match self {
            LinkOption::MaxRegisters(registers) if !(1..=255).contains(registers) => Some(*registers),
            _ => None,
        }
    }

    /// The driver's option, if there is one.
    fn add(&self, options: JitOptions) -> Option<JitOptions> {
        match self {
            LinkOption::LineInfo => Some(options.line_info()),
            // Drivers have no debug information for code that is optimized.
            LinkOption::Debug => Some(options.debug_info().optimization_level(0)),
            LinkOption::Optimize(on) => Some(options.optimization_level(if *on { 4 } else { 0 })),
            LinkOption::MaxRegisters(registers) => Some(options.max_registers(*registers)),
            LinkOption::Verbose => Some(options.verbose()),
            LinkOption::FlushToZero(_)
            | LinkOption::PreciseDivision(_)
            | LinkOption::PreciseSquareRoot(_)
            | LinkOption::Contract(_)
            | LinkOption::KeepKernel(_)
            | LinkOption::KeepVariable(_)
            | LinkOption::RemoveUnusedVariables
            | LinkOption::Assembler(_)
            | LinkOption::SplitCompile(_)
            | LinkOption::SplitCompileExtended(_)
            | LinkOption::Time
            | LinkOption::NoCache
            | LinkOption::Raw(_) => None,
        }
    }

    /// All of them, as a driver is told; those that no driver can be told are named.
    pub(super) fn jit(options: &[LinkOption]) -> Result<JitOptions, LinkError> {
        let (mut all, mut names) = (JitOptions::new().verbose(), Vec::new());
        for option in options {
            match option.add(all) {
                Some(more) => all = more,
                None => names.push(option.word()),
            }
        }
        if names.is_empty() { Ok(all) } else { Err(LinkError::UnsupportedOption { names }) }
    }
}

/// Link options. The last call of each holds, and unset options are the linker's default.
impl Linker {
    /// Code that tells which line an instruction comes from.
    #[doc(alias = "-lineinfo")]
    pub fn line_info(self) -> Linker {
        self.option(LinkOption::LineInfo)
    }

    /// Code for a debugger.
    #[doc(alias = "-g")]
    pub fn debug(self) -> Linker {
        self.option(LinkOption::Debug)
    }

    /// `true` if code is optimised; it is by default.
    #[doc(alias("-O0", "-O3"))]
    pub fn optimize(self, on: bool) -> Linker {
        self.option(LinkOption::Optimize(on))
    }

    /// The most registers that a thread of a kernel has, 1 to 255.
    #[doc(alias = "-maxrregcount")]
    pub fn max_registers(self, registers: u32) -> Linker {
        self.option(LinkOption::MaxRegisters(registers))
    }

    /// `true` if the smallest numbers of single precision become zero, in LTO-IR; by nvJitLink only.
    #[doc(alias = "-ftz")]
    pub fn flush_to_zero(self, on: bool) -> Linker {
        self.option(LinkOption::FlushToZero(on))
    }

    /// `true` if division in single precision is rounded right, in LTO-IR; by nvJitLink only.
    #[doc(alias = "-prec-div")]
    pub fn precise_division(self, on: bool) -> Linker {
        self.option(LinkOption::PreciseDivision(on))
    }

    /// `true` if square roots in single precision are rounded right, in LTO-IR; by nvJitLink only.
    #[doc(alias = "-prec-sqrt")]
    pub fn precise_square_root(self, on: bool) -> Linker {
        self.option(LinkOption::PreciseSquareRoot(on))
    }

    /// `true` if a product and a sum may become one operation, in LTO-IR; by nvJitLink only.
    #[doc(alias = "-fma")]
    pub fn contract(self, on: bool) -> Linker {
        self.option(LinkOption::Contract(on))
    }

    /// Keeps this kernel, and others so named, when unused code is removed; by nvJitLink only.
    #[doc(alias = "-kernels-used")]
    pub fn keep_kernel(self, name: &str) -> Linker {
        self.option(LinkOption::KeepKernel(name.to_owned()))
    }

    /// Keeps this variable, and others so named, when unused code is removed; by nvJitLink only.
    #[doc(alias = "-variables-used")]
    pub fn keep_variable(self, name: &str) -> Linker {
        self.option(LinkOption::KeepVariable(name.to_owned()))
    }

    /// Variables that no code refers to go, though the host might; by nvJitLink only.
    #[doc(alias = "-optimize-unused-variables")]
    pub fn remove_unused_variables(self) -> Linker {
        self.option(LinkOption::RemoveUnusedVariables)
    }

    /// An option for the assembler: `-O1`, `--verbose`; by nvJitLink only.
    #[doc(alias = "-Xptxas")]
    pub fn assembler(self, option: impl Into<String>) -> Linker {
        self.option(LinkOption::Assembler(option.into()))
    }

    /// The number of compiler threads; 0 for one per processor; by nvJitLink only.
    #[doc(alias = "-split-compile")]
    pub fn split_compile(self, threads: u32) -> Linker {
        self.option(LinkOption::SplitCompile(threads))
    }

    /// As [`split_compile`](Linker::split_compile), for LTO-IR, which is divided into more parts; code may be
    /// slower for it.
    #[doc(alias = "-split-compile-extended")]
    pub fn split_compile_extended(self, threads: u32) -> Linker {
        self.option(LinkOption::SplitCompileExtended(threads))
    }

    /// Adds timings to the log; by nvJitLink only.
    #[doc(alias = "-time")]
    pub fn time_in_log(self) -> Linker {
        self.option(LinkOption::Time)
    }

    /// More in the log: registers and memory that each kernel takes. A driver's log always has that.
    #[doc(alias = "-verbose")]
    pub fn verbose(self) -> Linker {
        self.option(LinkOption::Verbose)
    }

    /// Nothing that was compiled before is used again; by nvJitLink only.
    #[doc(alias = "-no-cache")]
    pub fn no_linker_cache(self) -> Linker {
        self.option(LinkOption::NoCache)
    }

    /// An option of nvJitLink's as it is, after those before it.
    pub fn raw(self, option: impl Into<String>) -> Linker {
        self.option(LinkOption::Raw(option.into()))
    }

    fn option(mut self, option: LinkOption) -> Linker {
        if !option.is_one_of_many() {
            self.options.retain(|other| std::mem::discriminant(other) != std::mem::discriminant(&option));
        }
        self.options.push(option);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Architecture;

    fn linker() -> Linker {
        Linker::new("all", Architecture::sm(90))
    }

    fn words(linker: &Linker) -> String {
        linker.options.iter().map(LinkOption::word).collect::<Vec<_>>().join(" ")
    }

    /// LNK-5.
    #[test]
    fn every_option_has_its_word() {
        let all = linker().line_info().debug().optimize(false).max_registers(32).flush_to_zero(true);
        let all =
            all.precise_division(false).precise_square_root(false).contract(false).keep_kernel("a").keep_kernel("b");
        let all = all.keep_variable("v").remove_unused_variables().assembler("-O1").assembler("-v").split_compile(2);
        let all = all.split_compile_extended(0).time_in_log().verbose().no_linker_cache().raw("-x");
        assert_eq!(
            words(&all),
            "-lineinfo -g -O0 -maxrregcount=32 -ftz=1 -prec-div=0 -prec-sqrt=0 -fma=0 -kernels-used=a -kernels-used=b \
             -variables-used=v -optimize-unused-variables -Xptxas=-O1 -Xptxas=-v -split-compile=2 -split-compile-extended=0 \
             -time -verbose -no-cache -x"
        );
    }

    #[test]
    fn the_last_setting_holds() {
        let said = linker()
            .flush_to_zero(true)
            .optimize(false)
            .flush_to_zero(false)
            .optimize(true)
            .time_in_log()
            .time_in_log();
        assert_eq!(words(&said), "-ftz=0 -O3 -time");
    }

    /// LNK-6: none is left out without a word.
    #[test]
    fn every_option_that_drivers_lack_is_named() {
        let fine = linker().line_info().debug().optimize(true).max_registers(32).verbose();
        assert!(LinkOption::jit(&fine.options).is_ok());
        let wrong = fine.time_in_log().assembler("-v").split_compile(2).split_compile_extended(2).flush_to_zero(true);
        let wrong =
            wrong.precise_division(true).precise_square_root(true).contract(true).keep_kernel("k").keep_variable("v");
        let wrong = wrong.remove_unused_variables().no_linker_cache().raw("-x");
        let names = "-time -Xptxas=-v -split-compile=2 -split-compile-extended=2 -ftz=1 -prec-div=1 -prec-sqrt=1 -fma=1 \
                     -kernels-used=k -variables-used=v -optimize-unused-variables -no-cache -x";
        let names = names.split(' ').map(str::to_owned).collect();
        assert_eq!(LinkOption::jit(&wrong.options), Err(LinkError::UnsupportedOption { names }));
    }
}
