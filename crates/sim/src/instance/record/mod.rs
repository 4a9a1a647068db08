//! The record of a run: everything that a machine with a timeline knows of the program.

mod findings;
mod ops;
mod source;

use warploom_engine::{Mode, Order};
use warploom_record::{Call, Calls, Device, Dropped, FunctionCount, Process, Record};

use super::machine::Machine;
use crate::check::Finding;
use crate::machine::core::Core;
use crate::trace::{Timeline, TraceReport};

impl Machine {
    /// The run so far as data, if the machine was started with
    /// [`Trace::timeline`](crate::trace::Trace::timeline): ops, calls, kernels, memory in use, traffic of
    /// links, and findings with the source lines of their calls. The crate `warploom-page` makes a page of it.
    ///
    /// ```
    /// use warploom_sim::Machine;
    /// use warploom_sim::trace::Trace;
    ///
    /// let machine = Machine::builder().trace(Trace::timeline()).start()?;
    /// // … open a driver on it, and use that …
    /// let record = machine.record().expect("the machine was started with a timeline");
    /// assert_eq!(record.machine.devices.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn record(&self) -> Option<Record> {
        self.record_of(self.findings())
    }

    /// The [record](Machine::record) as it is when the program is over: [leaks](Machine::leaks) are among the
    /// findings.
    #[must_use]
    pub fn record_at_end(&self) -> Option<Record> {
        let leaks = self.here().filter(|core| core.findings.is_on()).map(|core| core.leaks());
        self.record_of(self.findings().into_iter().chain(leaks.into_iter().flatten()).collect())
    }

    fn record_of(&self, findings: Vec<Finding>) -> Option<Record> {
        let (timeline, report, core) = (self.timeline()?, self.trace()?, self.here()?);
        let mut record = Record {
            process: Process { id: std::process::id(), command: command() },
            machine: description(core),
            kernels: timeline.kernels.clone(),
            shapes: timeline.shapes.clone(),
            calls: calls(&timeline),
            functions: functions(&report),
            memory: self.recorder()?.memory(),
            links: core.world().links(&core.topology),
            findings: findings::of(findings),
            refused: self.log().iter().map(ToString::to_string).collect(),
            dropped: Dropped { events: timeline.dropped, findings: self.dropped_findings() },
            ..Record::default()
        };
        ops::add(&mut record, &timeline, &report);
        Some(record)
    }
}

fn description(core: &Core) -> warploom_record::Machine {
    let devices = core.topology.devices.iter().map(|device| Device {
        name: device.name.clone(),
        memory: device.total_memory,
        numa_node: device.numa_node,
    });
    warploom_record::Machine {
        name: String::new(),
        driver_version: core.topology.driver_version,
        mode: mode(core.mode),
        devices: devices.collect(),
    }
}

/// The command line of this process.
fn command() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

fn mode(mode: Mode) -> String {
    match mode {
        Mode::Threads => "threads".to_owned(),
        Mode::Sync => "sync".to_owned(),
        Mode::Deterministic(Order::Eager) => "eager".to_owned(),
        Mode::Deterministic(Order::Lazy) => "lazy".to_owned(),
        Mode::Deterministic(Order::Seeded(seed)) => format!("seeded:{seed}"),
        other => format!("{other:?}"),
    }
}

/// The calls, in the order of their starts.
fn calls(timeline: &Timeline) -> Calls {
    let mut calls = timeline.calls.clone();
    calls.sort_by_key(|call| call.start_ns);
    let names: Vec<String> = calls.iter().map(|call| code_name(call.code)).collect();
    Calls::of(calls.iter().zip(&names).map(|(call, code)| Call {
        function: call.function.name(),
        code,
        number: call.number,
        thread: call.thread,
        start_ns: call.start_ns,
        time_ns: call.end_ns - call.start_ns,
    }))
}

fn functions(report: &TraceReport) -> Vec<FunctionCount> {
    let counts = report.calls.iter();
    counts
        .map(|count| FunctionCount {
            name: count.function.name().to_owned(),
            calls: count.calls,
            failed: count.failed.iter().map(|failed| (code_name(failed.code), failed.calls)).collect(),
        })
        .collect()
}

fn code_name(code: warploom_sys::types::CUresult) -> String {
    code.name().map_or_else(|| code.to_string(), str::to_owned)
}
