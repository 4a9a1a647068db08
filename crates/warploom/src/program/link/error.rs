//! Errors of linking.

use std::fmt;
use std::path::PathBuf;

use super::NVJITLINK_VARIABLE;
use crate::Error;
use crate::dynamic_library::{Attempt, Attempts};
use crate::program::{Architecture, CodeKind};

/// An error of loading nvJitLink or of linking.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// No nvJitLink library was found.
    #[error(
        "no nvJitLink found, tried {}; install it (the Python wheel nvidia-nvjitlink, by `pip install nvidia-nvjitlink` in the \
         active environment, or the package libnvjitlink), or name its library in {NVJITLINK_VARIABLE}",
        Attempts(tried)
    )]
    NotFound {
        /// The attempts, in order.
        tried: Vec<Attempt>,
    },

    /// The library lacks functions of nvJitLink.
    #[error("{} is not nvJitLink 12.3 or newer: it has no {missing}", path.display())]
    NotNvJitLink {
        /// The library.
        path: PathBuf,
        /// The first function that it lacks.
        missing: &'static str,
    },

    /// A call of nvJitLink failed.
    #[error("{function} failed: {code}{}{}", if log.is_empty() { "" } else { ": " }, log.trim_end())]
    Call {
        /// The function that was called.
        function: &'static str,
        /// The status.
        code: LinkCode,
        /// nvJitLink's log.
        log: String,
    },

    /// A driver call failed.
    #[error("{error}{}{}", if log.is_empty() { "" } else { ": " }, log.trim_end())]
    Driver {
        /// The call and its status.
        #[source]
        error: warploom_driver::Error,
        /// The log of the driver's linker.
        log: String,
    },

    /// Drivers do not link this kind of code.
    #[error("{name} is {kind}, which drivers do not link; link it by nvJitLink, or compile it to PTX or a cubin")]
    NotForDrivers {
        /// Its name.
        name: String,
        /// Its kind.
        kind: CodeKind,
    },

    /// Options that only nvJitLink has.
    #[error("drivers have no option {}; leave it out, or link by nvJitLink", names.join(", "))]
    UnsupportedOption {
        /// All options that they do not have, as nvJitLink calls them.
        names: Vec<String>,
    },

    /// The architecture is virtual.
    #[error("nothing is linked for {architecture}, which is virtual; link for sm_{}", architecture.number())]
    VirtualArchitecture {
        /// The requested value.
        architecture: Architecture,
    },

    /// The register limit is out of range.
    #[error("a kernel cannot be held to {registers} registers; a thread has from 1 to 255")]
    Registers {
        /// The number asked for.
        registers: u32,
    },

    /// There is no code to link.
    #[error("there is nothing to link; add at least 1 piece of code")]
    NoInputs,

    /// An input is empty.
    #[error("{name} has no bytes; leave it out")]
    EmptyInput {
        /// Its name.
        name: String,
    },

    /// Linking does not give this kind of code.
    #[error("linking does not give {kind}{}", if *kind == CodeKind::Ptx { " unless all inputs are LTO-IR" } else { "; ask for a cubin" })]
    NotAnOutput {
        /// The requested value.
        kind: CodeKind,
    },

    /// A text has a zero byte.
    #[error("{text:?} has a zero in it; C strings end there")]
    Zero {
        /// The text.
        text: String,
    },
}

impl LinkError {
    /// The log of the linker, nvJitLink's or the driver's, if it was called; empty if it wrote none.
    ///
    /// ```
    /// use warploom::program::{Linker, ObjectCode};
    /// use warploom::{Driver, Error};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let context = Driver::open(&warploom_sim::Machine::preset("h200")?)?.device(0)?.context()?;
    /// let ptx = ".version 8.3\n.target sm_75\n.address_size 64\n\
    ///     .extern .func f();\n.visible .entry k() { call f; ret; }";
    /// let code = ObjectCode::from_ptx("k", ptx)?;
    /// let linker = Linker::new("k", context.device().compute_capability()?).input(code);
    /// let Err(Error::Link(error)) = linker.link_by_driver(&context) else { panic!("f is missing") };
    /// assert!(error.log().is_some_and(|log| log.contains("Undefined reference to 'f'")));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn log(&self) -> Option<&str> {
        match self {
            LinkError::Call { log, .. } | LinkError::Driver { log, .. } => Some(log),
            _ => None,
        }
    }

    /// nvJitLink's status, if it was called.
    #[must_use]
    pub fn code(&self) -> Option<LinkCode> {
        if let LinkError::Call { code, .. } = self { Some(*code) } else { None }
    }
}

impl From<LinkError> for Error {
    fn from(error: LinkError) -> Error {
        Error::Link(Box::new(error))
    }
}

/// nvJitLink's error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkCode(pub i32);

/// The names in `nvJitLink.h`, from 0 on.
const NAMES: &[&str] = &[
    "NVJITLINK_SUCCESS",
    "NVJITLINK_ERROR_UNRECOGNIZED_OPTION",
    "NVJITLINK_ERROR_MISSING_ARCH",
    "NVJITLINK_ERROR_INVALID_INPUT",
    "NVJITLINK_ERROR_PTX_COMPILE",
    "NVJITLINK_ERROR_NVVM_COMPILE",
    "NVJITLINK_ERROR_INTERNAL",
    "NVJITLINK_ERROR_THREADPOOL",
    "NVJITLINK_ERROR_UNRECOGNIZED_INPUT",
    "NVJITLINK_ERROR_FINALIZE",
    "NVJITLINK_ERROR_NULL_INPUT",
    "NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS",
    "NVJITLINK_ERROR_INCORRECT_INPUT_TYPE",
    "NVJITLINK_ERROR_ARCH_MISMATCH",
    "NVJITLINK_ERROR_OUTDATED_LIBRARY",
    "NVJITLINK_ERROR_MISSING_FATBIN",
    "NVJITLINK_ERROR_UNRECOGNIZED_ARCH",
    "NVJITLINK_ERROR_UNSUPPORTED_ARCH",
    "NVJITLINK_ERROR_LTO_NOT_ENABLED",
];

impl LinkCode {
    /// Done.
    pub const SUCCESS: LinkCode = LinkCode(0);
    /// An option is invalid.
    pub const UNRECOGNIZED_OPTION: LinkCode = LinkCode(1);
    /// An internal error of nvJitLink, or an undefined symbol.
    pub const INTERNAL: LinkCode = LinkCode(6);
    /// The code is not of the kind that was said.
    pub const INCORRECT_INPUT_TYPE: LinkCode = LinkCode(12);

    /// Its name in `nvJitLink.h`; `None` for one that a newer nvJitLink invented.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        usize::try_from(self.0).ok().and_then(|index| NAMES.get(index)).copied()
    }
}

impl fmt::Display for LinkCode {
    /// `NVJITLINK_ERROR_INTERNAL (6)`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.name().unwrap_or("a code newer than those known here"), self.0)
    }
}
