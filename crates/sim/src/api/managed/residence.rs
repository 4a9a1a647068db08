//! Where a managed page is.

use std::fmt;

use crate::instance::Machine;
use crate::memory::Side;

/// Where a page of managed memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Residence {
    /// In the memory of a device, by its ordinal.
    Device(u16),
    /// In host memory, wherever.
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

impl Machine {
    /// Where there is a copy of the managed page at an address, now: one place, several for a page that is mostly read, none
    /// for a page that nobody has touched or that was discarded. Nothing if no managed memory is there.
    ///
    /// ```
    /// # use warploom_sim::Machine;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let machine = Machine::preset("h200")?;
    /// assert_eq!(machine.residency(0x1000), None);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn residency(&self, address: u64) -> Option<Vec<Residence>> {
        let world = self.here()?.world();
        world.memory.containing(address).filter(|found| found.is_managed())?;
        Some(world.managed_memory.pages.at(address)?.resident.iter().copied().collect())
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
