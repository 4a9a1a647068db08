//! Graph memory of a device: cuDeviceGraphMemTrim and cuDeviceGetGraphMemAttribute.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_void;

use warploom_sys::types::{CUdevice, CUgraphMem_attribute};

use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, Status};
use crate::machine::call::Call;

fn checked_device(call: &Call<'_>, device: CUdevice) -> Status<u16> {
    match u16::try_from(device) {
        Ok(device) if usize::from(device) < call.core().topology.devices.len() => Ok(device),
        _ => Err(call.refuse(INVALID_DEVICE, format!("there is no device {device}"))),
    }
}

/// Gives memory that no launch uses back to the device.
pub(crate) fn cuDeviceGraphMemTrim(call: &Call<'_>, device: CUdevice) -> Status {
    let device = checked_device(call, device)?;
    call.world().trim_graph_memory(device);
    Ok(())
}

pub(crate) fn cuDeviceGetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
    value: Ptr<c_void>,
) -> Status {
    let device = checked_device(call, device)?;
    let mut world = call.world();
    let usage = world.graphs_mut().memory.device_mut(device).map(|memory| memory.usage).unwrap_or_default();
    let bytes = match attribute {
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT => usage.reserved,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => usage.used_high,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT => usage.reserved,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => usage.reserved_high,
        other => return Err(call.refuse(INVALID_VALUE, format!("there is no attribute {}", other.0))),
    };
    value.typed::<u64>().write(bytes)
}

/// Only the high-water marks can be set, and only to 0: they start again at the current values.
pub(crate) fn cuDeviceSetGraphMemAttribute(
    call: &Call<'_>,
    device: CUdevice,
    attribute: CUgraphMem_attribute,
    value: Ptr<c_void>,
) -> Status {
    let device = checked_device(call, device)?;
    let wanted = value.typed::<u64>().read()?;
    let mut world = call.world();
    let Some(memory) = world.graphs_mut().memory.device_mut(device).filter(|_| wanted == 0) else {
        return Err(call.refuse(INVALID_VALUE, format!("attribute {} cannot be set to {wanted}", attribute.0)));
    };
    let usage = &mut memory.usage;
    match attribute {
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_USED_MEM_HIGH => usage.used_high = usage.reserved,
        CUgraphMem_attribute::CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH => usage.reserved_high = usage.reserved,
        other => return Err(call.refuse(INVALID_VALUE, format!("attribute {} cannot be set", other.0))),
    }
    Ok(())
}
