//! Where a table's functions come from.

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
/// The seam between a driver and its users. A resolver answers by name and exact ABI version, as `cuGetProcAddress_v2`
/// does; what it hands out stays callable for as long as `keep_alive` is held.
#[derive(Clone)]
pub struct Source {
    /// Finds a function.
    pub resolve: GetProcAddress,
    /// Keeps the functions callable.
    pub keep_alive: Arc<dyn Any + Send + Sync>,
    /// What it is, for people: a path, or the name of a machine.
    pub description: Arc<str>,
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Source").field("description", &self.description).finish_non_exhaustive()
    }
}
