//! The cache preference of a context: L1 or shared memory.
#![expect(unsafe_code, reason = "asks the driver about the current context")]

use warploom_driver::sys::types::CUfunc_cache;

use super::Context;
use crate::Result;

/// The preferred division of a multiprocessor's memory into L1 cache and shared memory, where the hardware
/// leaves a choice; elsewhere it is only remembered.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CachePreference {
    /// Any way.
    #[default]
    None,
    /// More shared memory.
    Shared,
    /// More level 1 cache.
    L1,
    /// The same of both.
    Equal,
    /// A way that a newer driver invented.
    Unknown(u32),
}

impl CachePreference {
    fn from_raw(raw: CUfunc_cache) -> CachePreference {
        match raw {
            CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE => CachePreference::None,
            CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED => CachePreference::Shared,
            CUfunc_cache::CU_FUNC_CACHE_PREFER_L1 => CachePreference::L1,
            CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL => CachePreference::Equal,
            CUfunc_cache(raw) => CachePreference::Unknown(raw),
        }
    }

    pub(crate) fn to_raw(self) -> CUfunc_cache {
        match self {
            CachePreference::None => CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE,
            CachePreference::Shared => CUfunc_cache::CU_FUNC_CACHE_PREFER_SHARED,
            CachePreference::L1 => CUfunc_cache::CU_FUNC_CACHE_PREFER_L1,
            CachePreference::Equal => CUfunc_cache::CU_FUNC_CACHE_PREFER_EQUAL,
            CachePreference::Unknown(raw) => CUfunc_cache(raw),
        }
    }
}

impl Context {
    /// The preference of kernels without one of their own.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuCtxGetCacheConfig")]
    pub fn cache_preference(&self) -> Result<CachePreference> {
        let _current = self.current()?;
        let mut raw = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
        // SAFETY: `raw` is writable, and `_current` keeps the context current.
        unsafe { self.driver().cuCtxGetCacheConfig(&raw mut raw) }?;
        Ok(CachePreference::from_raw(raw))
    }

    /// Sets the preference of kernels without one of their own, for all users of the context.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuCtxSetCacheConfig")]
    pub fn set_cache_preference(&self, preference: CachePreference) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: passes a number; `_current` keeps the context current.
        Ok(unsafe { self.driver().cuCtxSetCacheConfig(preference.to_raw()) }?)
    }

    /// Makes lines that were to stay in level 2 cache lines like any others.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuCtxResetPersistingL2Cache")]
    pub fn reset_persisting_l2_cache(&self) -> Result<()> {
        let _current = self.current()?;
        // SAFETY: `_current` keeps the context current.
        Ok(unsafe { self.driver().cuCtxResetPersistingL2Cache() }?)
    }
}
