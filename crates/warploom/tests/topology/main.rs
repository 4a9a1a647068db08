//! Topologies: peer capabilities and links (S3.1 to S3.6, P2P-1, P2P-2).

mod capability;
mod islands;
mod links;
mod pictures;

use warploom::{Driver, Topology};
use warploom_sim::topology::{DeviceModel, PeerLink, Topology as Wiring, TopologyBuilder};
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, open};

/// Machines of every size and shape there is a preset for.
const PRESETS: [&str; 6] = ["h200", "pcie-pair", "asymmetric", "hgx-a100-4", "pcie-t4", "dgx-h100"];

fn probe(wiring: Wiring) -> TestResult<(Machine, Driver, Topology)> {
    let (machine, driver) = open(wiring, Mode::Threads)?;
    let topology = Topology::probe(&driver.devices()?)?;
    Ok((machine, driver, topology))
}

/// A machine of so many devices in which exactly these may reach: (accessor, owner of the memory).
fn links(devices: usize, pairs: &[(usize, usize)]) -> TestResult<Wiring> {
    let builder = Wiring::builder().devices(devices, DeviceModel::A100);
    let link = |builder: TopologyBuilder, (from, to): &(usize, usize)| builder.peer(*from, *to, PeerLink::nvlink());
    Ok(pairs.iter().fold(builder, link).build()?)
}
