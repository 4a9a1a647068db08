//! `warploom doctor`: driver, devices, libraries and folders, and the next step for each that is missing.

mod device_files;
mod driver;
mod libraries;
mod loaded;
mod nvml;
mod simulated;

use super::Run;
use crate::Carried;
use crate::failure::Failure;
use crate::human;
use crate::report::{DoctorReport, Health, Subject};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom doctor           a table: found, where, which version, and the next step
  warploom doctor --json    for programs

Exit codes:
  0    a program can run here, on a GPU or on a simulated machine
  1    nothing can run";

/// Arguments of `warploom doctor`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let report = report(session.carried);
        let shown = session.show(&report, |style| human::doctor(&report, style))?;
        Ok(shown.succeeded(report.can_run_on_gpu || report.can_simulate))
    }
}

fn report(carried: Carried) -> DoctorReport {
    let (mut subjects, can_run_on_gpu) = driver::subjects();
    subjects.extend(device_files::subjects());
    subjects.extend(libraries::subjects());
    subjects.push(nvml::subject());
    let (simulated, can_simulate) = simulated::subjects(carried);
    subjects.extend(simulated);
    DoctorReport { can_run_on_gpu, can_simulate, subjects }
}

/// A thing that is there.
fn present(name: &str, found: String) -> Subject {
    Subject { name: name.to_owned(), health: Health::Good, found, next_step: None }
}

/// A thing that is not there, or does not work.
fn lacking(name: &str, health: Health, found: String, next_step: String) -> Subject {
    Subject { name: name.to_owned(), health, found, next_step: Some(next_step) }
}
