//! Peer capability between two devices.
//!
//! Capability has a direction, and the driver's functions about it take two ordinals that are easy to
//! exchange. They are called here and nowhere else, by names instead of positions.
#![expect(unsafe_code, reason = "asks the driver about a pair of devices")]

use warploom_driver::sys::types::CUdevice_P2PAttribute;

use crate::device::same_driver;
use crate::{Device, Result};

/// `true` if `accessor` can be given access to memory of `memory_owner`. One driver call; none for a device
/// and itself.
///
/// # Errors
///
/// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for devices of different drivers, and
/// the driver's error.
#[doc(alias = "cuDeviceCanAccessPeer")]
pub(crate) fn peer_capability(accessor: &Device, memory_owner: &Device) -> Result<bool> {
    same_driver(accessor.driver(), memory_owner.driver())?;
    if accessor == memory_owner {
        return Ok(true);
    }
    let mut can = 0;
    // SAFETY: `can` is writable.
    unsafe { accessor.driver().cuDeviceCanAccessPeer(&raw mut can, accessor.as_raw(), memory_owner.as_raw()) }?;
    Ok(can != 0)
}

/// The driver's attribute of the link by which `accessor` reaches memory of `memory_owner`, another device.
/// One driver call.
///
/// # Errors
///
/// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for devices of different drivers, and
/// the driver's error.
#[doc(alias = "cuDeviceGetP2PAttribute")]
pub(crate) fn peer_attribute(
    accessor: &Device,
    memory_owner: &Device,
    attribute: CUdevice_P2PAttribute,
) -> Result<i32> {
    same_driver(accessor.driver(), memory_owner.driver())?;
    let mut value = 0;
    let (from, to) = (accessor.as_raw(), memory_owner.as_raw());
    // SAFETY: `value` is writable; an unknown attribute is refused.
    unsafe { accessor.driver().cuDeviceGetP2PAttribute(&raw mut value, attribute, from, to) }?;
    Ok(value)
}
