//! State of a device.

use std::collections::HashSet;

use std::time::Instant;

use warploom_sys::types::CUresult;

use crate::ffi::handle::ContextHandle;
use crate::memory::{DeviceMemory, Spacing};
use crate::topology::DeviceSpec;

/// A device's state; its properties are in the topology.
pub(crate) struct Device {
    pub(crate) memory: DeviceMemory,
    /// The primary context's handle, after the first retain; the context is active while the handle is valid.
    pub(crate) primary: Option<ContextHandle>,
    /// Reference count of the primary context.
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    /// Callbacks for notifications of the device.
    pub(crate) notifications: Notifications,
    /// The fault of a kernel, after which the process can no longer use the device.
    pub(super) fault: Option<DeviceFault>,
}

/// The fault of a kernel, of which the host learns later.
#[derive(Clone, Copy)]
pub(super) struct DeviceFault {
    pub(super) code: CUresult,
    pub(super) at: Instant,
    /// A call has answered it, or a fault plan asked for it.
    pub(super) is_known: bool,
}

/// The callbacks that are registered for notifications, by their numbers.
#[derive(Default)]
pub(crate) struct Notifications {
    registered: HashSet<usize>,
    last: usize,
}

impl Notifications {
    /// Registers a callback. Returns its number.
    pub(crate) fn register(&mut self) -> usize {
        self.last += 1;
        self.registered.insert(self.last);
        self.last
    }

    /// Removes a callback; `false` if there is none of that number.
    pub(crate) fn unregister(&mut self, number: usize) -> bool {
        self.registered.remove(&number)
    }
}

impl Device {
    pub(crate) fn new(spec: &DeviceSpec, spacing: Spacing) -> std::io::Result<Self> {
        Ok(Self {
            memory: DeviceMemory::new(spec.total_memory, spacing)?,
            primary: None,
            retained: 0,
            primary_flags: 0,
            notifications: Notifications::default(),
            fault: None,
        })
    }
}
