//! Values of conditions while graphs run.

use std::collections::HashMap;

use parking_lot::Mutex;

/// The values of conditions, which kernels set and conditional nodes read.
#[derive(Debug, Default)]
pub(crate) struct Conditions(Mutex<HashMap<u64, u32>>);

impl Conditions {
    /// Sets a condition, by the bits of its handle.
    pub(crate) fn set(&self, condition: u64, value: u32) {
        self.0.lock().insert(condition, value);
    }

    /// The value of a condition; 0 if nothing has set it.
    pub(crate) fn get(&self, condition: u64) -> u32 {
        self.0.lock().get(&condition).copied().unwrap_or(0)
    }

    /// Forgets a condition that has been destroyed.
    pub(crate) fn forget(&self, condition: u64) {
        self.0.lock().remove(&condition);
    }
}
