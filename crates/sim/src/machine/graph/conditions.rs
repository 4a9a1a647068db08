//! Conditions of graphs: values that kernels set and conditional nodes read.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The values of conditions, by handle.
///
/// A kernel sets a value while its grid runs, without the machine's lock. The op of a conditional node starts
/// after the kernel's op has ended, so it sees every value that the kernel set.
#[derive(Default)]
pub(crate) struct Conditions {
    values: Mutex<BTreeMap<u64, u32>>,
}

impl Conditions {
    /// Sets a value that a kernel hands over; false if there is no such condition.
    pub(crate) fn set(&self, handle: u64, value: u32) -> bool {
        self.values.lock().get_mut(&handle).map(|place| *place = value).is_some()
    }
}

#[cfg_attr(not(test), expect(dead_code, reason = "for conditional nodes, which are not simulated yet"))]
impl Conditions {
    /// The value of a condition, if it exists.
    pub(crate) fn get(&self, handle: u64) -> Option<u32> {
        self.values.lock().get(&handle).copied()
    }

    /// Gives a condition its first or default value. From now on kernels can set it.
    pub(crate) fn reset(&self, handle: u64, value: u32) {
        self.values.lock().insert(handle, value);
    }

    /// Removes a condition together with its graph.
    pub(crate) fn remove(&self, handle: u64) {
        self.values.lock().remove(&handle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conditions_that_exist_can_be_set() {
        let conditions = Conditions::default();
        assert!(!conditions.set(1, 5));
        assert_eq!(conditions.get(1), None);
        conditions.reset(1, 2);
        assert_eq!(conditions.get(1), Some(2));
        assert!(conditions.set(1, 5));
        assert_eq!((conditions.get(1), conditions.get(2)), (Some(5), None));
        conditions.reset(1, 0);
        assert_eq!(conditions.get(1), Some(0));
        conditions.remove(1);
        assert!(!conditions.set(1, 7));
    }
}
