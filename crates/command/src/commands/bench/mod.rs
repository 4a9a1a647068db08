//! `warploom bench`: bandwidth of copies, cost of calls, times of kernels.

mod bandwidth;
mod calls;
mod kernels;

use std::path::PathBuf;

use clap::ValueEnum;
use warploom::{Context, Device, Driver, Result as CoreResult};
use warploom_sim::{Machine, MachineBuilder, Mode, Order};

use super::Run;
use crate::choice::{DriverArgs, Opened};
use crate::failure::Failure;
use crate::human::{self, Progress};
use crate::plot;
use crate::report::BenchReport;
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom bench                                        all measurements
  warploom bench --machine dgx-h100 --only bandwidth    the bandwidth matrix of a simulated machine
  warploom bench --quick --json                         for programs
  warploom bench --svg bench.svg                        a heat map of the bandwidth, and bars of the costs

On a simulated machine, bandwidth and times of kernels are in virtual time: plausible and reproducible, no
predictions. The cost of calls is that of the simulated driver on this computer.";

/// Arguments of `warploom bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Measure one section only; may be given several times
    #[arg(long, value_name = "SECTION")]
    only: Vec<Section>,
    /// Fewer rounds and smaller copies
    #[arg(long)]
    quick: bool,
    /// Write the measurements as a picture, too
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    #[command(flatten)]
    driver: DriverArgs,
}

/// The measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Section {
    /// Copies between host and devices, and between devices
    Bandwidth,
    /// Host time of a launch, an allocation, a copy…
    Calls,
    /// Times and rates of a few kernels
    Kernels,
}

impl Run for Args {
    fn driver(&self) -> Option<&DriverArgs> {
        Some(&self.driver)
    }

    fn run(&self, session: &Session) -> Result<Output, Failure> {
        // The file first: a path that cannot be written is known before a minute of measurements.
        if let Some(path) = &self.svg {
            std::fs::write(path, "").map_err(|error| Failure::file(path, error))?;
        }
        let choice = session.choice(&self.driver);
        let bench = Bench { opened: choice.open_on(lazy())?, quick: self.quick };
        let asked = |section| self.only.is_empty() || self.only.contains(&section);
        let mut progress = Progress::new();
        let mut report = BenchReport {
            driver: bench.opened.report.clone(),
            devices: bench.device_names()?,
            virtual_time: bench.is_simulated(),
            bandwidth: None,
            calls: None,
            kernels: None,
        };
        if asked(Section::Bandwidth) {
            report.bandwidth = Some(bandwidth::measure(&bench, &mut progress)?);
        }
        if asked(Section::Calls) {
            report.calls = Some(calls::measure(&bench, &mut progress)?);
        }
        if asked(Section::Kernels) {
            // Blocks of a kernel run on all processors in the asynchronous mode alone.
            let opened = if bench.is_simulated() { choice.open_on(Machine::builder())? } else { bench.opened };
            report.kernels = Some(kernels::measure(&Bench { opened, quick: self.quick }, &mut progress)?);
        }
        progress.clear();
        if let Some(path) = &self.svg {
            std::fs::write(path, plot::bench(&report)).map_err(|error| Failure::file(path, error))?;
        }
        let correct = report.kernels.iter().flatten().all(|kernel| kernel.correct);
        Ok(session.show(&report, |style| human::bench(&report, style))?.succeeded(correct))
    }
}

/// A machine that runs work when it is waited for, so that the host's side is timed alone.
fn lazy() -> MachineBuilder {
    Machine::builder().mode(Mode::Deterministic(Order::Lazy))
}

/// The driver under measurement.
struct Bench {
    opened: Opened,
    quick: bool,
}

impl Bench {
    fn is_simulated(&self) -> bool {
        self.opened.machine.is_some()
    }

    fn driver(&self) -> &Driver {
        &self.opened.driver
    }

    fn contexts(&self) -> CoreResult<Vec<Context>> {
        self.driver().devices()?.iter().map(Device::context).collect()
    }

    fn device_names(&self) -> CoreResult<Vec<String>> {
        self.driver().devices()?.iter().map(|device| Ok(device.name()?.to_owned())).collect()
    }
}

/// The median, and the least.
fn median(mut rounds: Vec<f64>) -> (f64, f64) {
    rounds.sort_by(f64::total_cmp);
    let middle = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    (middle, rounds.first().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(vec![9.0, 1.0, 5.0]), (5.0, 1.0));
        assert_eq!(median(vec![]), (0.0, 0.0));
    }
}
