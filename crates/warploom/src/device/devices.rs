//! The devices of a driver, by ordinal, PCI address and UUID.
#![expect(unsafe_code, reason = "asks the driver for its devices")]

use std::ffi::{CString, c_int};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use warploom_driver::sys::types::{CUdevice, CUresult};

use super::{Card, Device, PciAddress, Uuid};
use crate::{DeviceError, Driver, Error, Result};

/// Devices.
///
/// Each call initializes the driver if that has not been done. How many devices there are is asked once per
/// driver; a driver without any answers `CUDA_ERROR_NO_DEVICE`.
impl Driver {
    /// The device with this ordinal.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoSuchDevice`] beyond the last, and the driver's error.
    #[doc(alias = "cuDeviceGet")]
    pub fn device(&self, ordinal: u32) -> Result<Device> {
        let installed = self.extension::<Installed>();
        let cards = installed.cards(self)?;
        let found = usize::try_from(ordinal).ok().and_then(|position| cards.get(position));
        let card = found.ok_or(DeviceError::NoSuchDevice { ordinal, count: cards.len() as u32 })?;
        Ok(Device { driver: self.clone(), card: Arc::clone(card) })
    }

    /// Every device, by ordinal.
    ///
    /// ```
    /// use warploom::Driver;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
    /// for device in driver.devices()? {
    ///     println!("{device}: {}, {} bytes", device.name()?, device.total_memory()?);
    /// }
    /// assert_eq!(driver.device(2).unwrap_err().to_string(), "device 2 does not exist; the driver has 2");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceGetCount")]
    pub fn devices(&self) -> Result<Vec<Device>> {
        let installed = self.extension::<Installed>();
        let cards = installed.cards(self)?;
        Ok(cards.iter().map(|card| Device { driver: self.clone(), card: Arc::clone(card) }).collect())
    }

    /// The device with a PCI address.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDeviceAt`] if there is none, and the driver's error.
    #[doc(alias = "cuDeviceGetByPCIBusId")]
    pub fn device_at(&self, address: PciAddress) -> Result<Device> {
        initialize(self)?;
        let text = CString::new(address.to_string()).unwrap_or_default();
        let mut raw = 0;
        // SAFETY: `raw` is writable, and the text ends in a zero.
        match unsafe { self.cuDeviceGetByPCIBusId(&raw mut raw, text.as_ptr()) } {
            Ok(()) => device_of(self, raw),
            Err(error) if error.code() == Some(CUresult::CUDA_ERROR_INVALID_DEVICE) => {
                Err(Error::Device(DeviceError::NoDeviceAt { address }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The device with this UUID.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoDeviceWithUuid`] if there is none, and the driver's error.
    pub fn device_with_uuid(&self, uuid: Uuid) -> Result<Device> {
        for device in self.devices()? {
            if device.uuid()? == uuid {
                return Ok(device);
            }
        }
        Err(Error::Device(DeviceError::NoDeviceWithUuid { uuid }))
    }
}

/// Initializes the driver, if that has not been done in asking for its devices.
pub(crate) fn initialize(driver: &Driver) -> Result<()> {
    driver.extension::<Installed>().cards(driver).map(drop)
}

/// The device that a handle of this driver names.
pub(crate) fn device_of(driver: &Driver, raw: CUdevice) -> Result<Device> {
    let installed = driver.extension::<Installed>();
    let cards = installed.cards(driver)?;
    let found = cards.iter().find(|card| card.raw == raw);
    let card = found.ok_or(DeviceError::NoSuchDevice { ordinal: raw.unsigned_abs(), count: cards.len() as u32 })?;
    Ok(Device { driver: driver.clone(), card: Arc::clone(card) })
}

/// The list of devices, kept once per driver.
#[derive(Default)]
struct Installed {
    cards: OnceLock<Vec<Arc<Card>>>,
}

impl Installed {
    fn cards(&self, driver: &Driver) -> Result<&Vec<Arc<Card>>> {
        super::remembered(&self.cards, || {
            driver.initialize()?;
            let mut count = 0;
            // SAFETY: `count` is writable.
            unsafe { driver.cuDeviceGetCount(&raw mut count) }?;
            (0..count).map(|ordinal| Card::get(driver, ordinal)).collect()
        })
    }
}

impl Card {
    fn get(driver: &Driver, ordinal: c_int) -> Result<Arc<Card>> {
        let mut raw = 0;
        // SAFETY: `raw` is writable; an ordinal that does not exist is refused.
        unsafe { driver.cuDeviceGet(&raw mut raw, ordinal) }?;
        Ok(Arc::new(Card {
            ordinal: ordinal.unsigned_abs(),
            raw,
            identity: super::Identity::default(),
            memory: OnceLock::new(),
            capability: OnceLock::new(),
            properties: OnceLock::new(),
            primary: crate::context::Generations::default(),
            pool_changes: AtomicU64::new(1), // nothing is known of what came before
            accessors: super::Accessors::default(),
        }))
    }
}
