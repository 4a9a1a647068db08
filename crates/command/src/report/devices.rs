//! A driver and its devices.

use serde::Serialize;
use warploom::Driver;

/// The driver that was used.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DriverReport {
    #[serde(flatten)]
    pub(crate) kind: DriverKind,
    /// The driver's own description.
    pub(crate) description: String,
    /// The CUDA version it implements.
    pub(crate) version: String,
    /// The reason for not using the system's driver, unless another was asked for.
    pub(crate) because: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum DriverKind {
    System,
    Simulated {
        /// The preset or the file.
        machine: String,
    },
}

impl DriverReport {
    pub(crate) fn new(driver: &Driver, kind: DriverKind, because: Option<String>) -> Self {
        let (description, version) = (driver.description().to_owned(), driver.version().to_string());
        Self { kind, description, version, because }
    }
}

/// A driver's devices.
#[derive(Debug, Serialize)]
pub(crate) struct DevicesReport {
    pub(crate) driver: DriverReport,
    pub(crate) devices: Vec<DeviceReport>,
    /// By accessor, then by owner.
    pub(crate) can_access: Vec<Vec<bool>>,
}

/// One device.
#[derive(Debug, Serialize)]
pub(crate) struct DeviceReport {
    pub(crate) ordinal: u32,
    pub(crate) name: String,
    pub(crate) uuid: String,
    pub(crate) compute_capability: String,
    pub(crate) memory_bytes: u64,
    pub(crate) multiprocessors: u32,
    pub(crate) pci_bus_id: String,
    /// The closest node of the host, where the driver knows.
    pub(crate) host_numa_node: Option<u32>,
}
