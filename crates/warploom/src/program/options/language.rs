//! Language options: standard, macros, include folders.

use std::path::PathBuf;

use super::CompileOptions;

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

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::program) enum Macro {
    Defined { name: String, value: Option<String> },
    Undefined { name: String },
}

impl CompileOptions {
    /// The C++ standard.
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

    /// CUDA's headers and CCCL's, as NVRTC brings them along, are put into this folder if they are not there
    /// yet, and looked for there, so that no toolkit is needed; needs an NVRTC that has them.
    #[doc(alias = "--use-bundled-headers")]
    pub fn bundled_headers(self, folder: impl Into<PathBuf>) -> CompileOptions {
        self.value("--use-bundled-headers=", folder.into())
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

    /// `__float128` on the device; needs compute capability 10.0, and an NVRTC that knows it.
    #[doc(alias = "--device-float128")]
    pub fn float128(self) -> CompileOptions {
        self.switch("--device-float128", "--device-float128")
    }

    /// Without some of NVRTC's built-in declarations, which takes less time; needs an NVRTC that knows it.
    #[doc(alias = "--minimal")]
    pub fn minimal(self) -> CompileOptions {
        self.switch("--minimal", "--minimal")
    }

    /// `true` if `std::move` and `std::forward` are there without a header, as they are by default.
    #[doc(alias = "--builtin-move-forward")]
    pub fn builtin_move_forward(self, on: bool) -> CompileOptions {
        let switch = if on { "--builtin-move-forward=true" } else { "--builtin-move-forward=false" };
        self.switch("--builtin-move-forward", switch)
    }

    /// `true` if `std::initializer_list` is there without a header, as it is by default.
    #[doc(alias = "--builtin-initializer-list")]
    pub fn builtin_initializer_list(self, on: bool) -> CompileOptions {
        let switch = if on { "--builtin-initializer-list=true" } else { "--builtin-initializer-list=false" };
        self.switch("--builtin-initializer-list", switch)
    }
}
