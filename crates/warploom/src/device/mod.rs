//! Devices, their identity and their properties.
//!
//! The list of devices is read once, when the first device is asked for; constant facts about a device (its
//! name, its UUID, its [`Properties`]) are read once, when they are first asked for. Both are kept with the
//! driver and shared by every [`Device`] value, so that a value is two pointers and costs nothing to pass
//! around.
#![expect(unsafe_code, reason = "asks the driver about devices")]

mod accessors;
mod attribute;
mod compute_capability;
mod devices;
mod driver;
mod error;
mod identity;
mod pci_address;
mod peer;
mod properties;
mod uuid;

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{self, AtomicU64};
use std::sync::{Arc, OnceLock};

use warploom_driver::sys::types::CUdevice;

pub use self::attribute::DeviceAttribute;
pub use self::compute_capability::ComputeCapability;
pub(crate) use self::devices::{device_of, initialize};
pub use self::driver::Driver;
pub use self::error::DeviceError;
pub(crate) use self::error::list;
pub use self::pci_address::PciAddress;
pub(crate) use self::peer::{peer_attribute, peer_capability};
pub use self::properties::{ComputeMode, Properties};
pub use self::uuid::Uuid;

use self::accessors::Accessors;
use self::identity::Identity;
use crate::context::Generations;
use crate::{Error, Result};

/// A GPU that a driver knows.
///
/// Asking about it needs no context, and constant facts are asked for once. Two are equal if they are the
/// same device of the same driver; they are ordered by the driver, in the order of opening, and then by
/// ordinal.
///
/// ```
/// use warploom::{ComputeCapability, DeviceAttribute, Driver};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
/// let device = driver.device(1)?;
/// assert!(driver.device(0)? < device);
/// assert_eq!(device.compute_capability()?, ComputeCapability { major: 9, minor: 0 });
/// assert_eq!(device.attribute(DeviceAttribute::WarpSize)?, 32);
/// assert_eq!(driver.device_at(device.pci_address()?)?, device);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Device {
    driver: Driver,
    card: Arc<Card>,
}

/// The state that the values of one device share.
#[derive(Debug)]
struct Card {
    ordinal: u32,
    raw: CUdevice,
    identity: Identity,
    memory: OnceLock<u64>,
    capability: OnceLock<ComputeCapability>,
    properties: OnceLock<Properties>,
    primary: Generations,
    pool_changes: AtomicU64,
    accessors: Accessors,
}

impl Device {
    /// The driver it belongs to.
    #[must_use]
    #[inline]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Its number, counted from 0.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.card.ordinal
    }

    /// The driver's own handle.
    #[must_use]
    pub fn as_raw(&self) -> CUdevice {
        self.card.raw
    }

    /// Bytes of memory.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuDeviceTotalMem")]
    pub fn total_memory(&self) -> Result<u64> {
        remembered(&self.card.memory, || {
            let mut bytes = 0;
            // SAFETY: `bytes` is writable.
            unsafe { self.driver.cuDeviceTotalMem_v2(&raw mut bytes, self.as_raw()) }?;
            Ok(bytes as u64)
        })
        .copied()
    }

    /// Its compute capability, which kernels are compiled for.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn compute_capability(&self) -> Result<ComputeCapability> {
        remembered(&self.card.capability, || {
            Ok(ComputeCapability {
                major: self.attribute(DeviceAttribute::ComputeCapabilityMajor)?.unsigned_abs(),
                minor: self.attribute(DeviceAttribute::ComputeCapabilityMinor)?.unsigned_abs(),
            })
        })
        .copied()
    }

    /// One of its attributes, as the driver has it now.
    ///
    /// [`Device::properties`] has all of them at once, typed and remembered.
    ///
    /// # Errors
    ///
    /// [`DeviceError::UnknownAttribute`] for one that is younger than the driver, and the driver's error.
    #[doc(alias = "cuDeviceGetAttribute")]
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        self.known_attribute(attribute)?.ok_or_else(|| {
            let driver = self.driver.version();
            Error::Device(DeviceError::UnknownAttribute { attribute, driver })
        })
    }

    /// `true` if it has a feature. `None` if the driver is too old to know the attribute: it may have the
    /// feature all the same, so that its answer to the call decides.
    pub(crate) fn has(&self, attribute: DeviceAttribute) -> Result<Option<bool>> {
        Ok(self.known_attribute(attribute)?.map(|value| value != 0))
    }

    /// One of its attributes; `None` if the driver is too old to know it.
    fn known_attribute(&self, attribute: DeviceAttribute) -> Result<Option<i32>> {
        let mut value = 0;
        // SAFETY: `value` is writable; an unknown attribute is refused.
        match unsafe { self.driver.cuDeviceGetAttribute(&raw mut value, attribute.as_raw(), self.as_raw()) } {
            Ok(()) => Ok(Some(value)),
            // Nothing else about the call can be invalid.
            Err(error) if error.code() == Some(warploom_driver::sys::types::CUresult::CUDA_ERROR_INVALID_VALUE) => {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Everything the driver says it is like. The first call asks for every attribute there is; later ones
    /// ask nothing.
    ///
    /// # Errors
    ///
    /// The driver's error.
    pub fn properties(&self) -> Result<&Properties> {
        remembered(&self.card.properties, || Properties::read(|attribute| self.known_attribute(attribute)))
    }

    /// `true` if this device can be given access to the memory of `peer`. The other direction may differ; a
    /// device can always access its own.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`] if `peer` belongs to another driver, and the driver's error.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access(&self, peer: &Device) -> Result<bool> {
        peer_capability(self, peer)
    }

    /// A number that stays the same for as long as the access of none of its pools changes: an answer that
    /// was read between two equal ones was true.
    pub(crate) fn pool_changes(&self) -> u64 {
        self.card.pool_changes.load(atomic::Ordering::Acquire)
    }

    /// To be called before the access of a pool changes, and when it has.
    pub(crate) fn note_pool_change(&self) {
        self.card.pool_changes.fetch_add(1, atomic::Ordering::AcqRel);
    }

    /// The generations of its primary context.
    #[inline]
    pub(crate) fn primary_generations(&self) -> &Generations {
        &self.card.primary
    }
}

/// The cached value, or else a new one. A failure is not remembered; of two threads that ask at once, one is
/// believed.
fn remembered<T>(once: &OnceLock<T>, ask: impl FnOnce() -> Result<T>) -> Result<&T> {
    match once.get() {
        Some(known) => Ok(known),
        None => {
            let found = ask()?;
            Ok(once.get_or_init(|| found))
        }
    }
}

/// Refuses values of different drivers: a handle means nothing to a driver that did not make it.
#[inline]
pub(crate) fn same_driver(one: &Driver, other: &Driver) -> Result<()> {
    if one.ptr_eq(other) { Ok(()) } else { Err(differ(one, other)) }
}

#[cold]
#[inline(never)]
fn differ(one: &Driver, other: &Driver) -> Error {
    DeviceError::DriverMismatch { one: one.description().into(), other: other.description().into() }.into()
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.ordinal() == other.ordinal() && self.driver.ptr_eq(&other.driver)
    }
}

impl Eq for Device {}

impl PartialOrd for Device {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Device {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.driver.id(), self.ordinal()).cmp(&(other.driver.id(), other.ordinal()))
    }
}

impl Hash for Device {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.driver.id(), self.ordinal()).hash(state);
    }
}

impl fmt::Display for Device {
    /// `device 0`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "device {}", self.ordinal())
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Device")
            .field("ordinal", &self.ordinal())
            .field("driver", &self.driver.description())
            .finish()
    }
}
