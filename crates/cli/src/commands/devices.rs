//! `warploom devices`: what the driver has, and who can access whose memory.

use warploom::{Device, DeviceAttribute, Devices as _, Result};

use crate::choice::Opened;
use crate::report::{DeviceReport, DevicesReport};

pub(crate) fn report(opened: &Opened) -> Result<DevicesReport> {
    let devices = opened.driver.devices()?;
    let row = |accessor: &Device| devices.iter().map(|owner| accessor.can_access(owner)).collect();
    Ok(DevicesReport {
        driver: opened.report.clone(),
        devices: devices.iter().map(device).collect::<Result<_>>()?,
        can_access: devices.iter().map(row).collect::<Result<_>>()?,
    })
}

fn device(device: &Device) -> Result<DeviceReport> {
    Ok(DeviceReport {
        ordinal: device.ordinal(),
        name: device.name()?,
        compute_capability: device.compute_capability()?.to_string(),
        memory_bytes: device.total_memory()?,
        multiprocessors: device.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        pci_bus_id: device.pci_bus_id()?,
    })
}
