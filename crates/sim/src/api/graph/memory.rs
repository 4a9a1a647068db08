//! Graph memory of a device: cuDeviceGraphMemTrim and cuDeviceGetGraphMemAttribute.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_void;

use warploom_sys::types::{CUdevice, CUgraphMem_attribute};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, Status};
use crate::machine::call::Call;

fn check_device(call: &Call<'_>, device: CUdevice) -> Status {
    match usize::try_from(device) {
        Ok(device) if device < call.core().topology.devices.len() => Ok(()),
        _ => Err(call.refuse(INVALID_DEVICE, format!("there is no device {device}"))),
    }
}

/// `CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH`, the last.
const LAST: u32 = 3;

/// No memory to release: launches of graphs with memory nodes are not simulated.
pub(crate) fn cuDeviceGraphMemTrim(call: &Call<'_>, device: CUdevice) -> Status {
    check_device(call, device)
}

/// All values are 0, because launches of graphs with memory nodes are not simulated.
pub(crate) fn cuDeviceGetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
    value: Ptr<c_void>,
) -> Status {
    check_device(call, device)?;
    if attribute.0 > LAST {
        return Err(call.refuse(INVALID_VALUE, format!("there is no attribute {}", attribute.0)));
    }
    value.typed::<u64>().write(0)
}

/// Only the high-water marks can be set, and only to 0.
pub(crate) fn cuDeviceSetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
    value: Ptr<c_void>,
) -> Status {
    check_device(call, device)?;
    let is_mark = matches!(
        attribute,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH
            | CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH
    );
    match value.typed::<u64>().read()? {
        0 if is_mark => Ok(()),
        value => Err(call.refuse(INVALID_VALUE, format!("attribute {} cannot be set to {value}", attribute.0))),
    }
}
