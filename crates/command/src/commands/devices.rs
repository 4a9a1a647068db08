//! `warploom devices`: the devices of a driver, and their peer access.

use warploom::{Device, NumaId, Result};

use super::Run;
use crate::choice::{DriverArgs, Opened};
use crate::failure::Failure;
use crate::human;
use crate::report::{DeviceReport, DevicesReport};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom devices                              of the system's driver, else of a simulated machine
  warploom devices --machine dgx-h100 --json    of a simulated machine, for programs";

/// Arguments of `warploom devices`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    driver: DriverArgs,
}

impl Run for Args {
    fn driver(&self) -> Option<&DriverArgs> {
        Some(&self.driver)
    }

    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let devices = report(&session.choice(&self.driver).open()?)?;
        session.show(&devices, |style| human::devices(&devices, style))
    }
}

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
