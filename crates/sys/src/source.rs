//! Source of a table's functions.
#![expect(unsafe_code, reason = "making a source is a promise about the pointers it will hand out")]

use std::any::Any;
use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use crate::types::{CUdriverProcAddressQueryResult, CUresult, cuuint64_t};

/// The C signature of `cuGetProcAddress_v2`.
pub type GetProcAddress = unsafe extern "C" fn(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut CUdriverProcAddressQueryResult,
) -> CUresult;

/// Anything that hands out driver functions: the system's library, or a simulated machine.
///
/// The seam between a driver and its users. A resolver answers by name and exact ABI version, as
/// `cuGetProcAddress_v2` does. Whoever makes a source vouches for it once, so that whoever fills a table from
/// it need not.
#[derive(Clone)]
pub struct Source {
    resolve: GetProcAddress,
    keep_alive: Arc<dyn Any + Send + Sync>,
    description: Arc<str>,
}

impl Source {
    /// A source that answers through `resolve` for as long as `keep_alive` is held.
    ///
    /// `description` says what it is, for people: a path, or the name of a machine.
    ///
    /// # Safety
    ///
    /// While a clone of `keep_alive` exists, and on every thread:
    ///
    /// - `resolve` may be called with a terminated string, writable `pfn` and `status`, and the flag for
    ///   legacy streams;
    /// - a non-null pointer that it leaves in `pfn` together with success is a function with the C signature
    ///   that CUDA `version` declares for that name, and may be called as `cuda.h` allows.
    #[must_use]
    pub unsafe fn new(
        resolve: GetProcAddress,
        keep_alive: Arc<dyn Any + Send + Sync>,
        description: impl Into<Arc<str>>,
    ) -> Source {
        Source { resolve, keep_alive, description: description.into() }
    }

    /// Finds a function, as `cuGetProcAddress_v2` does.
    #[must_use]
    pub fn resolve(&self) -> GetProcAddress {
        self.resolve
    }

    /// The owner that keeps the functions callable; hold a clone for as long as one may be called.
    #[must_use]
    pub fn keep_alive(&self) -> &Arc<dyn Any + Send + Sync> {
        &self.keep_alive
    }

    /// A description for people.
    #[must_use]
    pub fn description(&self) -> &Arc<str> {
        &self.description
    }
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Source").field("description", &self.description).finish_non_exhaustive()
    }
}
