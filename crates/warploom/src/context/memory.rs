//! Free and total memory of a context's device.
#![expect(unsafe_code, reason = "asks the driver about the current context")]

use super::Context;
use crate::Result;

/// Total and free memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryInfo {
    /// Free bytes, for all processes together.
    pub free: u64,
    /// All there is.
    pub total: u64,
}

impl Context {
    /// Total and free memory of the device now.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuMemGetInfo")]
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let _current = self.current()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: both are writable, and `_current` keeps the context current.
        unsafe { self.driver().cuMemGetInfo_v2(&raw mut free, &raw mut total) }?;
        Ok(MemoryInfo { free: free as u64, total: total as u64 })
    }
}
