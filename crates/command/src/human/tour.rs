//! The tour, step by step.

use super::Style;
use super::devices::{body, driver};
use super::quantity::{bytes, count};
use crate::report::{Alive, Findings, Launch, Step, Tour};

pub(crate) fn tour(tour: &Tour, style: Style) -> String {
    let mut text = format!("{} on {}\n", style.heading("warploom"), driver(&tour.driver));
    for step in &tour.steps {
        text += &format!("\n{}\n", style.heading(step.name));
        text += &show(step, style);
    }
    let checks = || tour.steps.iter().flat_map(|step| &step.checks);
    let held = checks().filter(|check| check.held).count();
    let failed = tour.steps.iter().filter(|step| step.error.is_some()).count();
    let stopped = if failed == 0 { String::new() } else { format!(", {} stopped early", count(failed, "step")) };
    text + &format!(
        "\n{} This took {} driver calls; {held} of {} checks held{stopped}.\n",
        style.mark(tour.passed),
        tour.driver_calls,
        checks().count(),
    )
}

fn show(step: &Step, style: Style) -> String {
    let mut text = step.findings.as_ref().map(|found| findings(found, style)).unwrap_or_default();
    for check in &step.checks {
        text += &format!("  {} {}\n", style.mark(check.held), check.claim);
    }
    if let Some(error) = &step.error {
        text += &format!("  {} {error}\n", style.mark(false));
    }
    text
}

fn findings(findings: &Findings, style: Style) -> String {
    match findings {
        Findings::Devices(report) => body(report, style),
        Findings::RoundTrip { bytes: len } => format!("  {} to the device and back\n", bytes(*len as u64)),
        Findings::Ordering { bytes: len, fill_ms, total_ms, virtual_time } => {
            let clock = if *virtual_time { "on the machine's virtual clock" } else { "on the device's clock" };
            let len = bytes(*len as u64);
            format!(
                "  one stream fills {len}, another waits for its event and copies them: {fill_ms:.4} ms for the fill, \
                 {total_ms:.4} ms in all, {clock}\n"
            )
        }
        Findings::Pool { rounds, bytes_per_round, reserved_bytes, used_high_bytes } => format!(
            "  {rounds} buffers of {} one after the other: at most {} in use, {} taken from the device\n",
            bytes(*bytes_per_round as u64),
            bytes(*used_high_bytes),
            bytes(*reserved_bytes)
        ),
        Findings::Copies { pinned_bytes, width, height, pitch, batch, batch_calls } => {
            let calls = count(usize::try_from(*batch_calls).unwrap_or(usize::MAX), "driver call");
            format!(
                "  {} of page-locked memory, lent to a copy; {height} rows of {width} bytes out of {pitch}; a batch of {batch} copies \
                 with {calls}\n",
                bytes(*pinned_bytes as u64)
            )
        }
        Findings::Resources { limit_bytes, live_bytes, peak_bytes, message } => format!(
            "  a pool behind a limit of {} and a counter: {} in use, {} at the most; asked for another {}:\n  {message}\n",
            bytes(*limit_bytes),
            bytes(*live_bytes),
            bytes(*peak_bytes),
            bytes(*limit_bytes)
        ),
        Findings::Cache { hits, misses, driver_calls, released_bytes } => {
            let calls = count(usize::try_from(*driver_calls).unwrap_or(usize::MAX), "driver call");
            format!(
                "  100 allocations and drops on one stream: {calls}; {hits} from kept memory in all, {misses} from the pool, which \
                 got {} back\n",
                bytes(*released_bytes)
            )
        }
        Findings::Processes { workers, bytes: len, descriptor_bytes } => format!(
            "  {} in a pool, read by {}, each a process that got a file descriptor and {descriptor_bytes} bytes\n",
            bytes(*len),
            count(*workers, "worker"),
        ),
        Findings::Lifetimes { drop_calls, alive } => {
            let mut text = format!(
                "  a buffer dropped while another stream uses it: {}\n  still alive, by the report of leaks:\n",
                drop_calls.join(", ")
            );
            for Alive { what, device, count, bytes: len } in alive {
                let len = if *len > 0 { format!(", {}", bytes(*len as u64)) } else { String::new() };
                let whose = device.map(|device| format!(" of device {device}")).unwrap_or_default();
                text += &format!("    {count} × {what}{whose}{len}\n");
            }
            text
        }
        Findings::Capture { nodes, bytes: len } => {
            format!("  {} of a graph, over two buffers of {}\n", count(*nodes, "node"), bytes(*len as u64))
        }
        Findings::Graphs { nodes, inner_nodes, captured_nodes, launch_calls, launches, picture, .. } => {
            let calls = count(usize::try_from(*launch_calls).unwrap_or(usize::MAX), "driver call");
            let mut text = format!(
                "  a graph of {} and {inner_nodes} inside them, {captured_nodes} of those captured from a stream; a launch is {calls}\n",
                count(*nodes, "node")
            );
            for Launch { start, steps } in launches {
                text += &format!("  from {start} to 1 by a loop on the device: {}\n", count(*steps as usize, "step"));
            }
            text + &picture.iter().map(|line| format!("    {line}\n")).collect::<String>()
        }
        Findings::Managed { buffers, bytes: len, prefetch_calls } => {
            let calls = count(usize::try_from(*prefetch_calls).unwrap_or(usize::MAX), "driver call");
            let (buffers, len) = (count(*buffers, "buffer"), bytes(*len as u64));
            format!("  {buffers} of {len}, written by the host, moved to the device with {calls} and back again\n")
        }
        Findings::Journey { granted, grant_calls, islands, pairs, enabled_pairs, bytes: len, route, direct } => {
            let list =
                |ordinals: &[u32], between: &str| ordinals.iter().map(u32::to_string).collect::<Vec<_>>().join(between);
            let grant = match granted.as_slice() {
                [] => "no other device reaches the memory of device 0".to_owned(),
                granted => {
                    let calls = count(usize::try_from(*grant_calls).unwrap_or(usize::MAX), "driver call");
                    let whom = if granted.len() == 1 { "device" } else { "devices" };
                    format!("a pool of device 0 opened to {whom} {} with {calls}", list(granted, ", "))
                }
            };
            let mesh =
                format!("access enabled in {enabled_pairs} of {pairs} directions, {}", count(*islands, "island"));
            let (len, hops) = (bytes(*len as u64), route.len().saturating_sub(1));
            format!(
                "  {grant}\n  {mesh}\n  {len} from device to device, {direct} of {hops} times directly: {}\n",
                list(route, " → ")
            )
        }
        Findings::Kernels { kernel, pixels, bands } => {
            let mut text = format!(
                "  {kernel}, loaded once from PTX, draws {pixels} pixels on {}:\n",
                count(bands.len(), "device")
            );
            for band in bands {
                for (at, row) in band.rows.iter().enumerate() {
                    let whose = if at == 0 { format!("device {}", band.device) } else { String::new() };
                    text += format!("  {whose:<9}  {row}").trim_end();
                    text.push('\n');
                }
            }
            text
        }
        Findings::Fault { asked_bytes, message } => {
            format!("  asking for {}:\n  {message}\n", bytes(*asked_bytes))
        }
        Findings::Orders { operations, streams, orders } => format!(
            "  {} on {} run in {}: {}\n",
            count(*operations, "operation"),
            count(*streams, "stream"),
            count(orders.len(), "order"),
            orders.join(", ")
        ),
        Findings::WhatIf { calls, errors, first } => format!(
            "  a program of {calls} driver calls, run {calls} times, each time with another one failing: {errors} errors, the first \
             of them\n  {first}\n"
        ),
        Findings::Races { findings } | Findings::Barrier { findings } => {
            // Backtraces are printed with `--json` only: here the caller is the tour itself.
            findings.iter().map(|finding| format!("  {}\n", finding.kind.to_string().replace('\n', "\n  "))).collect()
        }
    }
}
