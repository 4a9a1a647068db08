//! `warploom presets`: the machines that can be simulated by name.

use warploom_sim::topology::{Topology, TopologyError};

use super::machine;
use crate::report::MachineReport;

pub(crate) fn report() -> Result<Vec<MachineReport>, TopologyError> {
    Topology::preset_names().map(|name| Ok(machine::report(name, &Topology::preset(name)?))).collect()
}
