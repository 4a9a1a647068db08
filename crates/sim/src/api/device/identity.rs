//! Identity of devices: name, UUID, LUID and PCI bus id.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_int, c_uint};

use warploom_sys::types::{CUdevice, CUuuid};

use super::ordinal;
use crate::ffi::status::{INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::topology::PciAddress;

pub(crate) fn cuDeviceGetName(call: &Call<'_>, name: Ptr<c_char>, length: c_int, device: CUdevice) -> Status {
    if name.is_null() || length == 0 {
        return Err(call.refuse(INVALID_VALUE, "no room for a name"));
    }
    let spec = &call.core().topology.devices[ordinal(call, device)?];
    match usize::try_from(length) {
        Ok(room) => name.write_padded(&spec.name, room),
        // The driver takes a negative length for a huge one. Bytes after the name are not written here.
        Err(_) => name.write_text(&spec.name, spec.name.len() + 1),
    }
}

pub(crate) fn cuDeviceGetUuid(call: &Call<'_>, uuid: Ptr<CUuuid>, device: CUdevice) -> Status {
    uuid.required()?;
    let spec = &call.core().topology.devices[ordinal(call, device)?];
    uuid.write(CUuuid { bytes: spec.uuid.map(|byte| c_char::from_ne_bytes([byte])) })
}

/// Differs from the older form only for MIG instances, which are not simulated.
pub(crate) fn cuDeviceGetUuid_v2(call: &Call<'_>, uuid: Ptr<CUuuid>, device: CUdevice) -> Status {
    cuDeviceGetUuid(call, uuid, device)
}

pub(crate) fn cuDeviceGetLuid(call: &Call<'_>, luid: Ptr<c_char>, mask: Ptr<c_uint>, device: CUdevice) -> Status {
    if luid.is_null() || mask.is_null() {
        return Err(call.refuse(INVALID_VALUE, "no room for an identifier"));
    }
    ordinal(call, device)?;
    Err(call.refuse(NOT_SUPPORTED, "only Windows gives devices a LUID"))
}

/// The PCI bus id, which identifies a device on the machine.
fn bus_id(address: PciAddress) -> String {
    format!("{:04X}:{:02X}:{:02X}.0", address.domain, address.bus, address.device)
}

/// Writes as many characters as fit, even if the text is cut off.
pub(crate) fn cuDeviceGetPCIBusId(call: &Call<'_>, text: Ptr<c_char>, length: c_int, device: CUdevice) -> Status {
    if text.is_null() {
        return Err(call.refuse(INVALID_VALUE, "no room for an address"));
    }
    let id = bus_id(call.core().topology.devices[ordinal(call, device)?].pci);
    let room = usize::try_from(length).unwrap_or(0);
    if room > 0 {
        text.write_text(&id, room)?;
    }
    if room <= id.len() {
        return Err(call.refuse(INVALID_VALUE, format!("{length} bytes, {} are needed", id.len() + 1)));
    }
    Ok(())
}

pub(crate) fn cuDeviceGetByPCIBusId(call: &Call<'_>, device: Ptr<CUdevice>, text: ConstPtr<c_char>) -> Status {
    device.required()?;
    let text = text.text()?;
    let Some([domain, bus, slot, function]) = parse(text) else {
        return Err(call.refuse(INVALID_VALUE, format!("{text:?} is no address such as 0000:1B:00.0")));
    };
    let here = |pci: PciAddress| [u32::from(pci.domain), u32::from(pci.bus), u32::from(pci.device)];
    let found = call.core().topology.devices.iter().position(|spec| here(spec.pci) == [domain, bus, slot]);
    match found {
        Some(ordinal) if function == 0 => device.write(ordinal as CUdevice),
        _ => Err(call.refuse(INVALID_DEVICE, format!("no device is at {text:?}"))),
    }
}

/// Parses `domain:bus:device.function`. Domain and function are optional; trailing text is ignored.
fn parse(text: &str) -> Option<[u32; 4]> {
    let (first, rest) = hexadecimal(text)?;
    let (second, rest) = hexadecimal(rest.strip_prefix(':')?)?;
    if let Some(rest) = rest.strip_prefix('.') {
        let (function, _) = hexadecimal(rest)?;
        return Some([0, first, second, function]);
    }
    let (third, rest) = hexadecimal(rest.strip_prefix(':')?)?;
    let function = rest.strip_prefix('.').and_then(hexadecimal).map_or(0, |(function, _)| function);
    Some([first, second, third, function])
}

/// Parses a hexadecimal number after leading blanks. Returns it with the rest of the text.
fn hexadecimal(text: &str) -> Option<(u32, &str)> {
    let text = text.trim_ascii_start();
    let end = text.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((u32::from_str_radix(digits, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_loosely_as_the_driver_reads_them() {
        let whole = Some([0, 0x1b, 6, 0]);
        for text in
            ["0000:1B:06.0", "0000:1b:06.0", "1b:06.0", "0000:1b:06", "00000000:1b:06.0", " 0:1b:6.0", "0:1b:6.0x"]
        {
            assert_eq!(parse(text), whole, "{text}");
        }
        assert_eq!(parse("0000:1b:06.1"), Some([0, 0x1b, 6, 1]));
        for text in ["", "hello", "1b", "1b:06", "1b:", ":::", "100000000:0:0"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
