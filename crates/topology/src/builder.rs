//! Building a machine step by step.

use std::collections::{BTreeMap, BTreeSet};

use super::device::DeviceSpec;
use super::error::TopologyError;
use super::link::PeerLink;
use super::model::DeviceModel;
use super::parse::version;
use super::pci::PciAddress;
use super::peers::{DEFAULT_MAX_PEERS, PeerMatrix};
use super::version::DEFAULT_DRIVER;
use super::{MAX_DEVICES, Topology, check_pair};

/// A machine in the making.
///
/// Devices get their ordinals in the order in which they are added. A step that cannot be taken, such as one
/// that names a device that is not there yet, is remembered, and [`build`](Self::build) reports the first of
/// them.
#[derive(Debug, Clone)]
pub struct TopologyBuilder {
    driver_version: i32,
    numa_nodes: u32,
    host_memory: Option<u64>,
    max_peers: u32,
    devices: Vec<DeviceSpec>,
    /// The link of every pair that is not in `pairs`.
    everywhere: Option<PeerLink>,
    pairs: BTreeMap<(usize, usize), Option<PeerLink>>,
    problem: Option<TopologyError>,
}

impl Default for TopologyBuilder {
    fn default() -> Self {
        Self {
            driver_version: DEFAULT_DRIVER,
            numa_nodes: 1,
            host_memory: None,
            max_peers: DEFAULT_MAX_PEERS,
            devices: Vec::new(),
            everywhere: None,
            pairs: BTreeMap::new(),
            problem: None,
        }
    }
}

impl From<Topology> for TopologyBuilder {
    fn from(topology: Topology) -> Self {
        Self {
            driver_version: topology.driver_version,
            numa_nodes: topology.numa_nodes,
            host_memory: topology.host_memory,
            max_peers: topology.peers.max_peers,
            pairs: topology.peers.iter().map(|(accessor, owner, link)| ((accessor, owner), Some(*link))).collect(),
            devices: topology.devices,
            everywhere: None,
            problem: None,
        }
    }
}

impl TopologyBuilder {
    /// The driver's version in two parts, such as 12 and 2.
    pub fn driver_version(self, major: i32, minor: i32) -> Self {
        self.step(|builder| {
            builder.driver_version = version::number(major, minor)?;
            Ok(())
        })
    }

    /// The most bytes of the real host's memory that simulated memory may take.
    pub fn host_memory(mut self, bytes: u64) -> Self {
        self.host_memory = Some(bytes);
        self
    }

    /// Adds one device.
    pub fn device(self, model: DeviceModel) -> Self {
        self.devices(1, model)
    }

    /// Adds several devices of one model, each on the next free bus.
    pub fn devices(self, count: usize, model: DeviceModel) -> Self {
        self.step(|builder| {
            let count = builder.devices.len().saturating_add(count);
            if count > MAX_DEVICES {
                return Err(TopologyError::TooManyDevices { count, limit: MAX_DEVICES });
            }
            for ordinal in builder.devices.len()..count {
                let pci = builder.free_address();
                builder.devices.push(DeviceSpec { pci, ..model.spec(ordinal) });
            }
            Ok(())
        })
    }

    /// Adds one device under another product name.
    pub fn named_device(self, name: impl Into<String>, model: DeviceModel) -> Self {
        let ordinal = self.devices.len();
        self.device(model).name(ordinal, name)
    }

    /// Gives a device another product name.
    pub fn name(self, ordinal: usize, name: impl Into<String>) -> Self {
        self.configure(ordinal, |device| device.name = name.into())
    }

    /// Gives a device another amount of memory, in bytes.
    ///
    /// The memory that contexts take shrinks along where it would be more than half of it.
    pub fn memory(self, ordinal: usize, bytes: u64) -> Self {
        self.configure(ordinal, |device| device.set_memory(bytes))
    }

    /// Gives a device another value for an attribute.
    pub fn attribute(self, ordinal: usize, number: i32, value: i32) -> Self {
        self.try_configure(ordinal, |device| device.attributes.set(number, value))
    }

    /// Gives a device another identity.
    pub fn uuid(self, ordinal: usize, uuid: [u8; 16]) -> Self {
        self.configure(ordinal, |device| device.uuid = uuid)
    }

    /// Moves a device on the bus.
    pub fn pci(self, ordinal: usize, pci: PciAddress) -> Self {
        self.configure(ordinal, |device| device.pci = pci)
    }

    /// Attaches a device to another NUMA node of the host.
    pub fn numa_node(self, ordinal: usize, node: u32) -> Self {
        self.configure(ordinal, |device| device.numa_node = node)
    }

    /// Changes anything about a device.
    pub fn configure(self, ordinal: usize, change: impl FnOnce(&mut DeviceSpec)) -> Self {
        self.try_configure(ordinal, |device| {
            change(device);
            Ok(())
        })
    }

    /// Number of NUMA nodes the host has.
    pub fn numa_nodes(mut self, nodes: u32) -> Self {
        self.numa_nodes = nodes;
        self
    }

    /// Number of peers one context can enable.
    pub fn max_peers(mut self, peers: u32) -> Self {
        self.max_peers = peers;
        self
    }

    /// Lets device `from` reach the memory of device `to`. The other direction stays as it is.
    pub fn peer(mut self, from: usize, to: usize, link: PeerLink) -> Self {
        self.pairs.insert((from, to), Some(link));
        self
    }

    /// Keeps device `from` from reaching the memory of device `to`. The other direction stays as it is.
    pub fn no_peer(mut self, from: usize, to: usize) -> Self {
        self.pairs.insert((from, to), None);
        self
    }

    /// Joins every device to every other, those added later included. Replaces all that was said about peers
    /// before.
    pub fn all_peers(mut self, link: PeerLink) -> Self {
        self.everywhere = Some(link);
        self.pairs.clear();
        self
    }

    /// Separates every device from every other. Replaces all that was said about peers before.
    pub fn no_peers(mut self) -> Self {
        self.everywhere = None;
        self.pairs.clear();
        self
    }

    /// The finished machine, or the first thing that is wrong with it.
    pub fn build(self) -> Result<Topology, TopologyError> {
        if let Some(problem) = self.problem {
            return Err(problem);
        }
        let count = self.devices.len();
        let mut peers = PeerMatrix::new(self.max_peers);
        if let Some(link) = self.everywhere {
            for (accessor, owner) in pairs(count) {
                peers.connect(accessor, owner, link);
            }
        }
        for ((accessor, owner), link) in self.pairs {
            check_pair(accessor, owner, count)?;
            match link {
                Some(link) => peers.connect(accessor, owner, link),
                None => peers.disconnect(accessor, owner),
            };
        }
        let topology = Topology {
            driver_version: self.driver_version,
            devices: self.devices,
            peers,
            numa_nodes: self.numa_nodes,
            host_memory: self.host_memory,
        };
        topology.check()?;
        Ok(topology)
    }

    /// The devices so far.
    pub(super) fn specs(&self) -> &[DeviceSpec] {
        &self.devices
    }

    /// The devices so far, to be changed in place.
    pub(super) fn specs_mut(&mut self) -> &mut [DeviceSpec] {
        &mut self.devices
    }

    /// The number of NUMA nodes so far.
    pub(super) fn host_nodes(&self) -> u32 {
        self.numa_nodes
    }

    /// The link of a pair so far.
    pub(super) fn link(&self, from: usize, to: usize) -> Option<PeerLink> {
        self.pairs.get(&(from, to)).copied().unwrap_or(self.everywhere)
    }

    /// Takes a step, or remembers why it could not be taken if it is the first such.
    fn step(mut self, step: impl FnOnce(&mut Self) -> Result<(), TopologyError>) -> Self {
        if let Err(problem) = step(&mut self) {
            self.problem.get_or_insert(problem);
        }
        self
    }

    /// Changes a device, or remembers why that was not possible.
    fn try_configure(self, ordinal: usize, change: impl FnOnce(&mut DeviceSpec) -> Result<(), TopologyError>) -> Self {
        self.step(|builder| {
            let count = builder.devices.len();
            let device = builder.devices.get_mut(ordinal).ok_or(TopologyError::NoSuchDevice { ordinal, count })?;
            change(device).map_err(|error| error.of_device(ordinal))
        })
    }

    /// The first bus without a device.
    fn free_address(&self) -> PciAddress {
        let taken: BTreeSet<PciAddress> = self.devices.iter().map(|device| device.pci).collect();
        let free = (1..=u8::MAX).map(PciAddress::on_bus).find(|address| !taken.contains(address));
        // There are more buses than devices.
        free.unwrap_or(PciAddress::on_bus(0))
    }
}

/// Every ordered pair of different devices.
pub(super) fn pairs(count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..count).flat_map(move |accessor| {
        (0..count).filter(move |owner| *owner != accessor).map(move |owner| (accessor, owner))
    })
}

#[cfg(test)]
mod tests;
