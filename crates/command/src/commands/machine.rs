//! `warploom machine`: a machine as its description has it, without starting it.

use warploom_sim::topology::{Topology, number};

use super::Run;
use crate::choice::MachineName;
use crate::failure::Failure;
use crate::human;
use crate::report::{DeviceReport, LinkReport, MachineReport};
use crate::session::{Output, Session};

const EXAMPLES: &str = "\
Examples:
  warploom machine dgx-h100                      a preset
  warploom machine dgx-h100 --toml > mine.toml   a topology file to change
  warploom machine ./mine.toml                   a topology file, checked";

/// Arguments of `warploom machine`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A preset, or a topology file (a path, or a name that ends in .toml)
    name: MachineName,
    /// Print a topology file
    #[arg(long)]
    toml: bool,
}

impl Run for Args {
    fn run(&self, session: &Session) -> Result<Output, Failure> {
        session.no_json_with("--toml", self.toml)?;
        let topology = self.name.topology()?;
        if self.toml {
            return Ok(Output::text(topology.to_toml()));
        }
        let machine = report(&self.name.text(), &topology);
        session.show(&machine, |style| human::machine(&machine, style))
    }
}

pub(super) fn report(name: &str, topology: &Topology) -> MachineReport {
    let attribute = |ordinal, number| topology.attribute(ordinal, number).unwrap_or(0);
    let device = |(ordinal, spec): (usize, &warploom_sim::topology::DeviceSpec)| DeviceReport {
        ordinal: u32::try_from(ordinal).unwrap_or(u32::MAX),
        name: spec.name.clone(),
        uuid: warploom::Uuid::from_bytes(spec.uuid).to_string(),
        compute_capability: format!(
            "{}.{}",
            attribute(ordinal, number::COMPUTE_CAPABILITY_MAJOR),
            attribute(ordinal, number::COMPUTE_CAPABILITY_MINOR)
        ),
        memory_bytes: spec.total_memory,
        multiprocessors: attribute(ordinal, number::MULTIPROCESSOR_COUNT).unsigned_abs(),
        pci_bus_id: spec.pci.to_string(),
        host_numa_node: topology.attribute(ordinal, number::HOST_NUMA_ID).and_then(|node| node.try_into().ok()),
    };
    let version = topology.driver_version;
    MachineReport {
        name: name.to_owned(),
        driver_version: format!("{}.{}", version / 1000, version % 1000 / 10),
        numa_nodes: topology.numa_nodes,
        devices: topology.devices.iter().enumerate().map(device).collect(),
        links: topology
            .peers
            .iter()
            .map(|(from, to, link)| LinkReport {
                from,
                to,
                kind: link.kind.name(),
                bytes_per_second: link.bandwidth,
                latency_ns: link.latency_ns,
            })
            .collect(),
    }
}
