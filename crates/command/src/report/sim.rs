//! A program that ran on a simulated machine.

use serde::Serialize;
use serde_json::Value;

use crate::failure::code;

/// An environment variable that is set for a program.
#[derive(Debug, Serialize)]
pub(crate) struct EnvironmentSetting {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) reason: &'static str,
}

/// A run of a program, with all its processes.
#[derive(Debug, Serialize)]
pub(crate) struct SimReport {
    pub(crate) program: Vec<String>,
    pub(crate) exit: Exit,
    pub(crate) totals: Totals,
    /// Likely reasons, if no call arrived at the simulated driver.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) no_calls: Option<String>,
    /// The processes that used the driver, in the order of their first call.
    pub(crate) processes: Vec<ProcessReport>,
}

/// The end of a program.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Exit {
    /// Its exit code, unless a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) signal: Option<i32>,
}

impl Exit {
    /// The code that the command ends with.
    pub(crate) fn code(self) -> u8 {
        match (self.code, self.signal) {
            (Some(code), _) => u8::try_from(code & 0xff).unwrap_or(code::FAILURE),
            (None, Some(signal)) => code::SIGNAL.saturating_add(u8::try_from(signal).unwrap_or(0)),
            (None, None) => code::FAILURE,
        }
    }
}

/// Sums over all processes that have left a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Totals {
    pub(crate) calls: u64,
    /// Calls that answered an error; `NOT_READY` is none, and a look-up of a function is left out.
    pub(crate) failed_calls: u64,
    pub(crate) kernel_launches: u64,
    pub(crate) graph_launches: u64,
    pub(crate) bytes_copied: u64,
    pub(crate) bytes_filled: u64,
    /// Findings of all processes, of those without a report too.
    pub(crate) findings: u64,
}

/// A process that used the driver.
#[derive(Debug, Default, Serialize)]
pub(crate) struct ProcessReport {
    pub(crate) process: u32,
    pub(crate) parent: u32,
    pub(crate) arguments: Vec<String>,
    pub(crate) machine: String,
    pub(crate) devices: usize,
    pub(crate) findings: Vec<Value>,
    /// The findings as people read them.
    pub(crate) finding_texts: Vec<String>,
    /// The report at its exit: calls, bytes, refusals, advice. None if it was killed, or called `_exit` or
    /// `exec`.
    pub(crate) report: Option<Value>,
}

impl SimReport {
    pub(crate) fn new(program: Vec<String>, exit: Exit) -> Self {
        Self { program, exit, totals: Totals::default(), no_calls: None, processes: Vec::new() }
    }

    /// Sums over the processes.
    pub(crate) fn add_up(&mut self) {
        self.totals = Totals::default();
        for process in &self.processes {
            process.add_to(&mut self.totals);
        }
    }
}

impl ProcessReport {
    fn add_to(&self, totals: &mut Totals) {
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let list =
            |name: &str| self.report.iter().filter_map(|report| report[name].as_array()).flatten().collect::<Vec<_>>();
        totals.findings += self.findings.len() as u64;
        totals.findings += self.report.as_ref().map_or(0, |report| number(&report["dropped_findings"]));
        for count in list("calls") {
            let (calls, function) = (number(&count["calls"]), count["function"].as_str().unwrap_or_default());
            totals.calls += calls;
            if function.starts_with("cuLaunch") && !function.starts_with("cuLaunchHostFunc") {
                totals.kernel_launches += calls;
            } else if function.starts_with("cuGraphLaunch") {
                totals.graph_launches += calls;
            }
            let failed = count["failed"].as_array().into_iter().flatten();
            // Look-ups of functions that a driver lacks are no errors of a program.
            let errors = failed
                .filter(|failed| failed["code"] != "CUDA_ERROR_NOT_READY" && !function.starts_with("cuGetProcAddress"));
            totals.failed_calls += errors.map(|failed| number(&failed["calls"])).sum::<u64>();
        }
        for moved in list("moved") {
            let bytes = number(&moved["bytes"]);
            if moved["from"].is_null() { totals.bytes_filled += bytes } else { totals.bytes_copied += bytes }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_sums_over_processes() {
        let report = serde_json::json!({
            "calls": [
                {"function": "cuLaunchKernel", "calls": 3, "failed": [{"code": "CUDA_ERROR_INVALID_VALUE", "calls": 1}]},
                {"function": "cuLaunchHostFunc", "calls": 1, "failed": []},
                {"function": "cuGraphLaunch", "calls": 2, "failed": []},
                {"function": "cuStreamQuery", "calls": 9, "failed": [{"code": "CUDA_ERROR_NOT_READY", "calls": 8}]},
            ],
            "moved": [
                {"from": "host", "to": "device 0", "operations": 1, "bytes": 100},
                {"from": null, "to": "device 0", "operations": 1, "bytes": 7},
            ],
            "dropped_findings": 4,
        });
        let process =
            || ProcessReport { findings: vec![Value::Null], report: Some(report.clone()), ..Default::default() };
        let killed = ProcessReport { findings: vec![Value::Null, Value::Null], ..Default::default() };
        let mut run = SimReport::new(Vec::new(), Exit { code: Some(0), signal: None });
        run.processes = vec![process(), killed, process()];
        run.add_up();
        let expected = Totals {
            calls: 30,
            failed_calls: 2,
            kernel_launches: 6,
            graph_launches: 4,
            bytes_copied: 200,
            bytes_filled: 14,
            findings: 12,
        };
        assert_eq!(run.totals, expected);
    }

    #[test]
    fn a_signal_gives_128_and_its_number() {
        assert_eq!(Exit { code: None, signal: Some(9) }.code(), 137);
        assert_eq!(Exit { code: Some(7), signal: None }.code(), 7);
    }
}
