//! PCI addresses of devices.

use std::fmt;

/// A PCI address, written `0000:1b:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    /// The PCI domain, zero on most machines.
    pub domain: u16,
    /// The bus within the domain.
    pub bus: u8,
    /// The slot on the bus, at most 31.
    pub device: u8,
}

impl PciAddress {
    /// The highest slot on a bus.
    pub const MAX_DEVICE: u8 = 31;

    /// Slot zero of a bus in domain zero, where nearly every GPU is.
    pub const fn on_bus(bus: u8) -> Self {
        Self { domain: 0, bus, device: 0 }
    }
}

impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}", self.domain, self.bus, self.device)
    }
}
