//! Errors of libNVVM.

use std::path::PathBuf;

use super::{LIBDEVICE_VARIABLE, NVVM_VARIABLE};
use crate::Error;
use crate::dynamic_library::{Attempt, Attempts};
use crate::program::code::codes;
use crate::program::error::{Detail, List};
use crate::program::{Architecture, Target};

/// An error of loading or calling libNVVM.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvvmError {
    /// No libNVVM library was found.
    #[error(
        "no libNVVM found, tried {}; install it (the Python wheel nvidia-nvvm, by `pip install nvidia-nvvm` in the active \
         environment, or a CUDA toolkit), or name its library in {NVVM_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// The attempts, in order.
        tried: Vec<Attempt>,
    },

    /// The library lacks functions of libNVVM.
    #[error("{} is not libNVVM: it has no {missing}", path.display())]
    NotNvvm {
        /// The library.
        path: PathBuf,
        /// The first function that it lacks.
        missing: &'static str,
    },

    /// No libdevice was found.
    #[error(
        "no libdevice.10.bc found, looked into {}; it comes with libNVVM, in the Python wheel nvidia-nvvm and in CUDA toolkits; \
         name its file in {LIBDEVICE_VARIABLE}, or give it as Libdevice::read",
        List(folders.iter().map(|folder| folder.display()))
    )]
    NoLibdevice {
        /// The folders searched, in order.
        folders: Vec<PathBuf>,
    },

    /// The IR does not compile.
    #[error("{program} does not compile: {code}{}", Detail(log))]
    Compilation {
        /// The program's name.
        program: String,
        /// libNVVM's status, which tells verification from compilation.
        code: NvvmCode,
        /// libNVVM's log.
        log: String,
    },

    /// libNVVM refused an option.
    #[error("libNVVM refused an option for {program}: {}; the options were {}", log.trim_end(), options.join(" "))]
    OptionRefused {
        /// The program's name.
        program: String,
        /// All options, in order.
        options: Vec<String>,
        /// libNVVM's log.
        log: String,
    },

    /// Options that only NVRTC has.
    #[error("libNVVM has no option {}; leave it out, or say it in the IR", names.join(", "))]
    UnsupportedOption {
        /// All options that it does not have, as NVRTC calls them.
        names: Vec<String>,
    },

    /// libNVVM does not compile to the target.
    #[error("libNVVM does not compile to {target}; it does to {}; a Linker makes a cubin of that", List(supported.iter()))]
    UnsupportedTarget {
        /// The requested value.
        target: Target,
        /// The supported values.
        supported: &'static [Target],
    },

    /// libNVVM does not compile for the architecture.
    #[error("libNVVM does not compile for {architecture}; the header nvvm.h lists those that it does")]
    UnsupportedArchitecture {
        /// The requested value.
        architecture: Architecture,
    },

    /// A module is empty.
    #[error("the module {name:?} has no bytes; leave it out")]
    EmptyModule {
        /// The module's name.
        name: String,
    },

    /// A module that is added lazily is text instead of bitcode.
    #[error("the module {name:?} is a text, of which no parts can be taken; add it as a module, or as bitcode")]
    LazyText {
        /// The module's name.
        name: String,
    },

    /// A call of libNVVM failed.
    #[error("{function} failed: {code}{}", Detail(detail))]
    Call {
        /// The function that was called.
        function: &'static str,
        /// The status.
        code: NvvmCode,
        /// The log, or the call's argument.
        detail: String,
    },

    /// The compiler succeeded without an output.
    #[error("{program} compiled, but not to {target}; look for an option that changes the output")]
    NoOutput {
        /// The program's name.
        program: String,
        /// The requested value.
        target: Target,
    },

    /// A text has a zero byte.
    #[error("{what} has a zero at byte {position}; C strings end there")]
    Zero {
        /// The name of the text.
        what: String,
        /// The position of the zero.
        position: usize,
    },

    /// A cache does not see files that the compiler writes.
    #[error("{program} cannot be cached: {reason}")]
    NotCacheable {
        /// The program's name.
        program: String,
        /// The reason, and the remedy.
        reason: String,
    },
}

impl NvvmError {
    /// The compiler's log about the program or the options, if it ran.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        match self {
            NvvmError::Compilation { log, .. } | NvvmError::OptionRefused { log, .. } => Some(log),
            _ => None,
        }
    }

    /// libNVVM's status, if it was called.
    #[must_use]
    pub fn code(&self) -> Option<NvvmCode> {
        match self {
            NvvmError::Compilation { code, .. } | NvvmError::Call { code, .. } => Some(*code),
            NvvmError::OptionRefused { .. } => Some(NvvmCode::INVALID_OPTION),
            _ => None,
        }
    }
}

impl From<NvvmError> for Error {
    fn from(error: NvvmError) -> Error {
        Error::Nvvm(Box::new(error))
    }
}

codes! {
    /// libNVVM's error.
    NvvmCode, "NVVM";
    /// Too little memory.
    OUT_OF_MEMORY = 1;
    /// No program could be made.
    PROGRAM_CREATION_FAILURE = 2;
    /// The IR is of a version that it does not take.
    IR_VERSION_MISMATCH = 3;
    /// An argument was wrong.
    INVALID_INPUT = 4;
    /// There is no such program.
    INVALID_PROGRAM = 5;
    /// The IR does not compile.
    INVALID_IR = 6;
    /// An option was wrong.
    INVALID_OPTION = 7;
    /// There is nothing to compile.
    NO_MODULE_IN_PROGRAM = 8;
    /// The program is wrong.
    COMPILATION = 9;
    /// The compilation was ended from outside.
    CANCELLED = 10;
}
