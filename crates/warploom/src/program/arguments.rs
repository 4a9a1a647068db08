//! NVRTC's command-line arguments, from compile options.

use std::ffi::CString;

use super::options::{Macro, UNOPTIMIZED, reads_precompiled};
use super::{CompileOptions, CxxStandard, NvrtcError, Severity, Target};
use crate::Result;

impl CompileOptions {
    /// The words for NVRTC, in order.
    ///
    /// # Errors
    ///
    /// [`NvrtcError::VirtualArchitecture`] for a cubin of a virtual architecture, [`NvrtcError::MacroName`],
    /// [`NvrtcError::Registers`], [`NvrtcError::UnsupportedOption`] for options of libNVVM alone,
    /// [`NvrtcError::UnsafeOption`] for raw options that read precompiled headers, and [`NvrtcError::Zero`]
    /// for a text with a zero in it.
    pub fn arguments(&self, target: Target) -> Result<Vec<CString>> {
        Ok(self.words(target)?)
    }

    pub(super) fn words(&self, target: Target) -> Result<Vec<CString>, NvrtcError> {
        self.check(target)?;
        let mut words = vec![
            c_string("the architecture", format!("--gpu-architecture={}", self.architecture))?,
            // Files beside the source are included only from folders that are named.
            c_string("an option", "--no-source-include")?,
        ];
        for (what, word) in self.fields() {
            words.push(c_string(what, word)?);
        }
        for switch in &self.switches {
            words.push(c_string("an option", switch)?);
        }
        if target == Target::LtoIr {
            words.push(c_string("an option", "-dlto")?);
            if self.is_optimized_lto {
                words.push(c_string("an option", OPTIMIZED_LTO)?);
            }
        }
        for option in &self.extra {
            if reads_precompiled(option) {
                return Err(NvrtcError::UnsafeOption { option: option.clone() });
            }
            words.push(c_string("an option", option)?);
        }
        Ok(words)
    }

    /// Refuses invalid values.
    fn check(&self, target: Target) -> Result<(), NvrtcError> {
        if target == Target::Cubin && !self.architecture.is_real() {
            return Err(NvrtcError::VirtualArchitecture { architecture: self.architecture });
        }
        if let Some(name) = self.switches.iter().find(|switch| **switch == UNOPTIMIZED) {
            return Err(NvrtcError::UnsupportedOption { names: vec![(*name).to_owned()] });
        }
        if let Some(registers) = self.max_registers.filter(|registers| !(1..=255).contains(registers)) {
            return Err(NvrtcError::Registers { registers });
        }
        self.macros.iter().try_for_each(check_macro)
    }

    /// Name and arguments of all options that have a value.
    fn fields(&self) -> Vec<(&'static str, Vec<u8>)> {
        let mut fields = Vec::new();
        let mut field = |what, name: &str, value: &[u8]| fields.push((what, [name.as_bytes(), value].concat()));
        if let Some(standard) = self.standard {
            field("an option", "--std=", name_of(standard).as_bytes());
        }
        for folder in &self.includes {
            field("an include path", "--include-path=", folder.as_os_str().as_encoded_bytes());
        }
        for header in &self.pre_includes {
            field("a header's name", "--pre-include=", header.as_bytes());
        }
        for item in &self.macros {
            let word = match item {
                Macro::Defined { name, value: Some(value) } => format!("--define-macro={name}={value}"),
                Macro::Defined { name, value: None } => format!("--define-macro={name}"),
                Macro::Undefined { name } => format!("--undefine-macro={name}"),
            };
            field("a macro", &word, b"");
        }
        if let Some(registers) = self.max_registers {
            field("an option", "--maxrregcount=", registers.to_string().as_bytes());
        }
        if let Some(threads) = self.split_compile {
            field("an option", "--split-compile=", threads.to_string().as_bytes());
        }
        for option in &self.assembler {
            field("an option for the assembler", "--ptxas-options=", option.as_bytes());
        }
        for (severity, number) in &self.severities {
            let name = match severity {
                Severity::Suppress => "--diag-suppress=",
                Severity::Warning => "--diag-warn=",
                Severity::Error => "--diag-error=",
            };
            field("an option", name, number.to_string().as_bytes());
        }
        for (name, value) in &self.values {
            field("an option", name, value.as_encoded_bytes());
        }
        fields
    }

    /// The names of options that have a value, none of which libNVVM has.
    pub(super) fn beyond_switches(&self) -> Vec<String> {
        let fields = self.fields().into_iter().map(|(_, word)| String::from_utf8_lossy(&word).into_owned());
        fields.chain(self.is_optimized_lto.then(|| OPTIMIZED_LTO.to_owned())).collect()
    }
}

const OPTIMIZED_LTO: &str = "--gen-opt-lto";

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

fn check_macro(item: &Macro) -> Result<(), NvrtcError> {
    let (Macro::Defined { name, .. } | Macro::Undefined { name }) = item;
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !name.bytes().all(is_word) || name.bytes().next().is_none_or(|first| first.is_ascii_digit()) {
        return Err(NvrtcError::MacroName { name: name.clone() });
    }
    Ok(())
}

/// A C string; `what` names it in the error for a text with a zero.
pub(super) fn c_string(what: &str, text: impl AsRef<[u8]>) -> Result<CString, NvrtcError> {
    CString::new(text.as_ref())
        .map_err(|error| NvrtcError::Zero { what: what.to_owned(), position: error.nul_position() })
}

#[cfg(test)]
mod tests {
    use super::super::{Architecture, FastCompile};
    use super::*;
    use crate::program::options::ReadPrecompiled as _;

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
        let all = all.no_warnings().diagnostic(177, Severity::Error).split_compile(0).optimized_lto();
        let all = all.numba_debug().builtin_move_forward(false).builtin_initializer_list(false).no_message_numbers();
        let all = all.time("t.csv").time_trace("t.json").no_compiler_cache().random_seed("seed");
        let all = all.bundled_headers("b").raw("--raw");
        assert_eq!(
            words(&all, Target::Cubin),
            "--gpu-architecture=sm_90 --no-source-include --std=c++20 --include-path=a b --pre-include=p.h \
             --define-macro=N=4 --define-macro=FLAG --undefine-macro=GONE --maxrregcount=64 --split-compile=0 \
             --ptxas-options=-O1 --ptxas-options=--verbose --diag-error=177 --time=t.csv \
             --fdevice-time-trace=t.json --frandom-seed=seed --use-bundled-headers=b --generate-line-info --device-debug --dopt=on \
             --use_fast_math --ftz=false --prec-div=true --prec-sqrt=true --fmad=false --relocatable-device-code=true \
             --device-as-default-execution-space --restrict --device-int128 --extra-device-vectorization \
             --extensible-whole-program --device-float128 --Ofast-compile=mid --minimal --optimization-info=inline \
             --brief-diagnostics=true --disable-warnings --numba-debug --builtin-move-forward=false \
             --builtin-initializer-list=false --no-display-error-number --no-cache --raw"
        );
        assert!(words(&all, Target::LtoIr).ends_with("-dlto --gen-opt-lto --raw"));
        assert_eq!(words(&options(), Target::Ptx), "--gpu-architecture=sm_90 --no-source-include");
    }

    #[test]
    fn every_option_of_precompiled_headers_has_its_word() {
        let all = options().reading_any().create_precompiled_header("a").reading("b");
        let all = all.precompiled_folder("c").precompiled_reasons(false).precompiled_messages(false);
        assert_eq!(
            words(&all.precompiled_templates(false), Target::Ptx),
            "--gpu-architecture=sm_90 --no-source-include --create-pch=a --use-pch=b --pch-dir=c --pch --pch-verbose=false \
             --pch-messages=false --instantiate-templates-in-pch=false"
        );
    }

    #[test]
    fn the_last_setting_holds() {
        let said = options().flush_to_zero(true).contract(true).flush_to_zero(false).line_info().line_info();
        assert!(words(&said, Target::Ptx).ends_with("include --fmad=true --ftz=false --generate-line-info"));
        let said = options().time("a").builtin_move_forward(false).builtin_move_forward(true).time_in_log();
        assert!(words(&said, Target::Ptx).ends_with("include --time=- --builtin-move-forward=true"));
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
        let unoptimized = NvrtcError::UnsupportedOption { names: vec!["-opt=0".to_owned()] };
        assert_eq!(refused(options().optimize_debug().unoptimized()), unoptimized);
        assert!(options().unoptimized().optimize_debug().words(Target::Cubin).is_ok());
        let zero = NvrtcError::Zero { what: "an option".to_owned(), position: 2 };
        assert_eq!(refused(options().raw("--\0")), zero);
        assert!(matches!(refused(options().include("a\0")), NvrtcError::Zero { .. }));
        for option in ["--pch", "-pch", "--use-pch=x", "-use-pch=x", " --use-pch x", "--use-pch\tx"] {
            assert_eq!(refused(options().raw(option)), NvrtcError::UnsafeOption { option: option.to_owned() });
        }
        for option in ["--create-pch=x", "--pch-dir=x", "-pch-verbose=true"] {
            assert!(options().raw(option).words(Target::Cubin).is_ok(), "{option}");
        }
        let architecture = Architecture::compute(90);
        assert_eq!(refused(CompileOptions::new(architecture)), NvrtcError::VirtualArchitecture { architecture });
    }
}
