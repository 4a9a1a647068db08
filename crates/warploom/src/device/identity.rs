//! Names, PCI addresses and UUIDs of a device.
#![expect(unsafe_code, reason = "asks the driver for texts and numbers")]

use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;

use warploom_driver::sys::types::CUuuid;

use super::{Device, PciAddress, Uuid, remembered};
use crate::{Error, Result};

/// The cached answers.
#[derive(Debug, Default)]
pub(super) struct Identity {
    name: OnceLock<String>,
    uuid: OnceLock<Uuid>,
    address: OnceLock<PciAddress>,
}

impl Device {
    /// The product name.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceGetName")]
    pub fn name(&self) -> Result<&str> {
        let name = remembered(&self.card.identity.name, || {
            let mut name = [0; 256];
            // SAFETY: the array is writable and as long as is said.
            text(&mut name, |start, len| unsafe { self.driver().cuDeviceGetName(start, len, self.as_raw()) })
        })?;
        Ok(name)
    }

    /// The number that no other device has, in no machine; that of the instance where the device is divided
    /// (MIG).
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceGetUuid")]
    pub fn uuid(&self) -> Result<Uuid> {
        remembered(&self.card.identity.uuid, || {
            let mut uuid = CUuuid { bytes: [0; 16] };
            // SAFETY: `uuid` is writable.
            unsafe { self.driver().cuDeviceGetUuid_v2(&raw mut uuid, self.as_raw()) }?;
            Ok(Uuid::from_bytes(uuid.bytes.map(|byte| byte.to_ne_bytes()[0])))
        })
        .copied()
    }

    /// Its PCI address.
    ///
    /// # Errors
    ///
    /// The driver's error, and [`Error::Malformed`] if that is no address.
    #[doc(alias = "cuDeviceGetPCIBusId")]
    pub fn pci_address(&self) -> Result<PciAddress> {
        remembered(&self.card.identity.address, || {
            let mut id = [0; 32];
            // SAFETY: the array is writable and as long as is said.
            text(&mut id, |start, len| unsafe { self.driver().cuDeviceGetPCIBusId(start, len, self.as_raw()) })?
                .parse::<PciAddress>()
                .map_err(Error::from)
        })
        .copied()
    }
}

/// The text that a C function wrote into a buffer.
fn text<const N: usize>(
    buffer: &mut [c_char; N],
    ask: impl FnOnce(*mut c_char, c_int) -> warploom_driver::Result<()>,
) -> Result<String> {
    ask(buffer.as_mut_ptr(), c_int::try_from(N).unwrap_or(c_int::MAX))?;
    let bytes = buffer.map(|byte| byte.to_ne_bytes()[0]);
    let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}
