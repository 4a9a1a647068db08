//! What a process did with its machine, for programs and for people.

use std::fmt;

use serde::Serialize;
use warploom_sim::trace::TraceReport;

use crate::process::Process;

/// How many of the newest refusals people are shown; programs are shown all that the machine remembers.
const SHOWN: usize = 20;

#[derive(Serialize)]
pub(crate) struct Report {
    process: u32,
    machine: String,
    devices: usize,
    #[serde(flatten)]
    trace: Option<TraceReport>,
    /// Why calls were refused, the newest last.
    refused: Vec<String>,
}

impl Report {
    pub(crate) fn of(process: &Process) -> Self {
        let machine = &process.machine;
        Self {
            process: std::process::id(),
            machine: process.settings.name.clone(),
            devices: machine.topology().devices.len(),
            trace: machine.trace(),
            refused: machine.log().iter().map(ToString::to_string).collect(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { process, machine, devices, trace, refused } = self;
        writeln!(formatter, "warploom: process {process} on {machine}, devices: {devices}")?;
        if let Some(trace) = trace {
            write!(formatter, "{trace}")?;
        }
        writeln!(formatter, "refused: {}", refused.len())?;
        if refused.len() > SHOWN {
            writeln!(formatter, "  …")?;
        }
        for line in &refused[refused.len().saturating_sub(SHOWN)..] {
            writeln!(formatter, "  {line}")?;
        }
        Ok(())
    }
}
