//! Errors of NVRTC.

use std::fmt;
use std::path::PathBuf;

use super::nvrtc::NVRTC_VARIABLE;
use super::{Architecture, CodeKind, NvrtcCode, NvrtcVersion, Target};
use crate::Error;
use crate::dynamic_library::{Attempt, Attempts};

/// An error of loading or calling NVRTC.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvrtcError {
    /// No NVRTC library was found.
    #[error(
        "no NVRTC found, tried {}; install it (the Python wheel nvidia-cuda-nvrtc, by `pip install nvidia-cuda-nvrtc` in the \
         active environment, or the package cuda-nvrtc), or name its library in {NVRTC_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// The attempts, in order.
        tried: Vec<Attempt>,
    },

    /// The library lacks functions of NVRTC.
    #[error("{} is not NVRTC {} or newer: it has no {missing}", path.display(), NvrtcVersion::OLDEST)]
    NotNvrtc {
        /// The library.
        path: PathBuf,
        /// The first function that it lacks.
        missing: &'static str,
    },

    /// The library is too old.
    #[error("NVRTC {have} is too old; install {} or newer", NvrtcVersion::OLDEST)]
    TooOld {
        /// Its version.
        have: NvrtcVersion,
    },

    /// The library is too old for an optional function.
    #[error("NVRTC {have} has no {function}; install {needs} or newer")]
    Lacks {
        /// The missing function.
        function: &'static str,
        /// Its version.
        have: NvrtcVersion,
        /// The oldest that has it.
        needs: NvrtcVersion,
    },

    /// The program does not compile.
    #[error("{program} does not compile:\n{}", log.trim_end())]
    Compilation {
        /// The program's name.
        program: String,
        /// NVRTC's log.
        log: String,
    },

    /// NVRTC refused an option.
    #[error("NVRTC {version} refused an option for {program}: {}; the options were {}", log.trim_end(), options.join(" "))]
    OptionRefused {
        /// The program's name.
        program: String,
        /// NVRTC's version.
        version: NvrtcVersion,
        /// All options, in order.
        options: Vec<String>,
        /// NVRTC's log.
        log: String,
    },

    /// A call of NVRTC failed.
    #[error("{function} failed: {code}{}", Detail(detail))]
    Call {
        /// The function that was called.
        function: &'static str,
        /// The status.
        code: NvrtcCode,
        /// The log, if a program was being compiled, or the call's argument.
        detail: String,
    },

    /// NVRTC does not compile for the architecture.
    #[error("NVRTC {version} does not compile for {architecture}; it does for {}", List(supported))]
    UnsupportedArchitecture {
        /// The requested value.
        architecture: Architecture,
        /// NVRTC's version.
        version: NvrtcVersion,
        /// Those that it has, as in `sm_90`.
        supported: Vec<u32>,
    },

    /// A cubin was asked for a virtual architecture.
    #[error("there is no cubin for {architecture}, which is virtual; compile for sm_{}, or to PTX", architecture.number())]
    VirtualArchitecture {
        /// The requested value.
        architecture: Architecture,
    },

    /// The compiler succeeded without an output.
    #[error("{program} compiled, but not to {target}; look for an option that changes the output")]
    NoOutput {
        /// The program's name.
        program: String,
        /// The requested value.
        target: Target,
    },

    /// The driver does not load this kind of code.
    #[error("{name} is {kind}, which drivers do not load; link it first, by a Linker")]
    NotLoadable {
        /// Its name.
        name: String,
        /// Its kind.
        kind: CodeKind,
    },

    /// A binary of unknown origin.
    #[error(
        "{name} is {kind} of unknown origin, which drivers and linkers read without checks; call UntrustedCode::trust \
         if NVIDIA's tools made it, or use PTX"
    )]
    Untrusted {
        /// Its name.
        name: String,
        /// Its kind.
        kind: CodeKind,
    },

    /// PTX is a text in UTF-8.
    #[error("{name} is not PTX: byte {position} is not UTF-8; use the text as the compiler wrote it")]
    NotUtf8 {
        /// Its name.
        name: String,
        /// The first wrong byte.
        position: usize,
    },

    /// Options that only libNVVM has.
    #[error("NVRTC has no option {}; leave it out", names.join(", "))]
    UnsupportedOption {
        /// All options that it does not have, as libNVVM calls them.
        names: Vec<String>,
    },

    /// A raw option that has NVRTC read a precompiled header, which it does not check.
    #[error(
        "the raw option {option:?} reads precompiled headers, which NVRTC does not check; use \
         CompileOptions::use_precompiled_header or CompileOptions::precompiled_headers, which are unsafe"
    )]
    UnsafeOption {
        /// The option.
        option: String,
    },

    /// A text has a zero byte.
    #[error("{what} has a zero at byte {position}; C strings end there")]
    Zero {
        /// The name of the text.
        what: String,
        /// The position of the zero.
        position: usize,
    },

    /// The name of a macro is invalid.
    #[error("{name:?} is not a macro name; use letters, digits and _, and no digit first")]
    MacroName {
        /// The name.
        name: String,
    },

    /// The register limit is out of range.
    #[error("a kernel cannot be held to {registers} registers; a thread has from 1 to 255")]
    Registers {
        /// The number asked for.
        registers: u32,
    },

    /// There are more items than 31 bits can count.
    #[error("{count} {what} are more than NVRTC can be given; give at most {}", i32::MAX)]
    TooMany {
        /// The name of the items.
        what: &'static str,
        /// The number.
        count: usize,
    },

    /// The source file for debuggers could not be written.
    #[error("the source could not be written to {}: {why}; set TMPDIR to a folder that can be, or do without", path.display())]
    SourceFile {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },

    /// A cache does not see files that the compiler reads or writes.
    #[error("{program} cannot be cached: {reason}")]
    NotCacheable {
        /// The program's name.
        program: String,
        /// The reason, and the remedy.
        reason: String,
    },
}

impl NvrtcError {
    /// The compiler's log about the program or the options, if it ran.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        match self {
            NvrtcError::Compilation { log, .. } | NvrtcError::OptionRefused { log, .. } => Some(log),
            _ => None,
        }
    }

    /// NVRTC's status, if it was called.
    #[must_use]
    pub fn code(&self) -> Option<NvrtcCode> {
        match self {
            NvrtcError::Compilation { .. } => Some(NvrtcCode::COMPILATION),
            NvrtcError::OptionRefused { .. } => Some(NvrtcCode::INVALID_OPTION),
            NvrtcError::Call { code, .. } => Some(*code),
            _ => None,
        }
    }
}

impl From<NvrtcError> for Error {
    fn from(error: NvrtcError) -> Error {
        Error::Nvrtc(Box::new(error))
    }
}

/// Prints `: detail`, or nothing for an empty detail.
pub(super) struct Detail<'a>(pub(super) &'a str);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.trim_end() {
            "" => Ok(()),
            detail => write!(formatter, ": {detail}"),
        }
    }
}

/// Things with commas between them.
pub(super) struct List<I>(pub(super) I);

impl<I: IntoIterator<Item: fmt::Display> + Clone> fmt::Display for List<I> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, item) in self.0.clone().into_iter().enumerate() {
            let comma = if position == 0 { "" } else { ", " };
            write!(formatter, "{comma}{item}")?;
        }
        Ok(())
    }
}
