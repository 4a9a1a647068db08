//! The PTX of a file: kernels, instructions and problems.

use super::Style;
use super::quantity::{bytes, count};
use super::table::{Side, Table};
use crate::report::{KernelReport, PtxReport, PtxText};

/// The most opcodes that are listed.
const MOST_OPCODES: usize = 24;

pub(crate) fn ptx(report: &PtxReport, style: Style) -> String {
    let mut text =
        format!("{}: {}, {}\n", style.heading(&report.file), report.format, count(report.texts.len(), "PTX text"));
    for (index, part) in report.texts.iter().enumerate() {
        let title = if report.texts.len() == 1 { String::new() } else { format!("text {}: ", index + 1) };
        text += &format!("\n{}{}\n", style.heading(&title), header(part));
        text += &one_text(part, &report.file, style);
    }
    for reason in &report.unusable {
        text += &format!("\n  without PTX: {reason}\n");
    }
    text += &match &report.refusal {
        None => format!("\n{} device 0 of {} accepts it\n", style.mark(true), report.machine),
        Some(refusal) => {
            let mut problems = report.texts.iter().flat_map(|text| &text.problems);
            let is_shown = problems.any(|problem| problem.shown == refusal.reason);
            let reason = if is_shown { String::new() } else { format!(": {}", refusal.reason) };
            format!("\n{} device 0 of {} refuses it, {}{reason}\n", style.mark(false), report.machine, refusal.code)
        }
    };
    text
}

fn header(text: &PtxText) -> String {
    let unknown = || "unknown".to_owned();
    let version = text.version.clone().unwrap_or_else(unknown);
    let target = text.target.clone().unwrap_or_else(unknown);
    let place = text.cubin.as_ref().map(|cubin| format!(", in a cubin for {cubin}")).unwrap_or_default();
    let functions =
        if text.functions == 0 { String::new() } else { format!(", {}", count(text.functions, "function")) };
    format!("PTX {version} for {target}{place}: {}{functions}", count(text.kernels.len(), "kernel"))
}

fn one_text(text: &PtxText, file: &str, style: Style) -> String {
    let mut shown = String::new();
    if !text.kernels.is_empty() {
        shown += &kernels(&text.kernels, style);
    }
    if !text.opcodes.is_empty() {
        shown += &format!("\n{}", opcodes(text, style));
    }
    for warning in &text.warnings {
        shown += &format!("\n  warning: {warning}\n");
    }
    for problem in &text.problems {
        shown += &format!("\n{} {file}:{}\n", style.mark(false), problem.shown);
    }
    shown
}

fn kernels(kernels: &[KernelReport], style: Style) -> String {
    let mut table = Table::new([
        ("kernel", Side::Left),
        ("parameters", Side::Left),
        ("registers", Side::Right),
        ("shared", Side::Right),
        ("local", Side::Right),
        ("threads", Side::Right),
        ("instructions", Side::Right),
    ]);
    let unknown = || "–".to_owned();
    let size = |size: Option<usize>| size.map_or_else(unknown, |size| bytes(size as u64));
    for kernel in kernels {
        let parameters: Vec<&str> = kernel.parameters.iter().map(|parameter| parameter.declared.as_str()).collect();
        table.row([
            kernel.name.clone(),
            parameters.join(", "),
            kernel.registers.map_or_else(unknown, |registers| format!("about {registers}")),
            size(kernel.shared_bytes),
            size(kernel.local_bytes),
            kernel.max_threads.map_or_else(unknown, |[x, y, z]| format!("{x}×{y}×{z}")),
            kernel.instructions.to_string(),
        ]);
    }
    table.render(style)
}

/// The opcodes, the most frequent ones first.
fn opcodes(text: &PtxText, style: Style) -> String {
    let mut sorted: Vec<(&String, &usize)> = text.opcodes.iter().collect();
    sorted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), *name));
    let most = sorted.first().map_or(1, |(_, count)| **count);
    let mut table = Table::new([("opcode", Side::Left), ("count", Side::Right), ("", Side::Left)]);
    for (name, count) in sorted.iter().take(MOST_OPCODES) {
        table.row([(*name).clone(), count.to_string(), "█".repeat((**count * 32).div_ceil(most))]);
    }
    let more = sorted.len().saturating_sub(MOST_OPCODES);
    let more = if more == 0 { String::new() } else { format!("  and {more} more\n") };
    table.render(style) + &more
}
