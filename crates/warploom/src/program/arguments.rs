//! From options to the words that NVRTC takes.

use std::ffi::CString;

use super::options::Macro;
use super::{CompileOptions, CxxStandard, NvrtcError, Severity, Target};
use crate::Result;

impl CompileOptions {
    /// The words for NVRTC, in order.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::VirtualArchitecture`] for a cubin of a virtual architecture, [`NvrtcError::MacroName`],
    /// [`NvrtcError::Registers`], and [`NvrtcError::Zero`] for a text with a zero in it.
    pub fn arguments(&self, target: Target) -> Result<Vec<CString>> {
        Ok(self.words(target)?)
    }

    pub(super) fn words(&self, target: Target) -> Result<Vec<CString>, NvrtcError> {
        if target == Target::Cubin && !self.architecture.is_real() {
            return Err(NvrtcError::VirtualArchitecture { architecture: self.architecture });
        }
        let mut words = vec![
            c_string("the architecture", format!("--gpu-architecture={}", self.architecture))?,
            // What lies about in some folder is no part of the program unless it is said to be.
            c_string("an option", "--no-source-include")?,
        ];
        let mut word = |what: &str, text: &[u8]| c_string(what, text).map(|text| words.push(text));
        if let Some(standard) = self.standard {
            word("an option", format!("--std={}", name_of(standard)).as_bytes())?;
        }
        for folder in &self.includes {
            word("an include path", &[b"--include-path=", folder.as_os_str().as_encoded_bytes()].concat())?;
        }
        for header in &self.pre_includes {
            word("a header's name", format!("--pre-include={header}").as_bytes())?;
        }
        for item in &self.macros {
            word("a macro", macro_word(item)?.as_bytes())?;
        }
        for switch in &self.switches {
            word("an option", switch.as_bytes())?;
        }
        match self.max_registers {
            Some(registers @ 1..=255) => word("an option", format!("--maxrregcount={registers}").as_bytes())?,
            Some(registers) => return Err(NvrtcError::Registers { registers }),
            None => {}
        }
        if let Some(threads) = self.split_compile {
            word("an option", format!("--split-compile={threads}").as_bytes())?;
        }
        for option in &self.assembler {
            word("an option for the assembler", format!("--ptxas-options={option}").as_bytes())?;
        }
        for (severity, number) in &self.severities {
            let verb = match severity {
                Severity::Suppress => "suppress",
                Severity::Warning => "warn",
                Severity::Error => "error",
            };
            word("an option", format!("--diag-{verb}={number}").as_bytes())?;
        }
        if target == Target::LtoIr {
            word("an option", b"-dlto")?;
            if self.is_optimized_lto {
                word("an option", b"--gen-opt-lto")?;
            }
        }
        for option in &self.extra {
            word("an option", option.as_bytes())?;
        }
        Ok(words)
    }
}

fn name_of(standard: CxxStandard) -> &'static str {
    match standard {
        CxxStandard::Cxx03 => "c++03",
        CxxStandard::Cxx11 => "c++11",
        CxxStandard::Cxx14 => "c++14",
        CxxStandard::Cxx17 => "c++17",
        CxxStandard::Cxx20 => "c++20",
        CxxStandard::Cxx23 => "c++23",
    }
}

fn macro_word(item: &Macro) -> Result<String, NvrtcError> {
    let (Macro::Defined { name, .. } | Macro::Undefined { name }) = item;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.bytes().all(is_word) || name.bytes().next().is_none_or(|first| first.is_ascii_digit()) {
        return Err(NvrtcError::MacroName { name: name.clone() });
    }
    Ok(match item {
        Macro::Defined { name, value: Some(value) } => format!("--define-macro={name}={value}"),
        Macro::Defined { name, value: None } => format!("--define-macro={name}"),
        Macro::Undefined { name } => format!("--undefine-macro={name}"),
    })
}

/// A text as C has it; `what` it is, for whoever gave one with a zero in it.
pub(super) fn c_string(what: &str, text: impl AsRef<[u8]>) -> Result<CString, NvrtcError> {
    CString::new(text.as_ref())
        .map_err(|error| NvrtcError::Zero { what: what.to_owned(), position: error.nul_position() })
}

#[cfg(test)]
mod tests {
    use super::super::{Architecture, FastCompile};
    use super::*;

    fn words(options: &CompileOptions, target: Target) -> String {
        let words = options.words(target).expect("the options are right");
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    fn options() -> CompileOptions {
        CompileOptions::new(Architecture::sm(90))
    }

    #[test]
    fn every_option_has_its_word() {
        let all = options().standard(CxxStandard::Cxx20).include("a b").pre_include("p.h");
        let all = all.define("N", 4).define_flag("FLAG").undefine("GONE").line_info().debug().optimize_debug();
        let all = all.fast_math().flush_to_zero(false).precise_division(true).precise_square_root(true).contract(false);
        let all = all.max_registers(64).relocatable().device_by_default().restrict().int128().vectorize_more();
        let all = all.extensible().float128().fast_compile(FastCompile::Least).fast_compile(FastCompile::Medium);
        let all = all.minimal().inlining_info().brief_diagnostics().assembler("-O1").assembler("--verbose");
        let all = all.no_warnings().diagnostic(177, Severity::Error).split_compile(0).optimized_lto().raw("--raw");
        assert_eq!(
            words(&all, Target::Cubin),
            "--gpu-architecture=sm_90 --no-source-include --std=c++20 --include-path=a b --pre-include=p.h \
             --define-macro=N=4 --define-macro=FLAG --undefine-macro=GONE --generate-line-info --device-debug --dopt=on \
             --use_fast_math --ftz=false --prec-div=true --prec-sqrt=true --fmad=false --relocatable-device-code=true \
             --device-as-default-execution-space --restrict --device-int128 --extra-device-vectorization \
             --extensible-whole-program --device-float128 --Ofast-compile=mid --minimal --optimization-info=inline \
             --brief-diagnostics=true --disable-warnings --maxrregcount=64 --split-compile=0 --ptxas-options=-O1 \
             --ptxas-options=--verbose --diag-error=177 --raw"
        );
        assert!(words(&all, Target::LtoIr).ends_with("-dlto --gen-opt-lto --raw"));
        assert_eq!(words(&options(), Target::Ptx), "--gpu-architecture=sm_90 --no-source-include");
    }

    #[test]
    fn what_is_said_last_holds() {
        let said = options().flush_to_zero(true).contract(true).flush_to_zero(false).line_info().line_info();
        assert!(words(&said, Target::Ptx).ends_with("include --fmad=true --ftz=false --generate-line-info"));
        let said = options().diagnostic(177, Severity::Error).diagnostic(177, Severity::Suppress);
        assert!(words(&said, Target::Ptx).ends_with("include --diag-suppress=177"));
    }

    #[test]
    fn bad_options_are_named() {
        let refused = |options: CompileOptions| options.words(Target::Cubin).expect_err("it is wrong");
        for name in ["", "1A", "A B", "A=B", "A\0"] {
            assert_eq!(refused(options().define(name, 1)), NvrtcError::MacroName { name: name.to_owned() });
            assert_eq!(refused(options().undefine(name)), NvrtcError::MacroName { name: name.to_owned() });
        }
        for registers in [0, 256] {
            assert_eq!(refused(options().max_registers(registers)), NvrtcError::Registers { registers });
        }
        let zero = NvrtcError::Zero { what: "an option".to_owned(), position: 2 };
        assert_eq!(refused(options().raw("--\0")), zero);
        assert!(matches!(refused(options().include("a\0")), NvrtcError::Zero { .. }));
        let architecture = Architecture::compute(90);
        assert_eq!(refused(CompileOptions::new(architecture)), NvrtcError::VirtualArchitecture { architecture });
    }
}
