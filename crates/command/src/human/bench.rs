//! Measurements as tables.

use super::Style;
use super::devices::driver;
use super::quantity::{bytes, count, significant};
use super::table::{Side, Table};
use crate::report::{BandwidthReport, BenchReport, CallReport, KernelTime};

pub(crate) fn bench(report: &BenchReport, style: Style) -> String {
    let devices = count(report.devices.len(), "device");
    let mut text = format!("{} of {devices} on {}\n", style.heading("bench"), driver(&report.driver));
    if let Some(measured) = &report.bandwidth {
        text += &format!("\n{}\n", style.heading("Bandwidth"));
        text += &bandwidth(measured, report, style);
    }
    if let Some(measured) = &report.calls {
        text += &format!("\n{}\n", style.heading("Host time of an operation"));
        if report.virtual_time {
            text += "  of the simulated driver, by the host's clock\n";
        }
        text += &calls(measured, style);
    }
    if let Some(measured) = &report.kernels {
        text += &format!("\n{}\n", style.heading("Kernels"));
        if report.virtual_time {
            text += "  in virtual time; the host's time is that of the simulation\n";
        }
        text += &kernels(measured, style);
    }
    text
}

fn gigabytes(rate: f64) -> String {
    format!("{:.1}", rate / 1e9)
}

fn bandwidth(report: &BandwidthReport, all: &BenchReport, style: Style) -> String {
    let clock = if all.virtual_time { ", in virtual time" } else { "" };
    let copies = count(report.copies, "copy").replace("copys", "copies");
    let mut text = format!("  GB/s, {copies} of {}{clock}\n\n", bytes(report.copy_bytes as u64));
    let mut table = Table::new([
        ("device", Side::Right),
        ("host to device", Side::Right),
        ("device to host", Side::Right),
        ("both at once", Side::Right),
        ("name", Side::Left),
    ]);
    for row in &report.host {
        table.row([
            row.device.to_string(),
            gigabytes(row.to_device),
            gigabytes(row.to_host),
            gigabytes(row.both),
            all.devices.get(row.device as usize).cloned().unwrap_or_default(),
        ]);
    }
    text += &table.render(style);
    let size = all.devices.len();
    text += "\n  from the device on the left to the one above; inside a device on the diagonal\n";
    text += &matrix(size, style, |from, to| {
        report.pair(from, to).map(|pair| {
            let mark = if pair.direct { "" } else { "*" };
            format!("{mark}{}", gigabytes(pair.one_way))
        })
    });
    if size > 1 {
        text += "\n  both directions at once\n";
        text += &matrix(size, style, |from, to| report.pair(from, to).and_then(|pair| pair.both).map(gigabytes));
    }
    if report.devices.iter().any(|pair| !pair.direct) {
        text += "  * through the host: the devices have no access to each other\n";
    }
    text
}

fn matrix(size: usize, style: Style, cell: impl Fn(usize, usize) -> Option<String>) -> String {
    let titles: Vec<String> = (0..size).map(|device| device.to_string()).collect();
    let columns = titles.iter().map(|title| (title.as_str(), Side::Right));
    let mut table = Table::of_columns([("", Side::Right)].into_iter().chain(columns));
    for from in 0..size {
        let cells = (0..size).map(|to| cell(from, to).unwrap_or_else(|| "·".to_owned()));
        table.push([from.to_string()].into_iter().chain(cells).collect());
    }
    table.render(style)
}

fn calls(calls: &[CallReport], style: Style) -> String {
    let mut table = Table::new([
        ("operation", Side::Left),
        ("median ns", Side::Right),
        ("fastest ns", Side::Right),
        ("driver calls", Side::Right),
    ]);
    for call in calls {
        table.row([
            call.operation.to_owned(),
            format!("{:.0}", call.nanoseconds),
            format!("{:.0}", call.fastest),
            significant(call.driver_calls),
        ]);
    }
    table.render(style)
}

fn kernels(kernels: &[KernelTime], style: Style) -> String {
    let mut table = Table::new([
        ("", Side::Left),
        ("kernel", Side::Left),
        ("size", Side::Left),
        ("ms", Side::Right),
        ("rate", Side::Right),
        ("", Side::Left),
        ("host ms", Side::Right),
    ]);
    for kernel in kernels {
        table.row([
            style.mark(kernel.correct),
            kernel.kernel.to_owned(),
            kernel.size.clone(),
            format!("{:.4}", kernel.milliseconds),
            format!("{:.1}", kernel.rate),
            kernel.unit.to_owned(),
            format!("{:.3}", kernel.host_milliseconds),
        ]);
    }
    table.render(style)
}
