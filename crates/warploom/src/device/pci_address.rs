//! PCI addresses.

use std::fmt;
use std::str::FromStr;

use crate::error::Malformed;

/// A PCI address, such as `0000:1B:00.0`.
///
/// ```
/// use warploom::PciAddress;
///
/// let address: PciAddress = "0000:1b:00.0".parse()?;
/// assert_eq!((address.domain(), address.bus(), address.device()), (0, 0x1b, 0));
/// assert_eq!(address.to_string(), "0000:1B:00.0");
/// # Ok::<(), warploom::Malformed>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PciAddress {
    domain: u32,
    bus: u8,
    device: u8,
}

impl PciAddress {
    /// The highest slot on a bus.
    pub const MAX_DEVICE: u8 = 31;

    /// The address of a slot; `None` beyond [`PciAddress::MAX_DEVICE`].
    #[must_use]
    pub const fn new(domain: u32, bus: u8, device: u8) -> Option<PciAddress> {
        if device > PciAddress::MAX_DEVICE { None } else { Some(PciAddress { domain, bus, device }) }
    }

    /// The domain, 0 on most machines.
    #[must_use]
    pub const fn domain(self) -> u32 {
        self.domain
    }

    /// The bus in the domain.
    #[must_use]
    pub const fn bus(self) -> u8 {
        self.bus
    }

    /// The slot on the bus.
    #[must_use]
    pub const fn device(self) -> u8 {
        self.device
    }
}

impl fmt::Display for PciAddress {
    /// As the driver writes it, with the function that GPUs have, 0.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:04X}:{:02X}:{:02X}.0", self.domain, self.bus, self.device)
    }
}

impl FromStr for PciAddress {
    type Err = Malformed;

    /// Reads `domain:bus:device.function` in hexadecimal, in upper or lower case. The function may be
    /// missing, and so may the domain if it is 0; a function that is not 0 is no GPU.
    fn from_str(text: &str) -> Result<PciAddress, Malformed> {
        let malformed = || Malformed::new("PCI address", text, "domain:bus:device.0 in hexadecimal, device up to 1F");
        let number = |part: &str, most: usize| {
            let sound = (1..=most).contains(&part.len()) && part.bytes().all(|digit| digit.is_ascii_hexdigit());
            sound.then(|| u32::from_str_radix(part, 16).ok()).flatten().ok_or_else(malformed)
        };
        let place = text.strip_suffix(".0").unwrap_or(text);
        let (domain, bus, device) = match place.split(':').collect::<Vec<_>>().as_slice() {
            [domain, bus, device] => (number(domain, 8)?, number(bus, 2)?, number(device, 2)?),
            [bus, device] => (0, number(bus, 2)?, number(device, 2)?),
            _ => return Err(malformed()),
        };
        PciAddress::new(domain, bus as u8, device as u8).ok_or_else(malformed)
    }
}
