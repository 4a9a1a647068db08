//! `warploom presets`: the machines that can be simulated by name.

use warploom_sim::topology::{Topology, TopologyError};

use super::{Run, machine};
use crate::failure::Failure;
use crate::human;
use crate::report::MachineReport;
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom presets
  warploom presets --json    with each device and link";

/// Arguments of `warploom presets`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        let presets = report()?;
        session.show(&presets, |style| human::presets(&presets, style))
    }
}

fn report() -> Result<Vec<MachineReport>, TopologyError> {
    Topology::preset_names().map(|name| Ok(machine::report(name, &Topology::preset(name)?))).collect()
}
