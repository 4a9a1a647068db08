//! `warploom topology`: peer access between devices, and the links it goes over.

use warploom::{Device, PeerAtomics, Result, Topology};

use crate::choice::Opened;
use crate::report::{PairReport, TopologyReport};

/// The topology of all devices, links included.
pub(crate) fn probe(opened: &Opened) -> Result<Topology> {
    let topology = Topology::probe(&opened.driver.devices()?)?;
    topology.probe_links()?;
    Ok(topology)
}

pub(crate) fn report(opened: &Opened, topology: &Topology) -> TopologyReport {
    let ordinals =
        |islands: Vec<Vec<Device>>| islands.iter().map(|island| island.iter().map(Device::ordinal).collect()).collect();
    let pair = |pair: warploom::Pair<'_>| PairReport {
        accessor: pair.accessor.ordinal(),
        owner: pair.owner.ordinal(),
        can_access: pair.can_access.ok(),
        error: pair.can_access.err().map(ToString::to_string),
        performance_rank: pair.link.map(|link| link.performance_rank),
        atomics: pair.link.map(|link| match link.atomics {
            PeerAtomics::None => "none",
            PeerAtomics::Partial => "partial",
            PeerAtomics::Native => "native",
        }),
        array_access: pair.link.map(|link| link.array_access),
    };
    TopologyReport {
        driver: opened.report.clone(),
        islands: ordinals(topology.islands()),
        mutual_islands: ordinals(topology.mutual_islands()),
        pairs: topology.pairs().map(pair).collect(),
    }
}
