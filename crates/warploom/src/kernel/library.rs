//! Libraries: loaded code and its kernels.
#![expect(unsafe_code, reason = "owns a raw library")]

use std::collections::BTreeMap;
use std::ffi::{CString, c_uint};
use std::fmt;
use std::fs;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use warploom_driver::sys::types::{CUkernel, CUlib_st, CUlibrary, CUmodule, CUresult};

use super::function::{Kernel, Shared as KernelShared, name_of};
use super::image::Image;
use super::jit::{JitOptions, Logs, ROOM, RawOptions};
use super::used_contexts::UsedContexts;
use crate::capture::{self, RelaxedMode};
use crate::device::{initialize, same_driver};
use crate::diagnostics::{Subject, report};
use crate::handle::Handle;
use crate::leaks::{Kind, Mark, mark_on};
use crate::{Context, Driver, Error, LibraryError, Result, callback, reclaimer};

/// Code that was loaded, for every context of a driver: kernels and variables.
///
/// A context gets it when it first uses some of it; [`Library::load_in`] does so at once. A clone is another
/// handle to the same library. Kernels hold it. When the last of all these goes, the contexts that it was
/// used in are waited for, and it is unloaded. It holds these contexts.
///
/// ```
/// use warploom::Driver;
///
/// # const SCALE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/scale.ptx"));
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let library = context.load(SCALE)?; // PTX, as text
/// assert_eq!(library.kernel("scale")?.parameters()?.len(), 3);
/// let missing = library.kernel("scales").map(drop).map_err(|error| error.to_string());
/// assert_eq!(missing, Err("there is no kernel \"scales\"; there are scale".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Library {
    shared: Arc<Shared>,
}

struct Shared {
    raw: Handle<CUlib_st>,
    driver: Driver,
    used_contexts: UsedContexts,
    kernels: Mutex<Vec<Weak<KernelShared>>>,
    /// Lowered names, by the names in the source.
    names: Arc<BTreeMap<String, String>>,
    _mark: Mark,
    /// The driver may write them for as long as the library is loaded.
    logs: Option<Logs>,
}

impl Library {
    /// Loads PTX, which the driver compiles for its devices.
    ///
    /// Drivers load text that they cannot compile, too: then [`Library::kernel`] and [`Library::load_in`]
    /// fail, with the log of the compiler.
    ///
    /// # Errors
    ///
    /// [`LibraryError::NotLoaded`] with the log of the driver's compiler, [`LibraryError::NulInText`], and
    /// the driver's error.
    #[doc(alias = "cuLibraryLoadData")]
    pub fn from_ptx(driver: &Driver, ptx: &str) -> Result<Library> {
        Library::from_ptx_with(driver, ptx, JitOptions::new())
    }

    /// As [`Library::from_ptx`], compiled in a way of your own.
    ///
    /// # Errors
    ///
    /// As [`Library::from_ptx`], and [`LibraryError::OptimizationLevel`].
    pub fn from_ptx_with(driver: &Driver, ptx: &str, options: JitOptions) -> Result<Library> {
        Library::from_text(driver, ptx.as_bytes(), options)
    }

    pub(crate) fn from_text(driver: &Driver, ptx: &[u8], options: JitOptions) -> Result<Library> {
        Library::load(driver, &Image::text(ptx)?, &options)
    }

    /// The library with its lowered names.
    #[cfg(feature = "nvrtc")]
    pub(crate) fn named(mut self, names: Arc<BTreeMap<String, String>>) -> Library {
        if let Some(shared) = Arc::get_mut(&mut self.shared) {
            shared.names = names;
        }
        self
    }

    /// The lowered name.
    pub(super) fn lowered<'a>(&'a self, name: &'a str) -> &'a str {
        self.shared.names.get(name).map_or(name, String::as_str)
    }

    /// Loads a cubin, a fatbin, or PTX.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Truncated`] for a binary that is shorter than it says, and as [`Library::from_ptx`].
    ///
    /// # Safety
    ///
    /// The binary was made by NVIDIA's tools: the driver does not check it.
    #[doc(alias = "cuLibraryLoadData")]
    pub unsafe fn from_bytes(driver: &Driver, bytes: &[u8]) -> Result<Library> {
        Library::load(driver, &Image::any(bytes)?, &JitOptions::new())
    }

    /// As [`Library::from_bytes`], compiled in a way of your own.
    ///
    /// # Errors
    ///
    /// As [`Library::from_bytes`], and [`LibraryError::OptimizationLevel`].
    ///
    /// # Safety
    ///
    /// As [`Library::from_bytes`].
    pub unsafe fn from_bytes_with(driver: &Driver, bytes: &[u8], options: JitOptions) -> Result<Library> {
        Library::load(driver, &Image::any(bytes)?, &options)
    }

    /// Loads a cubin, a fatbin, or PTX from a file.
    ///
    /// # Errors
    ///
    /// [`LibraryError::Unreadable`] if there is no such file, and as [`Library::from_bytes`].
    ///
    /// # Safety
    ///
    /// As [`Library::from_bytes`].
    pub unsafe fn from_file(driver: &Driver, path: impl AsRef<Path>) -> Result<Library> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| {
            Error::Library(LibraryError::Unreadable { path: path.to_owned(), why: error.to_string().into_boxed_str() })
        })?;
        // SAFETY: the caller vouches for it.
        unsafe { Library::from_bytes(driver, &bytes) }
    }

    fn load(driver: &Driver, image: &Image<'_>, options: &JitOptions) -> Result<Library> {
        options.check()?;
        initialize(driver)?;
        let logs = Logs::new(ROOM);
        let RawOptions { mut names, mut values } = RawOptions::new(options, &logs);
        let (mut raw, count) = (null_mut(), names.len() as c_uint);
        let (names, values) = (names.as_mut_ptr(), values.as_mut_ptr());
        // SAFETY: the image is whole, or a text that is terminated and not shorter than the header of a
        // binary, or the caller vouches for it; the driver makes a copy. There are as many names as values,
        // and what the values point at is kept until the library is unloaded.
        let loaded = unsafe {
            driver.cuLibraryLoadData(&raw mut raw, image.as_ptr(), names, values, count, null_mut(), null_mut(), 0)
        };
        loaded.map_err(|error| not_loaded(error, &logs))?;
        let (used_contexts, kernels) = (UsedContexts::default(), Mutex::default());
        let raw = Handle::new(raw);
        let mark = mark_on(driver, || ((Kind::Library, raw.raw().addr() as u64, 0), None));
        let (driver, names, logs) = (driver.clone(), Arc::default(), Some(logs));
        Ok(Library { shared: Arc::new(Shared { raw, driver, used_contexts, kernels, names, _mark: mark, logs }) })
    }

    /// Loads it in a context now, instead of at its first use there.
    ///
    /// # Errors
    ///
    /// [`LibraryError::NotLoaded`] with the log of the driver's compiler,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for a context of another driver,
    /// and the driver's error.
    pub fn load_in(&self, context: &Context) -> Result<()> {
        self.module(context).map(drop)
    }

    /// The part of a context, as the driver's older functions know it; valid while this value and the context
    /// are held.
    ///
    /// # Errors
    ///
    /// As [`Library::load_in`].
    #[doc(alias = "cuLibraryGetModule")]
    pub fn module(&self, context: &Context) -> Result<CUmodule> {
        same_driver(self.driver(), context.driver())?;
        let _current = context.current()?;
        let mut module = null_mut();
        // SAFETY: `module` is writable, the library is loaded, and `_current` keeps the context current.
        let got = unsafe { self.driver().cuLibraryGetModule(&raw mut module, self.as_raw()) };
        got.map_err(|error| self.refused(error))?;
        self.note(context);
        Ok(module)
    }

    /// A kernel in it, by its name in the code. Code that was compiled with name expressions is also asked by
    /// these.
    ///
    /// # Errors
    ///
    /// [`LibraryError::NoSuchKernel`] with the names of those there are, and the driver's error.
    #[doc(alias = "cuLibraryGetKernel")]
    pub fn kernel(&self, name: &str) -> Result<Kernel> {
        let missing = |library: &Library| {
            Error::Library(LibraryError::NoSuchKernel {
                name: name.into(),
                available: library.kernel_names().unwrap_or_default().into(),
            })
        };
        let lowered = self.lowered(name);
        let Ok(terminated) = CString::new(lowered) else { return Err(missing(self)) };
        let mut raw = null_mut();
        // SAFETY: `raw` is writable, the library is loaded, and the name is terminated.
        match unsafe { self.driver().cuLibraryGetKernel(&raw mut raw, self.as_raw(), terminated.as_ptr()) } {
            // SAFETY: the library has this kernel.
            Ok(()) => unsafe { self.known(raw, Some(lowered)) },
            Err(error) if error.code() == Some(CUresult::CUDA_ERROR_NOT_FOUND) => Err(missing(self)),
            Err(error) => Err(self.refused(error)),
        }
    }

    /// The driver's error, with its compiler's log of the load.
    fn refused(&self, error: warploom_driver::Error) -> Error {
        match &self.shared.logs {
            Some(logs) => not_loaded(error, logs),
            None => error.into(),
        }
    }

    /// All kernels in it.
    ///
    /// # Errors
    ///
    /// The driver's error; needs driver 12.4.
    #[doc(alias = "cuLibraryEnumerateKernels")]
    pub fn kernels(&self) -> Result<Vec<Kernel>> {
        // SAFETY: the library has these kernels.
        self.enumerate()?.into_iter().map(|raw| unsafe { self.known(raw, None) }).collect()
    }

    pub(super) fn kernel_names(&self) -> Result<Vec<String>> {
        // SAFETY: the library has these kernels.
        let names = self.enumerate()?.into_iter().map(|raw| unsafe { name_of(self.driver(), raw) });
        let mut names = names.collect::<Result<Vec<String>>>()?;
        names.sort_unstable();
        Ok(names)
    }

    pub(super) fn enumerate(&self) -> Result<Vec<CUkernel>> {
        let mut count = 0;
        // SAFETY: `count` is writable, and the library is loaded.
        unsafe { self.driver().cuLibraryGetKernelCount(&raw mut count, self.as_raw()) }?;
        let mut kernels = vec![null_mut(); count as usize];
        if count > 0 {
            // SAFETY: there is room for that many kernels, and the library is loaded.
            unsafe { self.driver().cuLibraryEnumerateKernels(kernels.as_mut_ptr(), count, self.as_raw()) }?;
        }
        Ok(kernels)
    }

    /// The value of a kernel: the same for all callers, since limits and parameters are cached in it. Without
    /// a name, the driver is asked for it.
    ///
    /// # Safety
    ///
    /// It is a kernel of this library.
    pub(super) unsafe fn known(&self, raw: CUkernel, name: Option<&str>) -> Result<Kernel> {
        let asked;
        let name = match name {
            Some(name) => name,
            None => {
                // SAFETY: the caller vouches for the kernel, and the library is loaded.
                asked = unsafe { name_of(self.driver(), raw) }?;
                &asked
            }
        };
        let mut kernels = self.shared.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        kernels.retain(|kernel| kernel.strong_count() > 0);
        if let Some(known) = kernels.iter().filter_map(Weak::upgrade).find(|kernel| kernel.raw() == raw) {
            return Ok(Kernel::over(known));
        }
        // SAFETY: the caller vouches for it.
        let made = unsafe { Kernel::of_library(raw, name, self) };
        kernels.push(made.downgrade());
        Ok(made)
    }

    /// The driver that it was loaded by.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.shared.driver
    }

    /// The log of the driver's compiler so far; empty if it wrote or compiled nothing. A driver may compile
    /// when a context first uses the library, as in [`Library::load_in`].
    #[must_use]
    pub fn log(&self) -> String {
        self.shared.logs.as_ref().map(Logs::text).unwrap_or_default()
    }

    /// The raw handle; valid while this value is held.
    #[must_use]
    pub fn as_raw(&self) -> CUlibrary {
        self.shared.raw.raw()
    }

    /// Records a context before the library's code is used there.
    #[inline]
    pub(super) fn note(&self, context: &Context) {
        self.shared.used_contexts.note(context);
    }

    /// Ends this handle. If it is the last, and no kernel is left, the library is unloaded, and a failure is
    /// an error instead of a warning.
    ///
    /// # Errors
    ///
    /// The driver's error. A library that may still be in use stays loaded.
    #[doc(alias = "cuLibraryUnload")]
    pub fn close(self) -> Result<()> {
        if callback::is_running() {
            return Ok(()); // dropped, and so left to the reclaimer
        }
        Arc::into_inner(self.shared).map_or(Ok(()), |mut last| last.end())
    }
}

impl Context {
    /// Loads PTX, in this context at once; others get it when they use it.
    ///
    /// # Errors
    ///
    /// As [`Library::from_ptx`] and [`Library::load_in`].
    pub fn load(&self, ptx: &str) -> Result<Library> {
        let library = Library::from_ptx(self.driver(), ptx)?;
        library.load_in(self)?;
        Ok(library)
    }
}

/// The driver's error, and its compiler's log.
fn not_loaded(error: warploom_driver::Error, logs: &Logs) -> Error {
    match logs.text() {
        log if log.is_empty() => error.into(),
        log => Error::Library(LibraryError::NotLoaded { error, log: log.into() }),
    }
}

impl Shared {
    /// Everything but the shell.
    fn take(&mut self) -> Shared {
        Shared {
            raw: Handle::new(self.raw.raw()),
            driver: self.driver.clone(),
            used_contexts: std::mem::take(&mut self.used_contexts),
            kernels: Mutex::default(),
            names: std::mem::take(&mut self.names),
            _mark: std::mem::take(&mut self._mark),
            logs: self.logs.take(),
        }
    }

    /// Unloads it; the second time, there is nothing left to unload.
    fn end(&mut self) -> Result<()> {
        // The driver may write them until the library is unloaded.
        let Some(logs) = self.logs.take().map(ManuallyDrop::new) else { return Ok(()) };
        self.used_contexts.wait()?;
        // SAFETY: it was loaded here, nothing else owns it, and none of its kernels runs or can be launched
        // any more.
        unsafe { self.driver.cuLibraryUnload(self.raw.raw()) }?;
        drop(ManuallyDrop::into_inner(logs));
        Ok(())
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if callback::is_running() && self.logs.is_some() {
            return reclaimer::defer(self.take());
        }
        if capture::any()
            && let Some(capture) = self.used_contexts.captured()
        {
            // To unload it waits for the contexts that it was used in, and they cannot be waited for.
            return capture.defer(Box::new(self.take()));
        }
        let _relaxed = RelaxedMode::new(&self.driver);
        let ended = self.end();
        report(|| Subject::Library, ended);
    }
}

impl PartialEq for Library {
    /// `true` if the two are the same library.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }
}

impl Eq for Library {}

impl Hash for Library {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.shared).hash(state);
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Library").field("raw", &self.as_raw()).finish_non_exhaustive()
    }
}
