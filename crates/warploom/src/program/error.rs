//! Errors of NVRTC.

use std::fmt;
use std::path::PathBuf;

use super::nvrtc::NVRTC_VARIABLE;
use super::{Architecture, CodeKind, NvrtcCode, NvrtcVersion, Target};
use crate::Error;
use crate::dynamic_library::{Attempt, Attempts};

/// Why NVRTC could not be had, or did not compile.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvrtcError {
    /// There is no NVRTC.
    #[error(
        "no NVRTC found, tried {}; install it (the Python wheel nvidia-cuda-nvrtc, by `pip install nvidia-cuda-nvrtc` in the \
         active environment, or the package cuda-nvrtc), or name its library in {NVRTC_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// What was tried, in order.
        tried: Vec<Attempt>,
    },

    /// There is a library, but it is not NVRTC.
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
        /// Which it is.
        have: NvrtcVersion,
    },

    /// The library is too old for something that is not needed otherwise.
    #[error("NVRTC {have} has no {function}; install {needs} or newer")]
    Lacks {
        /// What it lacks.
        function: &'static str,
        /// Which it is.
        have: NvrtcVersion,
        /// The oldest that has it.
        needs: NvrtcVersion,
    },

    /// The program is wrong.
    #[error("{program} does not compile:\n{}", log.trim_end())]
    Compilation {
        /// The program's name.
        program: String,
        /// What NVRTC has to say about it.
        log: String,
    },

    /// NVRTC does not take an option.
    #[error("NVRTC {version} refused an option for {program}: {}; the options were {}", log.trim_end(), options.join(" "))]
    OptionRefused {
        /// The program's name.
        program: String,
        /// Which NVRTC it is.
        version: NvrtcVersion,
        /// All options, in order.
        options: Vec<String>,
        /// What NVRTC has to say about it.
        log: String,
    },

    /// NVRTC was asked and refused, or failed.
    #[error("{function} failed: {code}{}", Detail(detail))]
    Call {
        /// The function that was called.
        function: &'static str,
        /// What it answered.
        code: NvrtcCode,
        /// The log, if a program was being compiled, or what it was about.
        detail: String,
    },

    /// It compiles for other architectures.
    #[error("NVRTC {version} does not compile for {architecture}; it does for {}", List(supported))]
    UnsupportedArchitecture {
        /// What was asked for.
        architecture: Architecture,
        /// Which NVRTC it is.
        version: NvrtcVersion,
        /// Those that it has, as in `sm_90`.
        supported: Vec<u32>,
    },

    /// A cubin is for one architecture.
    #[error("there is no cubin for {architecture}, which is virtual; compile for sm_{}, or to PTX", architecture.number())]
    VirtualArchitecture {
        /// What was asked for.
        architecture: Architecture,
    },

    /// The compiler was content and gave nothing.
    #[error("{program} compiled, but not to {target}; look for an option that asks for something else")]
    NoOutput {
        /// The program's name.
        program: String,
        /// What was asked for.
        target: Target,
    },

    /// Code that the driver does not take like that.
    #[error(
        "{name} is {kind}; {}",
        match kind {
            CodeKind::Cubin | CodeKind::Fatbin => "ObjectCode::load takes PTX, and ObjectCode::load_binary takes this, too",
            _ => "it has to be linked first, by a Linker",
        }
    )]
    NotLoadable {
        /// What people call it.
        name: String,
        /// What it is.
        kind: CodeKind,
    },

    /// Some things only libNVVM can be asked.
    #[error("NVRTC has no option {}; leave it out", names.join(", "))]
    UnsupportedOption {
        /// All options that it does not have, as libNVVM calls them.
        names: Vec<String>,
    },

    /// C has no zero in its texts.
    #[error("{what} has a zero at byte {position}; C's texts end there")]
    Zero {
        /// Which text it is.
        what: String,
        /// Where the zero is.
        position: usize,
    },

    /// A macro has a name like a variable.
    #[error("{name:?} is no name of a macro; use letters, digits and _, and no digit first")]
    MacroName {
        /// The name.
        name: String,
    },

    /// A thread has at most this many registers.
    #[error("a kernel cannot be held to {registers} registers; a thread has from 1 to 255")]
    Registers {
        /// How many were asked for.
        registers: u32,
    },

    /// C counts with 31 bits.
    #[error("{count} {what} are more than NVRTC can be given; give at most {}", i32::MAX)]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many.
        count: usize,
    },

    /// A source could not be put where debuggers find it.
    #[error("the source could not be written to {}: {why}; set TMPDIR to a folder that can be, or do without", path.display())]
    SourceFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: String,
    },

    /// What comes from files, or goes there, a cache cannot know.
    #[error("{program} cannot be kept in a cache: {reason}")]
    NotCacheable {
        /// The program's name.
        program: String,
        /// Why, and what to do.
        reason: String,
    },
}

impl NvrtcError {
    /// What the compiler has to say about the program or the options, if it was run.
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        match self {
            NvrtcError::Compilation { log, .. } | NvrtcError::OptionRefused { log, .. } => Some(log),
            _ => None,
        }
    }

    /// What NVRTC answered, if it was asked at all.
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

/// What there is to say besides, after a colon, if there is anything.
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
