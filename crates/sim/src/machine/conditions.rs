//! Values of conditions of an executable graph.

use std::sync::atomic::{AtomicU32, Ordering};

/// The values of an executable's conditions, which its kernels set and its conditional nodes read. They stay
/// from launch to launch.
#[derive(Debug, Default)]
pub(crate) struct Conditions {
    /// By the bits of their handles, in rising order.
    values: Box<[(u64, AtomicU32)]>,
}

impl Conditions {
    /// Conditions with some handles, all 0.
    pub(crate) fn new(mut handles: Vec<u64>) -> Self {
        handles.sort_unstable();
        handles.dedup();
        Self { values: handles.into_iter().map(|handle| (handle, AtomicU32::new(0))).collect() }
    }

    fn find(&self, handle: u64) -> Option<&AtomicU32> {
        let place = self.values.binary_search_by_key(&handle, |(handle, _)| *handle).ok()?;
        Some(&self.values[place].1)
    }

    /// Sets a condition; false if the executable does not have it.
    pub(crate) fn set(&self, handle: u64, value: u32) -> bool {
        // The ops of a launch order this store against the load of a conditional node.
        self.find(handle).map(|place| place.store(value, Ordering::Relaxed)).is_some()
    }

    /// The value of a condition; 0 if nothing has set it.
    pub(crate) fn get(&self, handle: u64) -> u32 {
        self.find(handle).map_or(0, |place| place.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_conditions_of_the_executable_are_set() {
        let conditions = Conditions::new(vec![9, 4, 9]);
        assert_eq!((conditions.get(4), conditions.get(9), conditions.get(5)), (0, 0, 0));
        assert!(conditions.set(9, 3) && conditions.set(4, u32::MAX));
        assert!(!conditions.set(5, 1) && !Conditions::default().set(4, 1));
        assert_eq!((conditions.get(4), conditions.get(9), conditions.get(5)), (u32::MAX, 3, 0));
    }
}
