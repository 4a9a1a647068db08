//! Errors of libNVVM.

use std::path::PathBuf;

use super::{LIBDEVICE_VARIABLE, NVVM_VARIABLE};
use crate::Error;
use crate::dynamic_library::{Attempt, Attempts};
use crate::program::code::codes;
use crate::program::error::{Detail, List};
use crate::program::{Architecture, Target};

/// Why libNVVM could not be had, or did not compile.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvvmError {
    /// There is no libNVVM.
    #[error(
        "no libNVVM found, tried {}; install it (the Python wheel nvidia-nvvm, by `pip install nvidia-nvvm` in the active \
         environment, or a CUDA toolkit), or name its library in {NVVM_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// What was tried, in order.
        tried: Vec<Attempt>,
    },

    /// There is a library, but it is not libNVVM.
    #[error("{} is not libNVVM: it has no {missing}", path.display())]
    NotNvvm {
        /// The library.
        path: PathBuf,
        /// The first function that it lacks.
        missing: &'static str,
    },

    /// There is no libdevice.
    #[error(
        "no libdevice.10.bc found, looked into {}; it comes with libNVVM, in the Python wheel nvidia-nvvm and in CUDA toolkits; \
         name its file in {LIBDEVICE_VARIABLE}, or give it as Libdevice::read",
        List(folders.iter().map(|folder| folder.display()))
    )]
    NoLibdevice {
        /// Where it was looked for, in order.
        folders: Vec<PathBuf>,
    },

    /// The IR is wrong.
    #[error("{program} does not compile: {code}{}", Detail(log))]
    Compilation {
        /// The program's name.
        program: String,
        /// What libNVVM answered: whether it found that while verifying or while compiling.
        code: NvvmCode,
        /// What libNVVM has to say about it.
        log: String,
    },

    /// libNVVM does not take an option.
    #[error("libNVVM refused an option for {program}: {}; the options were {}", log.trim_end(), options.join(" "))]
    OptionRefused {
        /// The program's name.
        program: String,
        /// All options, in order.
        options: Vec<String>,
        /// What libNVVM has to say about it.
        log: String,
    },

    /// Some things only NVRTC can be asked.
    #[error("libNVVM has no option {}; leave it out, or say it in the IR", names.join(", "))]
    UnsupportedOption {
        /// All options that it does not have, as NVRTC calls them.
        names: Vec<String>,
    },

    /// Only some kinds of code come of it.
    #[error("libNVVM does not compile to {target}; it does to {}; a Linker makes a cubin of that", List(supported.iter()))]
    UnsupportedTarget {
        /// What was asked for.
        target: Target,
        /// What can be asked for.
        supported: &'static [Target],
    },

    /// It compiles for other architectures.
    #[error("libNVVM does not compile for {architecture}; the header nvvm.h lists those that it does")]
    UnsupportedArchitecture {
        /// What was asked for.
        architecture: Architecture,
    },

    /// There is nothing in a module.
    #[error("the module {name:?} has no bytes; leave it out")]
    EmptyModule {
        /// The module's name.
        name: String,
    },

    /// Only of bitcode it can be seen what is needed.
    #[error("the module {name:?} is a text, of which no parts can be taken; add it as a module, or as bitcode")]
    LazyText {
        /// The module's name.
        name: String,
    },

    /// libNVVM was asked and refused, or failed.
    #[error("{function} failed: {code}{}", Detail(detail))]
    Call {
        /// The function that was called.
        function: &'static str,
        /// What it answered.
        code: NvvmCode,
        /// The log, or what it was about.
        detail: String,
    },

    /// The compiler was content and gave nothing.
    #[error("{program} compiled, but not to {target}; look for an option that asks for something else")]
    NoOutput {
        /// The program's name.
        program: String,
        /// What was asked for.
        target: Target,
    },

    /// C has no zero in its texts.
    #[error("{what} has a zero at byte {position}; C's texts end there")]
    Zero {
        /// Which text it is.
        what: String,
        /// Where the zero is.
        position: usize,
    },

    /// What goes to files a cache cannot know.
    #[error("{program} cannot be kept in a cache: {reason}")]
    NotCacheable {
        /// The program's name.
        program: String,
        /// Why, and what to do.
        reason: String,
    },
}

impl NvvmError {
    /// What the compiler has to say about the program or the options, if it was run.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        match self {
            NvvmError::Compilation { log, .. } | NvvmError::OptionRefused { log, .. } => Some(log),
            _ => None,
        }
    }

    /// What libNVVM answered, if it was asked at all.
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
    /// The IR is wrong.
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
