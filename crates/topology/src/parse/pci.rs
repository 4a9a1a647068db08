//! PCI addresses from text, and their check.

use std::str::FromStr;

use crate::error::TopologyError;
use crate::pci::PciAddress;

impl PciAddress {
    /// Refuses a slot that a bus does not have.
    pub(crate) fn check(self) -> Result<(), TopologyError> {
        if self.device > Self::MAX_DEVICE {
            return Err(TopologyError::out_of_range("PCI device", self.device, 0, Self::MAX_DEVICE));
        }
        Ok(())
    }
}

impl FromStr for PciAddress {
    type Err = TopologyError;

    /// Reads `domain:bus:device` in hexadecimal. A final `.0`, as many tools print it, is accepted.
    fn from_str(text: &str) -> Result<Self, TopologyError> {
        let malformed =
            || TopologyError::malformed("PCI address", text, "expected domain:bus:device such as \"0000:1b:00\"");
        let parts: Vec<u16> = text
            .strip_suffix(".0")
            .unwrap_or(text)
            .split(':')
            .map(|part| {
                let hexadecimal = part.bytes().all(|byte| byte.is_ascii_hexdigit());
                hexadecimal.then(|| u16::from_str_radix(part, 16).ok()).flatten()
            })
            .collect::<Option<_>>()
            .ok_or_else(malformed)?;
        let &[domain, bus, device] = parts.as_slice() else { return Err(malformed()) };
        let (Ok(bus), Ok(device)) = (u8::try_from(bus), u8::try_from(device)) else { return Err(malformed()) };
        let address = Self { domain, bus, device };
        address.check()?;
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_as_written() {
        for text in ["0000:1b:00", "ffff:ff:1f", "0009:01:00"] {
            assert_eq!(text.parse::<PciAddress>().map(|address| address.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("0000:1B:00.0".parse(), Ok(PciAddress::on_bus(0x1b)));
    }

    #[test]
    fn other_text_is_refused() {
        for text in ["", "1b", "1b:00", "0000:1b:00:00", "0000:1bb:00", "0000:+b:00", "x:y:z", "10000:00:00", "::"] {
            assert!(matches!(text.parse::<PciAddress>(), Err(TopologyError::Malformed { .. })), "{text}");
        }
        let error = "0000:1b:20".parse::<PciAddress>().map_err(|error| error.to_string());
        assert_eq!(error, Err("PCI device is 32, expected 0 to 31".to_owned()));
    }
}
