//! Devices as a table, and peer access as a matrix.

use super::Style;
use super::quantity::{bytes, count};
use super::table::{Side, Table, matrix};
use crate::report::{DeviceReport, DevicesReport, DriverKind, DriverReport};

pub(crate) fn devices(report: &DevicesReport, style: Style) -> String {
    let heading = style.heading(&count(report.devices.len(), "device"));
    format!("{heading} on {}\n{}", driver(&report.driver), body(report, style))
}

/// Both tables.
pub(super) fn body(report: &DevicesReport, style: Style) -> String {
    let mut text = table(&report.devices, style);
    if report.devices.len() > 1 {
        text += "\n  which can access whose memory (down: who, across: whose)\n";
        let mark = |accessor: usize, owner: usize| match report.can_access[accessor][owner] {
            _ if accessor == owner => '·',
            true => '●',
            false => '–',
        };
        text += &matrix(report.devices.len(), mark);
    }
    text
}

pub(super) fn table(devices: &[DeviceReport], style: Style) -> String {
    let mut table = Table::new([
        ("#", Side::Right),
        ("name", Side::Left),
        ("compute", Side::Right),
        ("memory", Side::Right),
        ("SMs", Side::Right),
        ("bus", Side::Left),
        ("NUMA", Side::Right),
    ]);
    for device in devices {
        table.row([
            device.ordinal.to_string(),
            device.name.clone(),
            device.compute_capability.clone(),
            bytes(device.memory_bytes),
            device.multiprocessors.to_string(),
            device.pci_bus_id.clone(),
            device.host_numa_node.map_or_else(|| "–".to_owned(), |node| node.to_string()),
        ]);
    }
    table.render(style)
}

/// A driver in a few words.
pub(super) fn driver(report: &DriverReport) -> String {
    let DriverReport { kind, description, version, because } = report;
    let name = match kind {
        DriverKind::System => format!("the system's driver, {description}"),
        DriverKind::Simulated { machine } => format!("a simulated machine, {machine}"),
    };
    let because = because.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    format!("{name}, CUDA {version}{because}")
}
