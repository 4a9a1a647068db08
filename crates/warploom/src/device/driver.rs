//! The driver: a library of the system, or a simulated machine.
#![expect(unsafe_code, reason = "loads a library the caller vouches for")]

use std::fmt;
use std::ops::Deref;
use std::path::Path;

use warploom_driver::sys::Source;

use crate::Result;

/// A CUDA driver, real or simulated; everything starts here.
///
/// A clone is another handle to the same driver and costs a reference count. Everything made from it holds
/// it. Several drivers may live in one process; none is global.
///
/// A driver that was used cannot be used in a child made by `fork`: calls there fail with
/// [`ForkedProcess`](warploom_driver::Error::ForkedProcess).
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?; // or: Driver::load()?
/// println!("CUDA {} with {} devices", driver.version(), driver.devices()?.len());
/// let stream = driver.device(1)?.context()?.stream()?;
/// assert_eq!(stream.context().device().ordinal(), 1);
/// # Ok(())
/// # }
/// ```
///
/// It is a [`warploom_driver::Driver`], whose methods follow the ones here: version and identity, observation
/// of calls ([`count_calls`](warploom_driver::Driver::count_calls),
/// [`set_tracing`](warploom_driver::Driver::set_tracing)), and each C function under its own name, with its
/// status as a `Result`. Those are `unsafe`: their callers keep the rules of `cuda.h`.
#[derive(Clone)]
#[repr(transparent)]
pub struct Driver {
    calls: warploom_driver::Driver,
}

impl Driver {
    /// The system's driver.
    ///
    /// Looks where the platform keeps it: on Linux for `libcuda.so.1` by way of the dynamic loader, then for
    /// the library that WSL mounts, then in folders that distributions and containers use; on Windows for
    /// `nvcuda.dll`. If the environment variable `WARPLOOM_LIBCUDA` names a library, that one is taken and
    /// nothing else is looked for; it is trusted like the loader's own variables.
    ///
    /// The driver is not initialized by this, but by the first call that needs it. A library once taken stays
    /// loaded until the process ends, since a driver has threads of its own. A failure is not remembered: the
    /// next call looks again.
    ///
    /// # Errors
    ///
    /// [`DriverNotFound`](warploom_driver::Error::DriverNotFound) with everything that was tried. For a
    /// library named in the environment, the errors of [`Driver::load_from`].
    pub fn load() -> Result<Driver> {
        Ok(warploom_driver::Driver::load()?.into())
    }

    /// The driver in the library `path`.
    ///
    /// A bare file name is left to the dynamic loader to find. Otherwise as [`Driver::load`].
    ///
    /// # Safety
    ///
    /// A library runs code when it is loaded, and its functions are trusted to be those of a driver. If
    /// `path` is a library, loading it must do no harm, and if it has a `cuGetProcAddress_v2` or
    /// `cuGetProcAddress`, it must be a CUDA driver, as [`Source::new`] requires.
    ///
    /// # Errors
    ///
    /// [`DriverNotFound`](warploom_driver::Error::DriverNotFound) if there is no such library,
    /// [`NotADriver`](warploom_driver::Error::NotADriver) if the file is no library or lacks the functions
    /// every driver has, and the driver's error if it cannot tell its version.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<Driver> {
        // SAFETY: the caller vouches for the library.
        Ok(unsafe { warploom_driver::Driver::load_from(path) }?.into())
    }

    /// The driver behind `source`: a simulated machine, or any other resolver.
    ///
    /// # Errors
    ///
    /// [`NotADriver`](warploom_driver::Error::NotADriver) if the source has no `cuDriverGetVersion`, and the
    /// driver's error if that call fails.
    pub fn open(source: impl Into<Source>) -> Result<Driver> {
        Ok(warploom_driver::Driver::open(source)?.into())
    }
}

/// The checked calls, one method per C function.
impl Deref for Driver {
    type Target = warploom_driver::Driver;

    #[inline]
    fn deref(&self) -> &warploom_driver::Driver {
        &self.calls
    }
}

/// The same driver, found by code that uses the layer below.
impl From<warploom_driver::Driver> for Driver {
    fn from(calls: warploom_driver::Driver) -> Driver {
        Driver { calls }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.calls.fmt(formatter)
    }
}

/// A handle costs what one of the layer below costs.
const _: () = assert!(size_of::<Driver>() == size_of::<warploom_driver::Driver>());
