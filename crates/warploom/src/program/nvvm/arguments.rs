//! libNVVM's command-line arguments, from compile options.

use std::ffi::CString;

use super::NvvmError;
use crate::Result;
use crate::program::{CompileOptions, Target};

/// libNVVM's targets.
const TARGETS: &[Target] = &[Target::Ptx, Target::LtoIr];

/// Options with the same name in NVRTC and libNVVM.
const WORDS: &[(&str, &str)] = &[
    ("--ftz=true", "-ftz=1"),
    ("--ftz=false", "-ftz=0"),
    ("--prec-div=true", "-prec-div=1"),
    ("--prec-div=false", "-prec-div=0"),
    ("--prec-sqrt=true", "-prec-sqrt=1"),
    ("--prec-sqrt=false", "-prec-sqrt=0"),
    ("--fmad=true", "-fma=1"),
    ("--fmad=false", "-fma=0"),
    ("--device-debug", "-g"),
    ("--dopt=on", "-opt=3"),
    ("-opt=0", "-opt=0"),
    ("--numba-debug", "-numba-debug"),
];

impl CompileOptions {
    /// The words for libNVVM, in order. The architecture is always virtual there.
    ///
    /// ```
    /// use warploom::program::{Architecture, CompileOptions, Target};
    ///
    /// # fn main() -> warploom::Result<()> {
    /// let options = CompileOptions::new(Architecture::sm(90)).flush_to_zero(true);
    /// let words = options.nvvm_arguments(Target::LtoIr)?;
    /// assert_eq!(words, [c"-arch=compute_90", c"-ftz=1", c"-gen-lto"].map(|word| word.to_owned()));
    /// let refused = options.define("N", 4).restrict().nvvm_arguments(Target::Ptx);
    /// let expected = "libNVVM has no option --define-macro=N=4, --restrict; \
    ///     leave it out, or say it in the IR";
    /// assert_eq!(refused.map_err(|error| error.to_string()), Err(expected.to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NvvmError::UnsupportedTarget`] for a cubin, [`NvvmError::UnsupportedOption`] with the names of all
    /// options that libNVVM does not have, and [`NvvmError::Zero`] for a text with a zero in it.
    pub fn nvvm_arguments(&self, target: Target) -> Result<Vec<CString>> {
        Ok(self.nvvm_words(target)?)
    }

    pub(super) fn nvvm_words(&self, target: Target) -> Result<Vec<CString>, NvvmError> {
        if !TARGETS.contains(&target) {
            return Err(NvvmError::UnsupportedTarget { target, supported: TARGETS });
        }
        let mut words = vec![format!("-arch={}", self.architecture.virtual_name())];
        let mut unsupported = self.beyond_switches();
        for switch in &self.switches {
            match WORDS.iter().find(|(name, _)| name == switch) {
                Some((_, word)) => words.push((*word).to_owned()),
                None => unsupported.push((*switch).to_owned()),
            }
        }
        // Code for a debugger is not optimised unless that is asked for, as with NVRTC.
        if words.iter().any(|word| word == "-g") && !words.iter().any(|word| word.starts_with("-opt=")) {
            words.push("-opt=0".to_owned());
        }
        if target == Target::LtoIr {
            words.push("-gen-lto".to_owned());
        }
        let has_one_dash = |option: &String| option.starts_with('-') && !option.starts_with("--");
        unsupported.extend(self.extra.iter().filter(|option| !has_one_dash(option)).cloned());
        if !unsupported.is_empty() {
            return Err(NvvmError::UnsupportedOption { names: unsupported });
        }
        words.extend(self.extra.iter().cloned());
        words.into_iter().map(|word| c_string("an option", word)).collect()
    }
}

/// A C string; `what` names it in the error for a text with a zero.
pub(super) fn c_string(what: &str, text: impl Into<Vec<u8>>) -> Result<CString, NvvmError> {
    CString::new(text).map_err(|error| NvvmError::Zero { what: what.to_owned(), position: error.nul_position() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::options::ReadPrecompiled as _;
    use crate::program::{Architecture, CxxStandard, FastCompile, Severity};

    fn options() -> CompileOptions {
        CompileOptions::new(Architecture::sm(90))
    }

    fn words(options: &CompileOptions, target: Target) -> String {
        let words = options.nvvm_words(target).expect("the options are right");
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_option_that_libnvvm_has_has_its_word() {
        assert_eq!(words(&options(), Target::Ptx), "-arch=compute_90");
        assert_eq!(words(&CompileOptions::new(Architecture::sm(90).specific()), Target::Ptx), "-arch=compute_90a");
        let on = options().flush_to_zero(true).precise_division(true).precise_square_root(true).contract(true);
        assert_eq!(words(&on, Target::Ptx), "-arch=compute_90 -ftz=1 -prec-div=1 -prec-sqrt=1 -fma=1");
        let off = on.flush_to_zero(false).precise_division(false).precise_square_root(false).contract(false);
        assert_eq!(words(&off, Target::LtoIr), "-arch=compute_90 -ftz=0 -prec-div=0 -prec-sqrt=0 -fma=0 -gen-lto");
        assert_eq!(words(&options().debug().numba_debug(), Target::Ptx), "-arch=compute_90 -g -numba-debug -opt=0");
        assert_eq!(words(&options().debug().optimize_debug(), Target::Ptx), "-arch=compute_90 -g -opt=3");
        assert_eq!(words(&options().unoptimized().raw("-raw"), Target::Ptx), "-arch=compute_90 -opt=0 -raw");
    }

    #[test]
    fn every_option_that_libnvvm_lacks_is_named() {
        let all =
            options().standard(CxxStandard::Cxx20).include("a").pre_include("p.h").define("N", 4).undefine("GONE");
        let all =
            all.line_info().fast_math().max_registers(64).relocatable().extensible().device_by_default().restrict();
        let all = all.int128().vectorize_more().float128().fast_compile(FastCompile::Least).minimal().inlining_info();
        let all = all.brief_diagnostics().assembler("-O1").no_warnings().diagnostic(177, Severity::Error);
        let all = all.split_compile(0).optimized_lto().flush_to_zero(true).raw("--two").raw("none").raw("-one");
        let all = all
            .builtin_move_forward(true)
            .builtin_initializer_list(true)
            .no_message_numbers()
            .time("t")
            .time_trace("u");
        let all = all.no_compiler_cache().random_seed("s").reading_any().create_precompiled_header("a");
        let all = all.reading("b").precompiled_folder("c").precompiled_reasons(true);
        let all = all.precompiled_messages(true).precompiled_templates(true).bundled_headers("d");
        let expected = [
            "--std=c++20",
            "--include-path=a",
            "--pre-include=p.h",
            "--define-macro=N=4",
            "--undefine-macro=GONE",
            "--maxrregcount=64",
            "--split-compile=0",
            "--ptxas-options=-O1",
            "--diag-error=177",
            "--time=t",
            "--fdevice-time-trace=u",
            "--frandom-seed=s",
            "--create-pch=a",
            "--use-pch=b",
            "--pch-dir=c",
            "--use-bundled-headers=d",
            "--gen-opt-lto",
            "--generate-line-info",
            "--use_fast_math",
            "--relocatable-device-code=true",
            "--extensible-whole-program",
            "--device-as-default-execution-space",
            "--restrict",
            "--device-int128",
            "--extra-device-vectorization",
            "--device-float128",
            "--Ofast-compile=min",
            "--minimal",
            "--optimization-info=inline",
            "--brief-diagnostics=true",
            "--disable-warnings",
            "--builtin-move-forward=true",
            "--builtin-initializer-list=true",
            "--no-display-error-number",
            "--no-cache",
            "--pch",
            "--pch-verbose=true",
            "--pch-messages=true",
            "--instantiate-templates-in-pch=true",
            "--two",
            "none",
        ];
        let refused = all.nvvm_words(Target::Ptx).expect_err("it has none of them");
        assert_eq!(refused, NvvmError::UnsupportedOption { names: expected.map(str::to_owned).to_vec() });
    }

    #[test]
    fn a_target_that_libnvvm_lacks_is_refused_with_those_it_has() {
        let refused = options().nvvm_words(Target::Cubin).expect_err("there is no cubin");
        let words = "libNVVM does not compile to cubin; it does to PTX, LTO-IR; a Linker makes a cubin of that";
        assert_eq!(refused.to_string(), words);
        let zero = NvvmError::Zero { what: "an option".to_owned(), position: 1 };
        assert_eq!(options().raw("-\0").nvvm_words(Target::Ptx), Err(zero));
    }
}
