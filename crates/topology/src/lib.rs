//! Descriptions of simulated machines: devices, the links between them, NUMA nodes and the driver's version.
//!
//! Describe a machine, change it, and write it down as a TOML file:
//!
//! ```
//! use warploom_topology::Topology;
//!
//! let machine = Topology::preset("dgx-h100")?;
//! assert_eq!(machine.devices.len(), 8);
//! assert_eq!(Topology::from_toml(&machine.to_toml())?, machine);
//! # Ok::<(), warploom_topology::TopologyError>(())
//! ```
//!
//! A [`Topology`] is plain data, fixed before a machine starts. This crate knows no driver behaviour; the
//! simulator reads the description. It holds
//!
//! - the **driver's version**, which decides what programs may ask for: an attribute younger than the driver
//!   is unknown;
//! - the **devices** in the order of their ordinals, each a [`DeviceSpec`] made from a [`DeviceModel`];
//! - the **peers**, a [`PeerMatrix`] with a link for every ordered pair *(accessor, owner)* in which the
//!   first device reaches the memory of the second; it need not be symmetric;
//! - the number of the host's **NUMA nodes**; every device is attached to one.
//!
//! A topology comes from a preset by name ([`Topology::preset`]), a builder ([`Topology::builder`]), or a
//! TOML file ([`Topology::from_toml`], where the format is described). All three check the same limits. After
//! changing the fields of a finished topology, ask [`Topology::check`] again.
//!
//! The reader for TOML texts that reports exact places ([`text`]) is public, because fault plans are read
//! with it, too.

mod attribute;
mod builder;
mod device;
mod error;
mod file;
mod link;
mod model;
mod nearest;
mod parse;
mod pci;
mod peers;
mod preset;
mod quantity;
pub mod text;
mod uuid;
mod version;

pub use self::attribute::{Attribute, DeviceAttributes, number};
pub use self::builder::TopologyBuilder;
pub use self::device::{DeviceSpec, MAX_MEMORY, MAX_NAME};
pub use self::error::TopologyError;
pub use self::link::{Atomics, Link, LinkKind, MAX_BANDWIDTH, PcieGeneration, PeerLink};
pub use self::model::DeviceModel;
pub use self::nearest::nearest;
pub use self::parse::version::parse as parse_version;
pub use self::pci::PciAddress;
pub use self::peers::{DEFAULT_MAX_PEERS, PeerAttribute, PeerMatrix};
pub(crate) use self::quantity::{parse_bandwidth, parse_size};
pub use self::version::{DEFAULT_DRIVER, NEWEST_DRIVER, OLDEST_DRIVER};

pub use self::text::{TomlError, TomlProblem};

use std::collections::BTreeMap;
use std::path::Path;

/// The most devices a machine can have.
pub const MAX_DEVICES: usize = 64;
/// The most NUMA nodes a host can have.
pub const MAX_NUMA_NODES: u32 = 64;

/// A machine's hardware and driver version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology {
    /// The driver's version as the driver reports it: 13000 is 13.0.
    pub driver_version: i32,
    /// The devices, by ordinal. There may be none, which programs learn when they initialise the driver.
    pub devices: Vec<DeviceSpec>,
    /// Peer access between devices.
    pub peers: PeerMatrix,
    /// Number of NUMA nodes the host has.
    pub numa_nodes: u32,
    /// The most bytes of the real host's memory that simulated memory may take; without it, half.
    pub host_memory: Option<u64>,
}

impl Topology {
    /// The machine with this name; [`Topology::preset_names`] lists them.
    pub fn preset(name: &str) -> Result<Self, TopologyError> {
        preset::by_name(name)
    }

    /// The names of all presets.
    pub fn preset_names() -> impl Iterator<Item = &'static str> {
        preset::names()
    }

    /// An empty machine to add devices to.
    pub fn builder() -> TopologyBuilder {
        TopologyBuilder::default()
    }

    /// This machine as the start of another.
    pub fn into_builder(self) -> TopologyBuilder {
        TopologyBuilder::from(self)
    }

    /// The machine that a TOML text describes.
    ///
    #[doc = include_str!("file/format.md")]
    #[doc = concat!("```toml\n", include_str!("file/example.toml"), "```")]
    pub fn from_toml(text: &str) -> Result<Self, TopologyError> {
        file::read(text, None)
    }

    /// The machine that a TOML file describes; mistakes are reported with the file's name.
    pub fn from_toml_file(path: impl AsRef<Path>) -> Result<Self, TopologyError> {
        file::read_file(path.as_ref())
    }

    /// A TOML text that [`Topology::from_toml`] turns into this machine again.
    pub fn to_toml(&self) -> String {
        file::write(self)
    }

    /// The driver's answer for a device attribute; nothing if it has no such device or does not know the
    /// attribute.
    #[doc(alias = "cuDeviceGetAttribute")]
    pub fn attribute(&self, ordinal: usize, number: i32) -> Option<i32> {
        let device = self.devices.get(ordinal)?;
        let attribute = Attribute::by_number(number)?;
        if attribute.since > self.driver_version {
            return None;
        }
        match number {
            number::PCI_BUS_ID => Some(device.pci.bus.into()),
            number::PCI_DEVICE_ID => Some(device.pci.device.into()),
            number::PCI_DOMAIN_ID => Some(device.pci.domain.into()),
            number::HOST_NUMA_ID => i32::try_from(device.numa_node).ok(),
            // Only boards with several GPUs share a group, and no model is one.
            number::MULTI_GPU_BOARD_GROUP_ID => i32::try_from(ordinal).ok(),
            _ => device.attributes.get(number),
        }
    }

    /// Refuses a machine that could not run, naming the first thing that is wrong.
    pub fn check(&self) -> Result<(), TopologyError> {
        parse::version::check(self.driver_version)?;
        check_numa_nodes(self.numa_nodes)?;
        if self.host_memory == Some(0) {
            return Err(TopologyError::out_of_range("host_memory", 0, 1, u64::MAX));
        }
        check_max_peers(self.peers.max_peers)?;
        let count = self.devices.len();
        if count > MAX_DEVICES {
            return Err(TopologyError::TooManyDevices { count, limit: MAX_DEVICES });
        }
        let mut uuids = BTreeMap::new();
        let mut addresses = BTreeMap::new();
        for (second, device) in self.devices.iter().enumerate() {
            device.check(self.numa_nodes).map_err(|error| error.of_device(second))?;
            if let Some(first) = uuids.insert(device.uuid, second) {
                return Err(TopologyError::DuplicateUuid { first, second, uuid: device.uuid });
            }
            if let Some(first) = addresses.insert(device.pci, second) {
                return Err(TopologyError::DuplicatePci { first, second, pci: device.pci });
            }
        }
        for (accessor, owner, link) in self.peers.iter() {
            check_pair(accessor, owner, count)?;
            link.check().map_err(|error| TopologyError::Peer { accessor, owner, problem: Box::new(error) })?;
        }
        Ok(())
    }
}

/// Refuses a host without nodes and one with too many.
fn check_numa_nodes(nodes: u32) -> Result<(), TopologyError> {
    if (1..=MAX_NUMA_NODES).contains(&nodes) {
        return Ok(());
    }
    Err(TopologyError::out_of_range("numa_nodes", nodes, 1, MAX_NUMA_NODES))
}

/// Refuses more peers than there can be other devices.
fn check_max_peers(peers: u32) -> Result<(), TopologyError> {
    let most = u32::try_from(MAX_DEVICES).unwrap_or(u32::MAX);
    if peers <= most {
        return Ok(());
    }
    Err(TopologyError::out_of_range("max_peers", peers, 0, most))
}

/// Refuses a pair that is not two devices of the machine.
fn check_pair(accessor: usize, owner: usize, count: usize) -> Result<(), TopologyError> {
    if let Some(ordinal) = [accessor, owner].into_iter().find(|ordinal| *ordinal >= count) {
        return Err(TopologyError::NoSuchDevice { ordinal, count });
    }
    if accessor == owner {
        return Err(TopologyError::SelfPeer { ordinal: accessor });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
