//! Report of a process's calls and findings, for programs and for people.

use std::fmt;

use serde::Serialize;
use warploom_sim::Finding;
use warploom_sim::trace::TraceReport;

use crate::process::Process;

/// Number of the newest refusals that people are shown; programs are shown all that the machine remembers.
const SHOWN: usize = 20;

#[derive(Serialize)]
pub(crate) struct Report {
    process: u32,
    machine: String,
    devices: usize,
    /// Findings of the checks, leaks included.
    findings: Vec<Finding>,
    /// Findings beyond those that the machine keeps.
    dropped_findings: u64,
    #[serde(flatten)]
    trace: Option<TraceReport>,
    /// Reasons for refused calls, the newest last.
    refused: Vec<String>,
    /// Advice about refusals with a common remedy.
    advice: Vec<&'static str>,
}

impl Report {
    pub(crate) fn of(process: &Process) -> Self {
        let machine = &process.machine;
        Self {
            process: std::process::id(),
            machine: process.settings.name.clone(),
            devices: machine.topology().devices.len(),
            findings: machine.findings().into_iter().chain(leaks(process)).collect(),
            dropped_findings: machine.dropped_findings(),
            trace: machine.trace(),
            refused: machine.log().iter().map(ToString::to_string).collect(),
            advice: machine.advice(),
        }
    }

    /// The findings as people read them.
    pub(crate) fn finding_texts(&self) -> Vec<String> {
        self.findings.iter().map(ToString::to_string).collect()
    }
}

/// Resources that were never freed or destroyed. The machine is never dropped, so it does not report them
/// itself.
pub(crate) fn leaks(process: &Process) -> Vec<Finding> {
    if process.settings.check.finds() { process.machine.leaks() } else { Vec::new() }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, machine, devices, findings, dropped_findings, trace, refused, advice } = self;
        writeln!(formatter, "warploom: process {process} on {machine}, devices: {devices}")?;
        writeln!(formatter, "findings: {}", findings.len() as u64 + dropped_findings)?;
        for finding in findings {
            writeln!(formatter, "{finding}")?;
        }
        if let Some(trace) = trace {
            write!(formatter, "{trace}")?;
        }
        writeln!(formatter, "refused: {}", refused.len())?;
        if refused.len() > SHOWN {
            writeln!(formatter, "  …")?;
        }
        for line in &refused[refused.len().saturating_sub(SHOWN)..] {
            // The advice that a line ends with stands below, once.
            writeln!(formatter, "  {}", line.lines().next().unwrap_or_default())?;
        }
        for line in advice.iter().flat_map(|advice| advice.lines()) {
            writeln!(formatter, "advice: {line}")?;
        }
        Ok(())
    }
}
