//! The `Driver`: a table of functions, and the library or machine that keeps them callable.
#![expect(unsafe_code, reason = "loads a library the caller vouches for, and calls cuInit")]

use std::any::Any;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use warploom_sys::{DriverTable, Function, Source};

use crate::observe::Observers;
use crate::resolve::Origin;
use crate::{DriverVersion, Error, Result, load, process};

/// A CUDA driver, real or simulated.
///
/// A clone is another handle to the same driver and costs a reference count. The functions stay callable
/// while any handle exists.
#[derive(Clone)]
pub struct Driver {
    inner: Arc<Inner>,
}

/// The state that the handles of one driver share.
pub(crate) struct Inner {
    pub(crate) table: DriverTable,
    pub(crate) observers: Observers,
    id: DriverId,
    version: DriverVersion,
    description: Arc<str>,
    is_library: bool,
    extensions: Mutex<Vec<Extension>>,
    _keep_alive: Arc<dyn Any + Send + Sync>,
}

/// A value that a layer above keeps.
type Extension = Arc<dyn Any + Send + Sync>;

/// The extension of a type.
fn find<T: Any + Send + Sync>(extensions: &[Extension]) -> Option<Arc<T>> {
    extensions.iter().find_map(|extension| Arc::clone(extension).downcast().ok())
}

/// The identity of a driver in this process; drivers opened later have greater ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverId(u64);

impl DriverId {
    fn next() -> DriverId {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        DriverId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Driver {
    /// The system's driver.
    ///
    /// Looks where the platform keeps it: on Linux for `libcuda.so.1` by way of the dynamic loader, then for
    /// the library that WSL mounts, then in folders that distributions and containers use; on Windows for
    /// `nvcuda.dll`. If the environment variable `WARPLOOM_LIBCUDA` names a library, that one is taken and
    /// nothing else is looked for; it is trusted like the loader's own variables.
    ///
    /// The driver is not initialized by this; see [`Driver::initialize`]. A library once taken stays loaded
    /// until the process ends, since a driver has threads of its own. A failure is not remembered: the next
    /// call looks again.
    ///
    /// # Errors
    ///
    /// [`Error::DriverNotFound`] with everything that was tried. For a library named in the environment, the
    /// errors of [`Driver::load_from`].
    pub fn load() -> Result<Driver> {
        load::system()
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
    /// [`Error::DriverNotFound`] if there is no such library, [`Error::NotADriver`] if the file is no library
    /// or lacks the functions every driver has, and [`Error::Driver`] if it cannot tell its version.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<Driver> {
        // SAFETY: the caller vouches for the library.
        unsafe { load::library(path.as_ref()) }
    }

    /// The driver behind `source`: a simulated machine, or any other resolver.
    ///
    /// # Errors
    ///
    /// [`Error::NotADriver`] if the source has no `cuDriverGetVersion`, [`Error::Driver`] if that call fails.
    pub fn open(source: impl Into<Source>) -> Result<Driver> {
        Driver::from_origin(Origin::from_source(source.into()))
    }

    pub(crate) fn from_origin(origin: Origin) -> Result<Driver> {
        let version = origin.version()?;
        let table = origin.table(version);
        let Origin { description, is_library, keep_alive, .. } = origin;
        Ok(Driver {
            inner: Arc::new(Inner {
                table,
                observers: Observers::default(),
                id: DriverId::next(),
                version,
                description,
                is_library,
                extensions: Mutex::default(),
                _keep_alive: keep_alive,
            }),
        })
    }

    /// Makes the driver ready for use; repeating it does nothing.
    ///
    /// One call of `cuInit`. Without it most functions answer `CUDA_ERROR_NOT_INITIALIZED`. A driver that was
    /// initialized cannot be used in a child made by `fork`: calls there fail with
    /// [`Error::ForkedProcess`].
    ///
    /// # Errors
    ///
    /// The error of `cuInit`; `CUDA_ERROR_NO_DEVICE` for a driver without a device, and
    /// [`Error::ForkedProcess`] in such a child.
    #[doc(alias = "cuInit")]
    pub fn initialize(&self) -> Result<()> {
        // SAFETY: `cuInit` asks nothing of its caller, and 0 is the one flag there is.
        unsafe { self.cuInit(0) }?;
        process::initialized();
        Ok(())
    }

    /// The CUDA version the driver implements.
    #[must_use]
    pub fn version(&self) -> DriverVersion {
        self.inner.version
    }

    /// A description for people: the library it came from, or the name of a simulated machine.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.inner.description
    }

    /// `true` if it came from a library of this system ([`Driver::load`], [`Driver::load_from`]), which other
    /// libraries in the process use, too; not so a simulated machine, which only its own [`Driver`] reaches.
    #[must_use]
    pub fn is_library(&self) -> bool {
        self.inner.is_library
    }

    /// The functions themselves; a call through the table is neither checked nor observed.
    #[must_use]
    #[inline]
    pub fn table(&self) -> &DriverTable {
        &self.inner.table
    }

    /// `true` if the two are handles to the same driver.
    #[must_use]
    #[inline]
    pub fn ptr_eq(&self, other: &Driver) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The driver's identity; equal for the handles of one driver and for no others.
    #[must_use]
    pub fn id(&self) -> DriverId {
        self.inner.id
    }

    /// A value that a layer above keeps once per driver, by its type: made on first use, shared by all
    /// handles, gone with the last.
    ///
    /// For facts that hold as long as the driver does, such as its list of devices. A value that holds the
    /// driver itself keeps both from ever going.
    ///
    /// ```
    /// # use std::sync::OnceLock;
    /// # use warploom_driver::{Driver, Result};
    /// #[derive(Default)]
    /// struct Count(OnceLock<i32>);
    ///
    /// fn count(driver: &Driver, ask: impl FnOnce() -> i32) -> i32 {
    ///     *driver.extension::<Count>().0.get_or_init(ask)
    /// }
    /// ```
    #[must_use]
    pub fn extension<T: Any + Send + Sync + Default>(&self) -> Arc<T> {
        let lock = || self.inner.extensions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = find(&lock()) {
            return known;
        }
        // Made without the lock, since `T` may ask for extensions, too; of several that threads make at once,
        // the first stays, and the others are dropped without the lock.
        let made = Arc::<T>::default();
        let mut extensions = lock();
        if let Some(known) = find(&extensions) {
            drop(extensions);
            return known;
        }
        extensions.push(Arc::clone(&made) as Extension);
        made
    }

    #[inline]
    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    #[cold]
    pub(crate) fn unsupported(&self, function: Function) -> Error {
        let needs = DriverVersion::from_raw(function.version());
        Error::Unsupported { function, needs, have: self.version() }
    }
}

impl fmt::Debug for Driver {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Driver")
            .field("description", &self.description())
            .field("version", &format_args!("{}", self.version()))
            .field("observed", &self.inner.observers.any())
            .finish_non_exhaustive()
    }
}
