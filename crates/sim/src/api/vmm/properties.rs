//! Requested properties of a physical allocation.

use warploom_sys::types::{
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType, CUmemLocation, CUmemLocationType,
};

use super::location::{self, Location};
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, NOT_PERMITTED, NOT_SUPPORTED, Status};
use crate::machine::call::Call;
use crate::machine::physical::Properties;
use crate::memory::Side;
use crate::topology::number;

const DESCRIPTOR: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR.0;
const FABRIC: u32 = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_FABRIC.0;

/// The side and the properties of the requested memory.
pub(super) fn check(call: &Call<'_>, asked: CUmemAllocationProp) -> Status<(Side, Properties)> {
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    let CUmemAllocationProp { type_, requestedHandleTypes: handle_types, allocFlags: flags, .. } = asked;
    if type_ != CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED {
        return Err(refuse(format!("allocations of type {} cannot be made; only pinned ones can", type_.0)));
    }
    if flags.compressionType > 1 || flags.reserved != [0; 4] {
        let (compression, reserved) = (flags.compressionType, flags.reserved);
        return Err(refuse(format!("compression is {compression}, at most 1; reserved is {reserved:?}, all 0")));
    }
    if !asked.win32HandleMetaData.is_null() || handle_types.0 & !(DESCRIPTOR | FABRIC) != 0 {
        return Err(refuse(format!("handle types {:#x} are not for this system", handle_types.0)));
    }
    let (side, location) = place(call, asked.location, handle_types)?;
    if handle_types.0 & FABRIC != 0 {
        return Err(call.refuse(NOT_PERMITTED, "fabric handles need a channel that this machine does not have"));
    }
    let compresses = match side {
        Side::Device(device) => attribute(call, device, number::GENERIC_COMPRESSION_SUPPORTED) == Some(1),
        Side::Host => true,
    };
    // The usage flags are neither checked nor kept.
    let compression = if compresses { flags.compressionType } else { 0 };
    Ok((side, Properties { handle_types, location, compression, remote_access: flags.gpuDirectRDMACapable }))
}

/// The location of the memory, and the driver's name for it. Host memory without a node is at the first one.
fn place(
    call: &Call<'_>,
    asked: CUmemLocation,
    handle_types: CUmemAllocationHandleType,
) -> Status<(Side, CUmemLocation)> {
    let topology = &call.core().topology;
    let refuse = |reason: String| call.refuse(INVALID_VALUE, reason);
    match Location::read(asked) {
        Some(Location::Device(ordinal)) => {
            let count = topology.devices.len();
            let device = location::device(ordinal, count).ok_or_else(|| {
                call.refuse(INVALID_DEVICE, format!("device {ordinal} does not exist; there are {count}"))
            })?;
            supported(call, device, number::VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)?;
            Ok((Side::Device(device), asked))
        }
        Some(Location::Host) if handle_types.0 != 0 => {
            Err(refuse("memory of the host as a whole cannot be shared between processes".to_owned()))
        }
        Some(Location::Host) => {
            since(call, 13000)?;
            supported(call, 0, number::HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)?;
            Ok((Side::Host, CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA, 0)))
        }
        Some(Location::Node(node)) if u32::try_from(node).is_ok_and(|node| node < topology.numa_nodes) => {
            since(call, 12020)?;
            supported(call, 0, number::HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)?;
            Ok((Side::Host, asked))
        }
        Some(Location::Node(node)) => {
            Err(refuse(format!("node {node} does not exist; there are {}", topology.numa_nodes)))
        }
        None => Err(refuse(format!("memory cannot be in a location of type {}", asked.type_.0))),
    }
}

fn attribute(call: &Call<'_>, device: u16, attribute: i32) -> Option<i32> {
    call.core().topology.attribute(usize::from(device), attribute)
}

/// Fails if the device lacks a capability. For drivers that do not know the attribute, the version decides.
fn supported(call: &Call<'_>, device: u16, number: i32) -> Status {
    match attribute(call, device, number) {
        Some(0) => Err(call.refuse(NOT_SUPPORTED, format!("device {device} has attribute {number} at 0"))),
        _ => Ok(()),
    }
}

/// Fails if the driver is older than a location type.
fn since(call: &Call<'_>, version: i32) -> Status {
    let have = call.core().topology.driver_version;
    if have >= version {
        return Ok(());
    }
    Err(call.refuse(INVALID_VALUE, format!("such memory exists since driver version {version}; this is {have}")))
}
