//! Devices that have used memory of another device.
//!
//! Access to memory of another device is taken away at once, not in the order of a stream. So each device
//! remembers the others that have used its memory, before their work is enqueued: access is taken away when
//! their work is done, and without any wait where there was none. A device that is remembered stays so, since
//! a stream that has met an allocation may use it again without saying so.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Device;
use crate::Result;

/// A set of devices by ordinal; those from 63 on share a bit.
#[derive(Debug, Default)]
pub(super) struct Accessors(AtomicU64);

impl Accessors {
    fn bit(device: &Device) -> u64 {
        1 << device.ordinal().min(u64::BITS - 1)
    }

    fn add(&self, device: &Device) {
        let bit = Accessors::bit(device);
        if self.0.load(Ordering::Relaxed) & bit == 0 {
            self.0.fetch_or(bit, Ordering::Release);
        }
    }

    fn contain(&self, device: &Device) -> bool {
        self.0.load(Ordering::Acquire) & Accessors::bit(device) != 0
    }
}

impl Device {
    /// Remembers that work of `accessor` is going to use memory of this device, if it is another one.
    #[inline]
    pub(crate) fn note_accessor(&self, accessor: &Device) {
        if !Arc::ptr_eq(&self.card, &accessor.card) {
            self.card.accessors.add(accessor);
        }
    }

    /// `true` if work of another device may use memory of this one. No driver call.
    pub(crate) fn has_accessor(&self, accessor: &Device) -> bool {
        self.card.accessors.contain(accessor)
    }

    /// Waits for all work of the devices that have used memory of this one, and of this one: a graph that is
    /// launched on one device may have nodes that run on another.
    pub(crate) fn wait_for_accessors(&self) -> Result<()> {
        let devices = self.driver().devices()?;
        let mut waited_for = devices.iter().filter(|device| *device == self || self.has_accessor(device));
        waited_for.try_for_each(Device::synchronize_contexts)
    }
}
