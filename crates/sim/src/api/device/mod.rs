//! Devices: count, ordinals, identity and attributes.
#![expect(non_snake_case, reason = "the functions have C's names")]

mod atomics;
mod attributes;
mod identity;

use std::ffi::c_int;

use warploom_sys::types::CUdevice;

pub(crate) use self::atomics::{capabilities, check as check_question, cuDeviceGetHostAtomicCapabilities};
pub(crate) use self::attributes::{
    cuDeviceComputeCapability, cuDeviceGetAttribute, cuDeviceGetExecAffinitySupport, cuDeviceGetProperties,
    cuDeviceGetTexture1DLinearMaxWidth, cuDeviceTotalMem, cuDeviceTotalMem_v2,
};
pub(crate) use self::identity::{
    cuDeviceGetByPCIBusId, cuDeviceGetLuid, cuDeviceGetName, cuDeviceGetPCIBusId, cuDeviceGetUuid, cuDeviceGetUuid_v2,
};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_DEVICE, Status};
use crate::machine::call::Call;

/// The device with an ordinal.
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
