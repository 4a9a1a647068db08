//! Errors of finding devices and asking about them.

use warploom_driver::DriverVersion;

use crate::{DeviceAttribute, PciAddress, Uuid};

/// A device that does not exist, or that cannot take part in the call.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The ordinal is beyond the last device.
    #[error("device {ordinal} does not exist; the driver has {count}")]
    NoSuchDevice {
        /// The ordinal asked for.
        ordinal: u32,
        /// The number of devices.
        count: u32,
    },

    /// Several ordinals are beyond the last device.
    #[error("{} not exist; the driver has {count}", list(ordinals, "does", "do"))]
    NoSuchDevices {
        /// All ordinals without a device, ascending.
        ordinals: Vec<u32>,
        /// The number of devices.
        count: u32,
    },

    /// No device has this PCI address.
    #[error("no device is at {address}")]
    NoDeviceAt {
        /// The address asked for.
        address: PciAddress,
    },

    /// No device has this UUID.
    #[error("no device has the UUID {uuid}")]
    NoDeviceWithUuid {
        /// The UUID asked for.
        uuid: Uuid,
    },

    /// The attribute is newer than the driver.
    #[error("driver {driver} does not know {attribute}, which came with a newer one")]
    UnknownAttribute {
        /// The attribute asked for.
        attribute: DeviceAttribute,
        /// The driver's version.
        driver: DriverVersion,
    },

    /// The device was not probed for the topology.
    #[error("device {device} is not in the topology; probe with it")]
    NotInTopology {
        /// The device.
        device: u32,
    },

    /// Two values of different drivers were used together.
    #[error("one belongs to driver {one:?}, the other to {other:?}; copy through the host")]
    DriverMismatch {
        /// The description of one driver.
        one: Box<str>,
        /// The description of the other.
        other: Box<str>,
    },
}

/// `device 1 does` or `devices 1, 2 do`.
pub(crate) fn list(ordinals: &[u32], one: &str, many: &str) -> String {
    match ordinals {
        [ordinal] => format!("device {ordinal} {one}"),
        _ => {
            let list: Vec<_> = ordinals.iter().map(u32::to_string).collect();
            format!("devices {} {many}", list.join(", "))
        }
    }
}
