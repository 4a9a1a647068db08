//! The one machine of the process.

use std::sync::Arc;

use warploom_sim::trace::Trace;
use warploom_sim::{Backtraces, Checks, Machine, MachineBuilder, StartError};

use crate::complaint::complain;
use crate::journal::Journal;
use crate::settings::{Check, Settings};

/// Starts the machine that settings ask for; it records what they want to know in the end.
pub(crate) fn start(settings: &Settings, journal: Option<Arc<Journal>>) -> Result<Machine, StartError> {
    let builder = Machine::builder().topology(settings.topology.clone()).checks(checks(settings, journal));
    let builder = builder.faults(settings.faults.clone()).mode(settings.mode);
    let builder = settings.workers.into_iter().fold(builder, MachineBuilder::workers);
    let builder = settings.host_memory.into_iter().fold(builder, MachineBuilder::host_memory);
    let builder = if settings.timeline.is_some() || settings.record.is_some() {
        builder.trace(Trace::timeline())
    } else if settings.report.is_some() || settings.run.is_some() {
        builder.trace(Trace::counts())
    } else {
        builder
    };
    builder.start()
}

/// The checks of the machine. Findings go into the report and the journal; without either, each is printed
/// when it is found.
fn checks(settings: &Settings, journal: Option<Arc<Journal>>) -> Checks {
    let checks = match settings.check {
        Check::Off => Checks::off(),
        Check::Pointers => Checks::off().pointers(true),
        Check::Report => Checks::report().pointers(true),
        Check::Fail => Checks::fail().pointers(true),
    };
    // A program that is not in Rust may have frames that are an interpreter's; calls have their numbers. A
    // record keeps those frames alone whose source is known.
    let backtraces = if settings.record.is_some() { Backtraces::All } else { Backtraces::Off };
    let checks = checks.backtraces(backtraces).kernels(settings.kernels);
    match (journal, &settings.report) {
        (Some(journal), _) => checks.on_finding(move |finding| journal.finding(finding)),
        (None, Some(_)) => checks.on_finding(|_| {}),
        (None, None) => checks.on_finding(|finding| complain(finding)),
    }
}
