//! The one machine of the process.

use warploom_sim::trace::Trace;
use warploom_sim::{Backtraces, Checks, Machine, MachineBuilder, StartError};

use crate::complaint::complain;
use crate::settings::{Check, Settings};

/// Starts the machine that settings ask for; it records what they want to know in the end.
pub(crate) fn start(settings: &Settings) -> Result<Machine, StartError> {
    let builder = Machine::builder().topology(settings.topology.clone()).checks(checks(settings));
    let builder = builder.faults(settings.faults.clone()).mode(settings.mode);
    let builder = settings.workers.into_iter().fold(builder, MachineBuilder::workers);
    let builder = settings.host_memory.into_iter().fold(builder, MachineBuilder::host_memory);
    let builder = match (&settings.timeline, &settings.report) {
        (Some(_), _) => builder.trace(Trace::timeline()),
        (None, Some(_)) => builder.trace(Trace::counts()),
        (None, None) => builder,
    };
    builder.start()
}

/// The checks of the machine. Findings go into the report; without one, each is printed when it is found.
fn checks(settings: &Settings) -> Checks {
    let checks = match settings.check {
        Check::Off => Checks::off(),
        Check::Pointers => Checks::off().pointers(true),
        Check::Report => Checks::report().pointers(true),
        Check::Fail => Checks::fail().pointers(true),
    };
    // A program that is not in Rust may have frames that are an interpreter's; calls have their numbers.
    let checks = checks.backtraces(Backtraces::Off).kernels(settings.kernels);
    match settings.report {
        Some(_) => checks.on_finding(|_| {}),
        None => checks.on_finding(|finding| complain(finding)),
    }
}
