//! State of a device.

use warploom_sys::types::CUresult;

use crate::ffi::handle::ContextHandle;
use crate::memory::DeviceMemory;
use crate::topology::DeviceSpec;

/// A device's state; its properties are in the topology.
pub(crate) struct Device {
    pub(crate) memory: DeviceMemory,
    /// The primary context's handle, once it was retained; the context is active while the handle names it.
    pub(crate) primary: Option<ContextHandle>,
    /// Reference count of the primary context.
    pub(crate) retained: u32,
    pub(crate) primary_flags: u32,
    /// The code a kernel's fault gave: the process cannot use the device any more.
    pub(crate) fault: Option<CUresult>,
}

impl Device {
    pub(crate) fn new(spec: &DeviceSpec) -> std::io::Result<Self> {
        Ok(Self {
            memory: DeviceMemory::new(spec.total_memory)?,
            primary: None,
            retained: 0,
            primary_flags: 0,
            fault: None,
        })
    }
}
