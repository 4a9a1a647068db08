//! Kernels: functions of a library that can be launched.
#![expect(unsafe_code, reason = "keeps a raw kernel, and asks the driver about it")]

use std::any::Any;
use std::ffi::CStr;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::{null, null_mut};
use std::sync::{Arc, OnceLock, Weak};

use warploom_driver::sys::types::{CUfunction, CUkern_st, CUkernel};

use super::limits::KnownLimits;
use super::{Library, ParameterInfo};
use crate::device::same_driver;
use crate::handle::Handle;
use crate::{CachePreference, Context, Device, Driver, LibraryError, Result};

/// A function that can be launched, in any context of its driver.
///
/// It holds its library. A clone is another handle to the same kernel; two are equal if they are the same
/// kernel.
#[derive(Clone)]
pub struct Kernel {
    shared: Arc<Shared>,
}

pub(super) struct Shared {
    raw: Handle<CUkern_st>,
    name: Box<str>,
    driver: Driver,
    origin: Origin,
    pub(super) parameters: OnceLock<Box<[ParameterInfo]>>,
    pub(super) limits: KnownLimits,
}

/// The owner that keeps the code loaded.
enum Origin {
    Library(Library),
    Foreign { _owner: Box<dyn Any + Send + Sync> },
}

impl Shared {
    pub(super) fn raw(&self) -> CUkernel {
        self.raw.raw()
    }
}

impl Kernel {
    /// # Safety
    ///
    /// It is a kernel of this library.
    pub(super) unsafe fn of_library(raw: CUkernel, name: &str, library: &Library) -> Kernel {
        // SAFETY: the value holds the library, which has the kernel while it is loaded.
        unsafe { Kernel::new(raw, name, library.driver(), Origin::Library(library.clone())) }
    }

    pub(super) fn over(shared: Arc<Shared>) -> Kernel {
        Kernel { shared }
    }

    pub(super) fn downgrade(&self) -> Weak<Shared> {
        Arc::downgrade(&self.shared)
    }

    /// # Safety
    ///
    /// It is a kernel of this driver, whose library stays loaded while `origin` lives.
    unsafe fn new(raw: CUkernel, name: &str, driver: &Driver, origin: Origin) -> Kernel {
        let (parameters, limits) = (OnceLock::new(), KnownLimits::default());
        let (raw, name, driver) = (Handle::new(raw), name.into(), driver.clone());
        Kernel { shared: Arc::new(Shared { raw, name, driver, origin, parameters, limits }) }
    }

    /// A kernel of a library that other code loaded, whose owner is kept for as long as the kernel.
    ///
    /// # Errors
    ///
    /// The driver's error; needs driver 12.3.
    ///
    /// # Safety
    ///
    /// It is a kernel of this driver, whose library stays loaded while `owner` lives and its launches run.
    pub unsafe fn from_raw(driver: &Driver, raw: CUkernel, owner: impl Any + Send + Sync) -> Result<Kernel> {
        // SAFETY: the caller vouches for the kernel.
        let name = unsafe { name_of(driver, raw) }?;
        // SAFETY: as above; the owner goes with the value.
        Ok(unsafe { Kernel::new(raw, &name, driver, Origin::Foreign { _owner: Box::new(owner) }) })
    }

    pub(super) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Its name, as the driver knows it: that of C++ is mangled.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The driver that it was loaded by.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.shared.driver
    }

    /// The library that it is in, unless other code loaded it.
    #[must_use]
    pub fn library(&self) -> Option<&Library> {
        match &self.shared.origin {
            Origin::Library(library) => Some(library),
            Origin::Foreign { .. } => None,
        }
    }

    /// The raw handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUkernel {
        self.shared.raw()
    }

    /// The kernel as functions know it that also take those of modules: a driver tells the two apart.
    #[inline]
    pub(super) fn as_function(&self) -> CUfunction {
        self.as_raw().cast()
    }

    /// The kernel in a context, as the driver's older functions know it, loaded there if it was not; valid
    /// while this value and the context are held.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a context of another driver,
    /// and the driver's error.
    #[doc(alias = "cuKernelGetFunction")]
    pub fn function(&self, context: &Context) -> Result<CUfunction> {
        same_driver(self.driver(), context.driver())?;
        let _current = context.current()?;
        self.note(context);
        let mut function = null_mut();
        // SAFETY: `function` is writable, the kernel is held, and `_current` keeps the context current.
        unsafe { self.driver().cuKernelGetFunction(&raw mut function, self.as_raw()) }?;
        Ok(function)
    }

    /// Sets its cache preference.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a device of another driver,
    /// and the driver's error.
    #[doc(alias = "cuKernelSetCacheConfig")]
    pub fn set_cache_preference(&self, preference: CachePreference, device: &Device) -> Result<()> {
        same_driver(self.driver(), device.driver())?;
        // SAFETY: the kernel is held; a preference that the driver does not know is refused.
        Ok(unsafe { self.driver().cuKernelSetCacheConfig(self.as_raw(), preference.to_raw(), device.as_raw()) }?)
    }

    /// Tells this value and its clones from others, while one of them is held.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Takes note of a context before the kernel is used there.
    #[inline]
    pub(super) fn note(&self, context: &Context) {
        if let Origin::Library(library) = &self.shared.origin {
            library.note(context);
        }
    }
}

impl Library {
    /// The kernel in it that a handle of the driver's is, as other libraries hand them out: the same as by
    /// its name.
    ///
    /// ```
    /// # use warploom::Driver;
    /// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// let library = driver.device(0)?.context()?.load(SCALE)?;
    /// let kernel = library.kernel("scale")?;
    /// assert_eq!(library.kernel_from_raw(kernel.as_raw())?, kernel);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`LibraryError::NoSuchKernel`] if it is a kernel of another library, or none, and the driver's error;
    /// needs driver 12.4.
    pub fn kernel_from_raw(&self, raw: CUkernel) -> Result<Kernel> {
        let Some(found) = self.enumerate()?.into_iter().find(|kernel| *kernel == raw) else {
            let available = self.kernel_names()?.into();
            return Err(LibraryError::NoSuchKernel { name: format!("{raw:?}").into(), available }.into());
        };
        // SAFETY: the library has this kernel.
        unsafe { self.known(found, None) }
    }
}

/// The name of a kernel.
///
/// # Safety
///
/// It is a kernel of this driver, whose library is loaded.
pub(super) unsafe fn name_of(driver: &Driver, raw: CUkernel) -> Result<String> {
    let mut name = null();
    // SAFETY: `name` is writable, and the caller vouches for the kernel.
    unsafe { driver.cuKernelGetName(&raw mut name, raw) }?;
    if name.is_null() {
        return Ok(String::new());
    }
    // SAFETY: the driver has a terminated name, which stays at least while the kernel's library is loaded.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

impl PartialEq for Kernel {
    /// `true` if the two are the same kernel.
    fn eq(&self, other: &Self) -> bool {
        self.as_raw() == other.as_raw() && self.driver().ptr_eq(other.driver())
    }
}

impl Eq for Kernel {}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_raw().hash(state);
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Kernel").field("name", &self.name()).field("raw", &self.as_raw()).finish()
    }
}
