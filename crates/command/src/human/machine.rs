//! Machines that could be simulated.

use std::collections::BTreeSet;

use super::Style;
use super::devices::table as device_table;
use super::quantity::{bandwidth, count};
use super::table::{Side, Table};
use crate::report::MachineReport;

/// Up to how many links are listed one by one; beyond that they are all alike on any sensible machine.
const FEW: usize = 12;

pub(crate) fn machine(report: &MachineReport, style: Style) -> String {
    let nodes = count(report.numa_nodes as usize, "NUMA node");
    let devices = count(report.devices.len(), "device");
    let mut text = format!("{}: {devices}, driver {}, {nodes}\n", style.heading(&report.name), report.driver_version);
    if report.devices.is_empty() {
        return text;
    }
    text += &device_table(&report.devices, style);
    if report.links.is_empty() {
        return text + "\n  no device can access another's memory\n";
    }
    if report.links.len() > FEW {
        return text + &format!("\n  links: {}\n", peers(report));
    }
    text.push('\n');
    let mut links = Table::new([
        ("from", Side::Right),
        ("to", Side::Right),
        ("link", Side::Left),
        ("bandwidth", Side::Right),
        ("latency", Side::Right),
    ]);
    for link in &report.links {
        links.row([
            link.from.to_string(),
            link.to.to_string(),
            link.kind.to_owned(),
            bandwidth(link.bytes_per_second),
            format!("{} ns", link.latency_ns),
        ]);
    }
    text + &links.render(style)
}

pub(crate) fn presets(reports: &[MachineReport], style: Style) -> String {
    let mut table = Table::new([
        ("name", Side::Left),
        ("devices", Side::Left),
        ("peers", Side::Left),
        ("driver", Side::Right),
        ("NUMA nodes", Side::Right),
    ]);
    for report in reports {
        table.row([
            report.name.clone(),
            models(report),
            peers(report),
            report.driver_version.clone(),
            report.numa_nodes.to_string(),
        ]);
    }
    format!("{}\n{}", style.heading("Machines that can be simulated by name"), table.render(style))
}

/// The devices by name, each with how many there are.
fn models(report: &MachineReport) -> String {
    let names: BTreeSet<&str> = report.devices.iter().map(|device| device.name.as_str()).collect();
    let number = |name: &str| report.devices.iter().filter(|device| device.name == name).count();
    names.into_iter().map(|name| format!("{} × {name}", number(name))).collect::<Vec<_>>().join(", ")
}

/// The links in a few words.
fn peers(report: &MachineReport) -> String {
    let devices = report.devices.len();
    let kinds: BTreeSet<&str> = report.links.iter().map(|link| link.kind).collect();
    let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
    match report.links.len() {
        0 => "none".to_owned(),
        links if links == devices * (devices - 1) => format!("all to all, {kinds}"),
        links => format!("{links} of {} pairs, {kinds}", devices * (devices - 1)),
    }
}
