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

    /// Lets kernels set a condition, whose graph is launched; its value stays as it is.
    pub(crate) fn enter(&self, condition: u64) {
        self.0.lock().entry(condition).or_insert(0);
    }

    /// Sets a condition for a kernel. False if no graph with this condition has been launched, or it has been destroyed.
    pub(crate) fn set_by_kernel(&self, condition: u64, value: u32) -> bool {
        self.0.lock().get_mut(&condition).map(|place| *place = value).is_some()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_set_only_conditions_of_launched_graphs() {
        let conditions = Conditions::default();
        assert!(!conditions.set_by_kernel(1, 5));
        assert_eq!(conditions.get(1), 0);
        conditions.enter(1);
        assert!(conditions.set_by_kernel(1, 5));
        // The next launch finds what the last one left.
        conditions.enter(1);
        assert_eq!((conditions.get(1), conditions.get(2)), (5, 0));
        conditions.set(1, 2);
        assert_eq!(conditions.get(1), 2);
        conditions.forget(1);
        assert!(!conditions.set_by_kernel(1, 7));
    }
}
