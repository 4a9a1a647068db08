//! A program that ran on a simulated machine.

use std::collections::{BTreeMap, BTreeSet};

use super::Style;
use super::quantity::{bytes, count};
use super::table::{Side, Table};
use crate::report::{EnvironmentSetting, ProcessReport, SimReport, Totals};

/// The most findings that are shown.
const SHOWN: usize = 20;

/// The summary of a run. Each line says where it comes from, because the program may write to the same
/// terminal.
pub(crate) fn sim(report: &SimReport) -> String {
    let mut lines = vec![first(report)];
    if let Some(reason) = &report.no_calls {
        lines.push(format!("no call arrived at the simulated driver: {reason}"));
    }
    for process in report.processes.iter().filter(|process| process.report.is_none()) {
        lines.push(format!(
            "process {} ({}) left no report: it was killed, or called _exit or exec; its calls are not counted",
            process.process,
            process.arguments.join(" ")
        ));
    }
    let several = report.processes.len() > 1;
    let texts =
        report.processes.iter().flat_map(|process| process.finding_texts.iter().map(move |text| (process, text)));
    for (process, text) in texts.clone().take(SHOWN) {
        let of = if several { format!("process {}: ", process.process) } else { String::new() };
        lines.push(format!("{of}{text}"));
    }
    let all = texts.count();
    if all > SHOWN {
        lines.push(format!("{} more; --report FILE has all", count(all - SHOWN, "finding")));
    }
    lines.extend(advice(&report.processes));
    lines.iter().flat_map(|line| line.lines()).map(|line| format!("warploom: {line}\n")).collect()
}

/// `2 processes on h200: 12 calls, 3 kernel launches, 4 KiB copied, 0 B filled, 1 finding`
fn first(report: &SimReport) -> String {
    let Totals { calls, failed_calls, kernel_launches, graph_launches, bytes_copied, bytes_filled, findings } =
        report.totals;
    let machines: BTreeSet<&str> = report.processes.iter().map(|process| process.machine.as_str()).collect();
    let on = if machines.is_empty() { "" } else { " on " };
    let processes = count(report.processes.len(), "process");
    let large = |number: u64, noun| count(usize::try_from(number).unwrap_or(usize::MAX), noun);
    let failed = if failed_calls > 0 { format!(" ({failed_calls} failed)") } else { String::new() };
    let graphs =
        if graph_launches > 0 { format!(", {}", large(graph_launches, "graph launch")) } else { String::new() };
    let end = report.exit.signal.map(|signal| format!("; killed by signal {signal}")).unwrap_or_default();
    format!(
        "{processes}{on}{}: {}{failed}, {}{graphs}, {} copied, {} filled, {}{end}",
        machines.into_iter().collect::<Vec<_>>().join(", "),
        large(calls, "call"),
        large(kernel_launches, "kernel launch"),
        bytes(bytes_copied),
        bytes(bytes_filled),
        large(findings, "finding"),
    )
}

/// Advice of all processes, each once.
fn advice(processes: &[ProcessReport]) -> Vec<String> {
    let mut all = BTreeMap::new();
    let given = processes.iter().filter_map(|process| process.report.as_ref()?["advice"].as_array());
    for text in given.flatten().filter_map(|text| text.as_str()) {
        let next = all.len();
        all.entry(text).or_insert(next);
    }
    let mut all: Vec<(usize, &str)> = all.into_iter().map(|(text, place)| (place, text)).collect();
    all.sort_unstable();
    all.into_iter().map(|(_, text)| format!("advice: {text}")).collect()
}

/// The variables of a program, with their reasons.
pub(crate) fn environment(settings: &[EnvironmentSetting], style: Style) -> String {
    let mut table = Table::new([("variable", Side::Left), ("value", Side::Left), ("reason", Side::Left)]);
    for EnvironmentSetting { name, value, reason } in settings {
        table.row([(*name).to_owned(), value.clone(), (*reason).to_owned()]);
    }
    format!("{}\n{}", style.heading("Environment of the program"), table.render(style))
}
