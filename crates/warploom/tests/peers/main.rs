//! The devices that may use a pool's memory: a live set.
//!
//! `S0.n` are the requirements of the set, one test for each at least; S0.25 says that the other live sets
//! share its trait, S0.26 that they share its tests (`contract`).

mod budgets;
mod bulk;
mod capability;
mod contract;
mod copies;
mod failures;
#[path = "../gate/mod.rs"]
mod gate;
mod in_flight;
mod lifetime;
mod shape;
mod sharing;
mod single;
mod threads;

use std::collections::BTreeSet;

use warploom::{DevicePool, Driver, LiveSet, PeerSet, Result};
use warploom_sim::topology::{DeviceModel, PeerLink, Topology, TopologyBuilder};
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, open};

/// Machines of two, four and eight devices that all reach each other.
const ALL_TO_ALL: [(&str, u32); 3] = [("pcie-pair", 2), ("hgx-a100-4", 4), ("dgx-h100", 8)];

/// A machine, its driver, and a new pool on its first device.
fn pool_on(preset: &str) -> TestResult<(Machine, Driver, DevicePool)> {
    pool_of(Topology::preset(preset)?, 0)
}

fn pool_of(topology: Topology, owner: u32) -> TestResult<(Machine, Driver, DevicePool)> {
    let (machine, driver) = open(topology, Mode::Threads)?;
    let pool = DevicePool::new(&driver.device(owner)?.context()?)?;
    Ok((machine, driver, pool))
}

/// A machine of so many devices in which exactly these may reach: (accessor, owner of the memory).
fn links(devices: usize, pairs: &[(usize, usize)]) -> TestResult<Topology> {
    let builder = Topology::builder().devices(devices, DeviceModel::A100);
    let link = |builder: TopologyBuilder, (from, to): &(usize, usize)| builder.peer(*from, *to, PeerLink::nvlink());
    Ok(pairs.iter().fold(builder, link).build()?)
}

/// The devices of a set, by ordinal.
fn ordinals(peers: PeerSet<'_>) -> Result<BTreeSet<u32>> {
    Ok(peers.iter()?.map(|device| device.ordinal()).collect())
}

fn set(ordinals: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
    ordinals.into_iter().collect()
}
