//! `warploom devices`: the devices of a driver, and their peer access.

use warploom::{Device, NumaId, Result};

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
    let properties = device.properties()?;
    Ok(DeviceReport {
        ordinal: device.ordinal(),
        name: device.name()?.to_owned(),
        uuid: device.uuid()?.to_string(),
        compute_capability: device.compute_capability()?.to_string(),
        memory_bytes: device.total_memory()?,
        multiprocessors: properties.multiprocessors(),
        pci_bus_id: device.pci_address()?.to_string(),
        host_numa_node: properties.host_numa().map(NumaId::get),
    })
}
