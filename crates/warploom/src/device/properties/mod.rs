//! Typed properties of a device.

mod compute_mode;
mod features;
mod groups;

use std::fmt;

pub use self::compute_mode::ComputeMode;

use super::DeviceAttribute;
use crate::Result;

/// Everything the driver says a device is like: every [`DeviceAttribute`], read once.
///
/// Sizes are in bytes, clocks in hertz. An attribute that is newer than the driver reads as "no", as zero or
/// as `None`; [`Properties::get`] tells such an answer from a real one.
///
/// ```
/// use warploom::Driver;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let device = driver.device(0)?;
/// let properties = device.properties()?;
/// assert_eq!((properties.warp_size(), properties.max_threads_per_block()), (32, 1024));
/// assert!(properties.has_memory_pools() && !properties.is_integrated());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Properties {
    /// By the driver's number of the attribute.
    values: Box<[Option<i32>]>,
}

impl Properties {
    pub(super) fn read(ask: impl Fn(DeviceAttribute) -> Result<Option<i32>>) -> Result<Properties> {
        let numbers = DeviceAttribute::ALL.iter().map(|attribute| attribute.as_raw().0 as usize);
        let mut values = vec![None; numbers.max().map_or(0, |most| most + 1)];
        for attribute in DeviceAttribute::ALL {
            values[attribute.as_raw().0 as usize] = ask(*attribute)?;
        }
        Ok(Properties { values: values.into() })
    }

    /// The attribute's value; `None` if the driver does not know it.
    #[must_use]
    pub fn get(&self, attribute: DeviceAttribute) -> Option<i32> {
        self.values.get(attribute.as_raw().0 as usize).copied().flatten()
    }

    /// Every attribute that the driver knows, with its value.
    pub fn iter(&self) -> impl Iterator<Item = (DeviceAttribute, i32)> {
        DeviceAttribute::ALL.iter().filter_map(|attribute| Some((*attribute, self.get(*attribute)?)))
    }

    fn is(&self, attribute: DeviceAttribute) -> bool {
        self.get(attribute).is_some_and(|value| value != 0)
    }

    /// A count or a size, none of which is negative.
    fn count(&self, attribute: DeviceAttribute) -> u32 {
        self.get(attribute).and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
    }
}

impl fmt::Debug for Properties {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}
