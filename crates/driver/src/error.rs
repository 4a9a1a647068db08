//! Errors: a failed driver call, a missing function, or no driver.

use std::fmt;
use std::path::PathBuf;

use warploom_sys::Function;
use warploom_sys::types::CUresult;

use crate::dynamic_library::{Attempt, Attempts};
use crate::{DriverVersion, LIBRARY_VARIABLE, explanation};

/// A result whose failure is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of opening a driver or of calling it.
///
/// No driver is needed to print one: names and explanations are part of this crate.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The driver was called and answered with a failure.
    #[error(transparent)]
    Driver(#[from] DriverError),

    /// The driver does not have the function; it was not called.
    #[error("{}", Missing { function: *function, needs: *needs, have: *have })]
    Unsupported {
        /// The function asked for.
        function: Function,
        /// The CUDA version that introduced it.
        needs: DriverVersion,
        /// The version of the driver at hand.
        have: DriverVersion,
    },

    /// The call was made in a child made by `fork`, after the parent had initialized a driver. CUDA does not
    /// survive `fork`, so the driver refuses every call there.
    #[error(
        "{function} was called in process {child}, forked from process {parent}, which had initialized the driver: CUDA \
         cannot be used in such a child; fork before the first use of CUDA, or start the child by exec"
    )]
    ForkedProcess {
        /// The function that was called.
        function: Function,
        /// The process that initialized the driver.
        parent: u32,
        /// The process that called.
        child: u32,
    },

    /// No library could be opened as a driver.
    #[error(transparent)]
    DriverNotFound(Box<DriverNotFound>),

    /// There is a library, or at least a file, but it does not speak for a CUDA driver.
    #[error(transparent)]
    NotADriver(Box<NotADriver>),
}

impl Error {
    /// The driver's status, if the driver was called at all.
    #[must_use]
    pub fn code(&self) -> Option<CUresult> {
        match self {
            Error::Driver(error) => Some(error.code),
            Error::ForkedProcess { .. } => Some(CUresult::CUDA_ERROR_NOT_INITIALIZED),
            _ => None,
        }
    }

    /// As [`DriverError::is_context_fatal`]; `false` where the driver was not called.
    #[must_use]
    pub fn is_context_fatal(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_context_fatal())
    }

    /// As [`DriverError::is_out_of_memory`]; `false` where the driver was not called.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_out_of_memory())
    }

    /// As [`DriverError::is_not_ready`]; `false` where the driver was not called.
    #[must_use]
    pub fn is_not_ready(&self) -> bool {
        matches!(self, Error::Driver(error) if error.is_not_ready())
    }
}

/// A driver call that failed: the function, and its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DriverError {
    /// The function that was called.
    pub function: Function,
    /// The status; never success.
    pub code: CUresult,
}

impl DriverError {
    /// The code's name in `cuda.h`; `None` for one that a newer driver invented.
    #[must_use]
    pub const fn name(&self) -> Option<&'static str> {
        self.code.name()
    }

    /// The meaning of the code, and the remedy; `None` for one that a newer driver invented.
    #[must_use]
    pub const fn explanation(&self) -> Option<&'static str> {
        explanation(self.code)
    }

    /// `true` if the context is lost, and the process's use of CUDA with it: a fault of a kernel or of the
    /// hardware.
    ///
    /// Every later call answers with the same code; only a new process starts afresh.
    /// `CUDA_ERROR_EXTERNAL_DEVICE` is not counted, since it may also be the passing refusal of a single
    /// call.
    #[doc(alias = "sticky")]
    #[must_use]
    pub const fn is_context_fatal(&self) -> bool {
        matches!(
            self.code,
            CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
                | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
                | CUresult::CUDA_ERROR_CONTAINED
                | CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
                | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
                | CUresult::CUDA_ERROR_ASSERT
                | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
                | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
                | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
                | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
                | CUresult::CUDA_ERROR_INVALID_PC
                | CUresult::CUDA_ERROR_LAUNCH_FAILED
                | CUresult::CUDA_ERROR_TENSOR_MEMORY_LEAK
                | CUresult::CUDA_ERROR_MPS_CLIENT_TERMINATED
        )
    }

    /// `true` if there was too little memory.
    #[must_use]
    pub const fn is_out_of_memory(&self) -> bool {
        matches!(self.code, CUresult::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// `true` if the code only says that work asked about is not done yet; see [`ResultExt::ready`].
    #[must_use]
    pub const fn is_not_ready(&self) -> bool {
        matches!(self.code, CUresult::CUDA_ERROR_NOT_READY)
    }
}

impl fmt::Display for DriverError {
    /// `cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): …`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let explanation = self.explanation().unwrap_or("newer than the codes warploom knows");
        write!(formatter, "{} failed: {}: {explanation}", self.function, self.code)
    }
}

impl std::error::Error for DriverError {}

/// Prints [`Error::Unsupported`].
struct Missing {
    function: Function,
    needs: DriverVersion,
    have: DriverVersion,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Missing { function, needs, have } = self;
        if have < needs {
            write!(formatter, "{function} needs driver {needs}, this one is {have}")
        } else {
            write!(formatter, "{function} is missing from this driver, though {have} should have it")
        }
    }
}

/// No library could be opened as a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverNotFound {
    /// The attempts, in order.
    pub tried: Vec<Attempt>,
}

impl fmt::Display for DriverNotFound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "no CUDA driver found, tried {}; install the NVIDIA driver, name its library in {LIBRARY_VARIABLE}, or use a \
             simulated machine",
            Attempts(&self.tried)
        )
    }
}

impl std::error::Error for DriverNotFound {}

/// There is a library, or at least a file, but it does not speak for a CUDA driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotADriver {
    /// The file, or the description of the [`Source`](warploom_sys::Source).
    pub path: PathBuf,
    /// The function every driver has and this one does not.
    pub missing: Function,
    /// The loader's error, if it could not be opened.
    pub why: Option<String>,
}

impl fmt::Display for NotADriver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} is not a CUDA driver: it has no {}", self.path.display(), self.missing)?;
        self.why.iter().try_for_each(|why| write!(formatter, " ({why})"))
    }
}

impl std::error::Error for NotADriver {}

/// Extensions of a call's result.
pub trait ResultExt {
    /// `true` if the work that a query asked about is done.
    ///
    /// `cuEventQuery` and `cuStreamQuery` report unfinished work as the failure `CUDA_ERROR_NOT_READY`; this
    /// makes it `Ok(false)` and leaves real failures alone.
    ///
    /// # Errors
    ///
    /// Every failure but `CUDA_ERROR_NOT_READY`, unchanged.
    fn ready(self) -> Result<bool>;
}

impl ResultExt for Result<()> {
    #[inline]
    fn ready(self) -> Result<bool> {
        match self {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_ready() => Ok(false),
            Err(error) => Err(error),
        }
    }
}
