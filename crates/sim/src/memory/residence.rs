//! Locations of managed pages.

use std::fmt;

use super::sim_address::Side;

/// The location of a page of managed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Residence {
    /// In the memory of a device, by its ordinal.
    Device(u16),
    /// In host memory, on any node.
    Host,
    /// In the host memory of a NUMA node.
    HostNode(u16),
}

impl fmt::Display for Residence {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Residence::Device(ordinal) => write!(formatter, "device {ordinal}"),
            Residence::Host => formatter.write_str("host"),
            Residence::HostNode(node) => write!(formatter, "host node {node}"),
        }
    }
}

impl Residence {
    pub(crate) fn side(self) -> Side {
        match self {
            Residence::Device(device) => Side::Device(device),
            Residence::Host | Residence::HostNode(_) => Side::Host,
        }
    }
}
