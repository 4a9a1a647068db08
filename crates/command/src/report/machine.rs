//! A machine that could be simulated.

use serde::Serialize;

use super::DeviceReport;

#[derive(Debug, Serialize)]
pub(crate) struct MachineReport {
    pub(crate) name: String,
    pub(crate) driver_version: String,
    pub(crate) numa_nodes: u32,
    pub(crate) devices: Vec<DeviceReport>,
    pub(crate) links: Vec<LinkReport>,
}

/// A link by which one device reaches the memory of another.
#[derive(Debug, Serialize)]
pub(crate) struct LinkReport {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) kind: &'static str,
    pub(crate) bytes_per_second: u64,
    pub(crate) latency_ns: u64,
}
