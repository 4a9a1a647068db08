//! The crate's error: one variant for each family, each with an enum of its own.

use warploom_driver::sys::types::CUresult;

use crate::{
    CaptureError, ContextError, CopyError, DeviceError, EventError, GraphError, LaunchError, LibraryError,
    LocationError, ManagedError, MemoryError, PeerError, StreamError, VirtualMemoryError,
};

/// A result whose failure is an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the driver, or of a check before the driver is called. A call that fails changes nothing.
///
/// Each variant is a family with a small enum of its own, so that a program can treat a family alike, or one
/// case of it:
///
/// ```
/// use warploom::{DevicePool, Driver, Error, MemoryError};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let buffer = DevicePool::new(&context)?.upload(&[1, 2, 3], &context.stream()?)?;
/// match buffer.slice(2..5) {
///     Err(Error::Memory(MemoryError::OutOfRange { end, len, .. })) => assert_eq!((end, len), (5, 3)),
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A driver call failed, or the driver lacks the function.
    #[error(transparent)]
    Driver(warploom_driver::Error),

    /// A device does not exist, or cannot take part.
    #[error(transparent)]
    Device(DeviceError),

    /// A context is stale, or not the one that is needed.
    #[error(transparent)]
    Context(ContextError),

    /// A stream cannot be made or used like that, or a host function failed.
    #[error(transparent)]
    Stream(StreamError),

    /// An event cannot be recorded there, or has no elapsed time.
    #[error(transparent)]
    Event(EventError),

    /// A capture does not allow the call.
    #[error(transparent)]
    Capture(CaptureError),

    /// A graph cannot be built, instantiated or updated like that.
    #[error(transparent)]
    Graph(GraphError),

    /// Memory cannot be allocated, or not be used like that.
    #[error(transparent)]
    Memory(MemoryError),

    /// A copy was refused.
    #[error(transparent)]
    Copy(CopyError),

    /// Managed memory is not there, or cannot be used like that.
    #[error(transparent)]
    Managed(ManagedError),

    /// Virtual memory cannot be reserved, mapped or grown like that.
    #[error(transparent)]
    VirtualMemory(VirtualMemoryError),

    /// A location does not exist, or the driver cannot be told.
    #[error(transparent)]
    Location(LocationError),

    /// A device has no access to memory of another.
    #[error(transparent)]
    Peer(PeerError),

    /// Code cannot be loaded, or has no such kernel or variable.
    #[error(transparent)]
    Library(LibraryError),

    /// A kernel cannot be launched like that.
    #[error(transparent)]
    Launch(LaunchError),

    /// A value cannot be shared with another process, or what came from one is not valid here.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Ipc(crate::ipc::IpcError),

    /// A text cannot be parsed.
    #[error(transparent)]
    Malformed(Malformed),

    /// NCCL could not be loaded, or failed.
    #[cfg(feature = "nccl")]
    #[error(transparent)]
    Nccl(Box<crate::nccl::NcclError>),

    /// NVRTC could not be loaded, or did not compile.
    #[cfg(feature = "nvrtc")]
    #[error(transparent)]
    Nvrtc(Box<crate::program::NvrtcError>),

    /// libNVVM could not be loaded, or did not compile.
    #[cfg(feature = "nvrtc")]
    #[error(transparent)]
    Nvvm(Box<crate::program::NvvmError>),

    /// nvJitLink could not be loaded, or did not link.
    #[cfg(feature = "nvrtc")]
    #[error(transparent)]
    Link(Box<crate::program::LinkError>),
}

/// Conversions that are called rarely, so that the compiler lays out what leads to a failure behind what runs each
/// time.
macro_rules! from {
    ($($(#[$when:meta])* $variant:ident $error:ty,)*) => {$(
        $(#[$when])*
        impl From<$error> for Error {
            #[cold]
            fn from(error: $error) -> Error {
                Error::$variant(error)
            }
        }
    )*};
}
from! {
    Driver warploom_driver::Error,
    Device DeviceError,
    Context ContextError,
    Stream StreamError,
    Event EventError,
    Capture CaptureError,
    Graph GraphError,
    Memory MemoryError,
    Copy CopyError,
    Managed ManagedError,
    VirtualMemory VirtualMemoryError,
    Location LocationError,
    Peer PeerError,
    Library LibraryError,
    Launch LaunchError,
    Malformed Malformed,
    #[cfg(target_os = "linux")]
    Ipc crate::ipc::IpcError,
}

/// A text that could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}; expected {expected}")]
pub struct Malformed {
    what: &'static str,
    text: Box<str>,
    expected: &'static str,
}

impl Malformed {
    pub(crate) fn new(what: &'static str, text: &str, expected: &'static str) -> Malformed {
        Malformed { what, text: text.into(), expected }
    }
}

impl Error {
    /// The driver's status; `None` if the driver was not called.
    #[must_use]
    pub fn code(&self) -> Option<CUresult> {
        match self {
            Error::Event(EventError::NotComplete) => Some(CUresult::CUDA_ERROR_NOT_READY),
            Error::Location(LocationError::NumaRefused { .. })
            | Error::Context(ContextError::LimitRefused { .. })
            | Error::Launch(LaunchError::AttributeRefused { .. })
            | Error::VirtualMemory(VirtualMemoryError::AlignmentRefused { .. })
            | Error::Memory(MemoryError::NoAccess { .. }) => Some(CUresult::CUDA_ERROR_INVALID_VALUE),
            Error::Peer(PeerError::TooMany { .. }) => Some(CUresult::CUDA_ERROR_TOO_MANY_PEERS),
            Error::Peer(PeerError::MeshIncomplete { report }) => report.failures().find_map(|(_, error)| error.code()),
            _ => self.driver_error().and_then(warploom_driver::Error::code),
        }
    }

    /// `true` if there was too little memory, or too little left of a limit.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        match self.innermost() {
            Error::Memory(MemoryError::OverLimit { .. }) => true,
            _ => self.driver_error().is_some_and(warploom_driver::Error::is_out_of_memory),
        }
    }

    /// `true` if the context is lost, and the process's use of CUDA with it.
    #[must_use]
    pub fn is_context_fatal(&self) -> bool {
        self.driver_error().is_some_and(warploom_driver::Error::is_context_fatal)
    }

    /// The error of an item of a batch, or of one of several changes; otherwise the error itself.
    fn innermost(&self) -> &Error {
        match self {
            Error::Managed(ManagedError::PartlyAdvised { error, .. } | ManagedError::AdviceFailed { error, .. })
            | Error::Memory(MemoryError::InBatch { error, .. }) => error.innermost(),
            _ => self,
        }
    }

    /// The failed driver call, if there is one.
    fn driver_error(&self) -> Option<&warploom_driver::Error> {
        match self.innermost() {
            Error::Driver(error)
            | Error::Library(LibraryError::NotLoaded { error, .. })
            | Error::Graph(GraphError::NotWritten { error, .. }) => Some(error),
            _ => None,
        }
    }
}
