//! Devices: what is installed, and what each is like.
#![expect(non_snake_case, reason = "the functions have C's names")]

mod atomics;
mod attributes;
mod identity;

use std::ffi::c_int;

use warploom_sys::types::{CUdevice, CUresult};

pub(crate) use self::atomics::{capabilities, check as check_question, cuDeviceGetHostAtomicCapabilities};
pub(crate) use self::attributes::{
    cuDeviceComputeCapability, cuDeviceGetAttribute, cuDeviceGetExecAffinitySupport, cuDeviceGetProperties,
    cuDeviceGetTexture1DLinearMaxWidth, cuDeviceTotalMem_v2,
};
pub(crate) use self::identity::{
    cuDeviceGetByPCIBusId, cuDeviceGetLuid, cuDeviceGetName, cuDeviceGetPCIBusId, cuDeviceGetUuid, cuDeviceGetUuid_v2,
};

use crate::ffi::Ptr;
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_DEVICE, Status};
use crate::machine::call::Call;
use crate::memory::DeviceMemory;
use crate::topology::DeviceSpec;

/// A device's state; what it is like is in the topology.
pub(crate) struct Device {
    pub(crate) memory: DeviceMemory,
    /// The primary context's handle, once it was retained; the context is active while the handle names it.
    pub(crate) primary: Option<ContextHandle>,
    /// How often the primary context is retained.
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

/// The device an ordinal names.
pub(crate) fn ordinal(call: &Call<'_>, device: CUdevice) -> Status<usize> {
    let count = call.core().topology.devices.len();
    usize::try_from(device)
        .ok()
        .filter(|ordinal| *ordinal < count)
        .ok_or_else(|| call.refuse(INVALID_DEVICE, format!("device {device} does not exist; there are {count}")))
}

pub(crate) fn cuDeviceGet(call: &Call<'_>, device: Ptr<CUdevice>, number: c_int) -> Status {
    device.required()?;
    device.write(ordinal(call, number)? as CUdevice)
}

pub(crate) fn cuDeviceGetCount(call: &Call<'_>, count: Ptr<c_int>) -> Status {
    count.write(call.core().topology.devices.len() as c_int)
}
