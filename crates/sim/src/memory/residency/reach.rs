//! The memory that devices and the host can use in place, without moving pages.

use std::collections::HashSet;

use warploom_topology::{Topology, number};

use crate::memory::residence::Residence;

/// The devices and hosts that can use memory in place.
#[derive(Debug)]
pub(super) struct Reach {
    /// Devices that reach the memory of others.
    peers: HashSet<(u16, u16)>,
    /// Devices whose memory the host reaches.
    open: HashSet<u16>,
}

impl Reach {
    pub(super) fn new(topology: &Topology) -> Self {
        let peers = topology.peers.iter().map(|(accessor, owner, _)| (accessor as u16, owner as u16)).collect();
        let is_open = |device: &u16| {
            let attribute = topology.attribute(usize::from(*device), number::DIRECT_MANAGED_MEM_ACCESS_FROM_HOST);
            attribute.is_some_and(|value| value != 0)
        };
        Self { peers, open: (0..topology.devices.len() as u16).filter(is_open).collect() }
    }

    pub(super) fn holds(&self, who: Residence, place: Residence) -> bool {
        match (who, place) {
            (_, Residence::Host | Residence::HostNode(_)) => true,
            (Residence::Device(accessor), Residence::Device(owner)) => {
                accessor == owner || self.peers.contains(&(accessor, owner))
            }
            (Residence::Host | Residence::HostNode(_), Residence::Device(device)) => self.open.contains(&device),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reachable_memory_depends_on_the_machine() -> Result<(), warploom_topology::TopologyError> {
        let reach = Reach::new(&Topology::preset("asymmetric")?);
        let device = Residence::Device;
        let direct = |one, other| reach.holds(device(one), device(other));
        let pairs = (0..3).flat_map(|one| (0..3).map(move |other| (one, other)));
        assert!(pairs.into_iter().any(|(one, other)| direct(one, other) != direct(other, one)));
        assert!(reach.holds(device(0), Residence::HostNode(1)) && !reach.holds(Residence::Host, device(0)));
        let open = Reach::new(&Topology::preset("grace-hopper")?);
        assert!(open.holds(Residence::Host, device(0)));
        Ok(())
    }
}
