//! NVTX: named ranges and marks that profilers show on their timelines.
//!
//! The library is looked for when it is first asked for. Where there is none, everything here does nothing,
//! at the cost of one branch, so that annotations stay in a program.
//!
//! | annotation | shown as |
//! |---|---|
//! | [`Nvtx::mark`] | a point in time |
//! | [`Nvtx::range`] | a range of the process, from any thread to any other |
//! | [`Nvtx::scope`] | a range of the thread, nested in the one around it |
//!
//! A [`Domain`] has the same three, for a library whose annotations tools show and filter on their own.
//!
//! ```
//! use warploom::nvtx::{Annotation, Nvtx};
//!
//! let nvtx = Nvtx::load();
//! let solver = nvtx.domain("solver");
//! let range = solver.range("step");
//! let sum: u64 = solver.scope(Annotation::new("sum").color(0xff76_b900), || (1..=10).sum());
//! nvtx.mark("summed");
//! drop(range);
//! assert_eq!(sum, 55);
//! ```
#![expect(unsafe_code, reason = "calls functions of a library")]

mod annotation;
mod load;
pub mod raw;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub use annotation::Annotation;
pub use load::{LIBRARY_VARIABLE, NvtxError};

use self::annotation::text;
use self::raw::{NvtxTable, nvtxDomainRegistration, nvtxRangeId_t};
use crate::dynamic_library;
use crate::handle::Handle;

/// The library's functions, or the reason why there are none. The default domain's annotations are its
/// methods.
///
/// A clone costs a reference count.
#[derive(Clone, Debug)]
pub struct Nvtx {
    table: Arc<Result<NvtxTable, NvtxError>>,
}

impl Nvtx {
    /// The system's library, which is looked for once in a process; without one, annotations do nothing.
    ///
    /// Looks for `libnvtx3interop.so.1` and for `libnvToolsExt.so.1`, where the dynamic loader does, in
    /// toolkits and in Python environments; first for the one that the environment variable `WARPLOOM_NVTX`
    /// names.
    #[must_use]
    pub fn load() -> Nvtx {
        static LOADED: OnceLock<Nvtx> = OnceLock::new();
        LOADED.get_or_init(|| Nvtx { table: Arc::new(dynamic_library::system()) }).clone()
    }

    /// The library at `path`. A bare file name is left to the dynamic loader to find.
    ///
    /// # Safety
    ///
    /// A library runs code when it is loaded, which must do no harm, and its functions of these names must be
    /// those of NVTX.
    ///
    /// # Errors
    ///
    /// [`NvtxError::NotFound`] if there is no such library, [`NvtxError::NotNvtx`] if it is another.
    pub unsafe fn load_from(path: impl AsRef<Path>) -> Result<Nvtx, NvtxError> {
        // SAFETY: the caller vouches for the library.
        let table = unsafe { dynamic_library::library(path.as_ref()) }?;
        Ok(Nvtx { table: Arc::new(Ok(table)) })
    }

    /// Annotations that do nothing.
    #[must_use]
    pub fn disabled() -> Nvtx {
        Nvtx { table: Arc::new(Err(NvtxError::Disabled)) }
    }

    /// A library of the program's own.
    ///
    /// # Safety
    ///
    /// The functions are those of NVTX, and stay callable.
    #[must_use]
    pub unsafe fn from_table(table: NvtxTable) -> Nvtx {
        Nvtx { table: Arc::new(Ok(table)) }
    }

    /// The reason why annotations do nothing; `None` if there is a library.
    #[must_use]
    pub fn error(&self) -> Option<&NvtxError> {
        self.table.as_ref().as_ref().err()
    }

    /// A domain of this name. Tools show it while the value, a clone or one of its ranges is held.
    #[must_use]
    pub fn domain(&self, name: &str) -> Domain {
        let register = |table| Arc::new(Registered::new(table, name));
        Domain { nvtx: self.clone(), registered: self.table().copied().map(register) }
    }

    /// Marks this point in time.
    pub fn mark<'a>(&self, annotation: impl Into<Annotation<'a>>) {
        if self.error().is_none() {
            self.default_domain().mark(annotation);
        }
    }

    /// A range of the process from here on, until it is dropped, on any thread.
    pub fn range<'a>(&self, annotation: impl Into<Annotation<'a>>) -> Range {
        if self.error().is_some() { Range { started: None } } else { self.default_domain().range(annotation) }
    }

    /// Calls `body` in a range of this thread, which ends also if it panics.
    pub fn scope<'a, R>(&self, annotation: impl Into<Annotation<'a>>, body: impl FnOnce() -> R) -> R {
        if self.error().is_some() { body() } else { self.default_domain().scope(annotation, body) }
    }

    fn default_domain(&self) -> Domain {
        Domain { nvtx: self.clone(), registered: None }
    }

    fn table(&self) -> Option<&NvtxTable> {
        self.table.as_ref().as_ref().ok()
    }
}

/// A domain: annotations that tools show and filter on their own; made by [`Nvtx::domain`].
///
/// A clone is another handle to the same domain.
#[derive(Clone)]
pub struct Domain {
    nvtx: Nvtx,
    /// `None` for the default domain, and without a library.
    registered: Option<Arc<Registered>>,
}

struct Registered {
    handle: Handle<nvtxDomainRegistration>,
    destroy: unsafe extern "C" fn(*mut nvtxDomainRegistration),
}

impl Registered {
    fn new(table: NvtxTable, name: &str) -> Registered {
        let name = text(name);
        // SAFETY: the text ends in a zero.
        let handle = Handle::new(unsafe { (table.nvtxDomainCreateA)(name.as_ptr()) });
        Registered { handle, destroy: table.nvtxDomainDestroy }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // SAFETY: it was made by `new`, and its ranges, which hold it, are over.
        unsafe { (self.destroy)(self.handle.raw()) };
    }
}

impl Domain {
    /// Marks this point in time.
    pub fn mark<'a>(&self, annotation: impl Into<Annotation<'a>>) {
        let Some(table) = self.nvtx.table() else { return };
        // SAFETY: the attributes are valid during the call, and the domain while it is held.
        annotation.into().with_attributes(|attributes| unsafe {
            match &self.registered {
                Some(domain) => (table.nvtxDomainMarkEx)(domain.handle.raw(), attributes),
                None => (table.nvtxMarkEx)(attributes),
            }
        });
    }

    /// A range of the process from here on, until it is dropped, on any thread.
    pub fn range<'a>(&self, annotation: impl Into<Annotation<'a>>) -> Range {
        let start = |table: &NvtxTable| {
            // SAFETY: as above.
            annotation.into().with_attributes(|attributes| unsafe {
                match &self.registered {
                    Some(domain) => (table.nvtxDomainRangeStartEx)(domain.handle.raw(), attributes),
                    None => (table.nvtxRangeStartEx)(attributes),
                }
            })
        };
        Range { started: self.nvtx.table().map(start).map(|id| (id, self.clone())) }
    }

    /// Calls `body` in a range of this thread, which ends also if it panics.
    pub fn scope<'a, R>(&self, annotation: impl Into<Annotation<'a>>, body: impl FnOnce() -> R) -> R {
        let Some(table) = self.nvtx.table() else { return body() };
        // SAFETY: as above.
        annotation.into().with_attributes(|attributes| unsafe {
            match &self.registered {
                Some(domain) => (table.nvtxDomainRangePushEx)(domain.handle.raw(), attributes),
                None => (table.nvtxRangePushEx)(attributes),
            }
        });
        let _pushed = Pushed(self, table);
        body()
    }
}

/// The thread's last range, which ends when this is dropped.
struct Pushed<'a>(&'a Domain, &'a NvtxTable);

impl Drop for Pushed<'_> {
    fn drop(&mut self) {
        let Pushed(domain, table) = self;
        // SAFETY: the domain is borrowed, so that it is there.
        unsafe {
            match &domain.registered {
                Some(domain) => (table.nvtxDomainRangePop)(domain.handle.raw()),
                None => (table.nvtxRangePop)(),
            };
        }
    }
}

/// A range of the process; it ends when this is dropped.
#[must_use = "the range ends when it is dropped"]
pub struct Range {
    /// `None` without a library.
    started: Option<(nvtxRangeId_t, Domain)>,
}

impl Drop for Range {
    fn drop(&mut self) {
        let Some((id, Domain { nvtx, registered })) = &self.started else { return };
        let Some(table) = nvtx.table() else { return };
        // SAFETY: the range was started in the domain, which is held, and ends once.
        unsafe {
            match registered {
                Some(domain) => (table.nvtxDomainRangeEnd)(domain.handle.raw(), *id),
                None => (table.nvtxRangeEnd)(*id),
            }
        }
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_registered = self.registered.is_some();
        formatter.debug_struct("Domain").field("is_registered", &is_registered).finish_non_exhaustive()
    }
}

impl fmt::Debug for Range {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.started.as_ref().map(|(id, _)| id);
        formatter.debug_struct("Range").field("id", &id).finish_non_exhaustive()
    }
}
