//! Devices: what is installed and what it can do.
#![expect(unsafe_code, reason = "asks the driver about devices")]

mod peer;

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

pub use warploom_driver::sys::types::CUdevice_attribute as DeviceAttribute;

use warploom_driver::Driver;
use warploom_driver::sys::types::CUdevice;

pub(crate) use self::peer::peer_capability;

use crate::{Context, Error, Result};

/// A driver's devices.
///
/// ```
/// use warploom::{Devices, Driver};
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
pub trait Devices {
    /// The device with this ordinal. Initializes the driver if that has not been done.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchDevice`] beyond the last, and what the driver answers.
    fn device(&self, ordinal: u32) -> Result<Device>;

    /// Every device, by ordinal. Initializes the driver if that has not been done.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    fn devices(&self) -> Result<Vec<Device>>;
}

impl Devices for Driver {
    fn device(&self, ordinal: u32) -> Result<Device> {
        let count = count(self)?;
        if ordinal >= count {
            return Err(Error::NoSuchDevice { ordinal, count });
        }
        Device::get(self, ordinal)
    }

    fn devices(&self) -> Result<Vec<Device>> {
        (0..count(self)?).map(|ordinal| Device::get(self, ordinal)).collect()
    }
}

#[doc(alias = "cuDeviceGetCount")]
fn count(driver: &Driver) -> Result<u32> {
    driver.initialize()?;
    let mut count = 0;
    // SAFETY: `count` is writable.
    unsafe { driver.cuDeviceGetCount(&raw mut count) }?;
    Ok(u32::try_from(count).unwrap_or(0))
}

/// A GPU that a driver knows.
///
/// Asking about it needs no context. Two are equal if they are the same device of the same driver.
#[derive(Clone)]
pub struct Device {
    driver: Driver,
    ordinal: u32,
    raw: CUdevice,
}

impl Device {
    fn get(driver: &Driver, ordinal: u32) -> Result<Device> {
        let mut raw = 0;
        // SAFETY: `raw` is writable; an ordinal that does not exist is refused.
        unsafe { driver.cuDeviceGet(&raw mut raw, c_int::try_from(ordinal).unwrap_or(c_int::MAX)) }?;
        Ok(Device { driver: driver.clone(), ordinal, raw })
    }

    /// The driver it belongs to.
    #[must_use]
    pub fn driver(&self) -> &Driver {
        &self.driver
    }

    /// Its number, counted from 0.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        self.ordinal
    }

    /// The driver's own handle.
    #[must_use]
    pub fn as_raw(&self) -> CUdevice {
        self.raw
    }

    /// The product name.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    #[doc(alias = "cuDeviceGetName")]
    pub fn name(&self) -> Result<String> {
        let mut name = [0; 256];
        // SAFETY: the array is writable and as long as is said.
        text(&mut name, |start, len| unsafe { self.driver.cuDeviceGetName(start, len, self.raw) })
    }

    /// Its place on the bus, such as `0000:1B:00.0`.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    #[doc(alias = "cuDeviceGetPCIBusId")]
    pub fn pci_bus_id(&self) -> Result<String> {
        let mut id = [0; 32];
        // SAFETY: the array is writable and as long as is said.
        text(&mut id, |start, len| unsafe { self.driver.cuDeviceGetPCIBusId(start, len, self.raw) })
    }

    /// Bytes of memory.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    #[doc(alias = "cuDeviceTotalMem")]
    pub fn total_memory(&self) -> Result<u64> {
        let mut bytes = 0;
        // SAFETY: `bytes` is writable.
        unsafe { self.driver.cuDeviceTotalMem_v2(&raw mut bytes, self.raw) }?;
        Ok(bytes as u64)
    }

    /// What its kernels are compiled for.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn compute_capability(&self) -> Result<ComputeCapability> {
        Ok(ComputeCapability {
            major: self.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            minor: self.attribute(DeviceAttribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        })
    }

    /// Any of its attributes, by the constant's name in `cuda.h`.
    ///
    /// # Errors
    ///
    /// What the driver answers; `CUDA_ERROR_INVALID_VALUE` for an attribute younger than the driver.
    #[doc(alias = "cuDeviceGetAttribute")]
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        let mut value = 0;
        // SAFETY: `value` is writable; an unknown attribute is refused.
        unsafe { self.driver.cuDeviceGetAttribute(&raw mut value, attribute, self.raw) }?;
        Ok(value)
    }

    /// Whether this device can be given access to the memory of `peer`. The other direction may differ; a device can always
    /// access its own.
    ///
    /// # Errors
    ///
    /// [`Error::DriverMismatch`] if `peer` belongs to another driver, and what the driver answers.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn can_access(&self, peer: &Device) -> Result<bool> {
        peer_capability(self, peer)
    }

    /// Its primary context, retained for as long as a clone of the value exists.
    ///
    /// # Errors
    ///
    /// What the driver answers; making a context takes some of the device's memory.
    #[doc(alias = "cuDevicePrimaryCtxRetain")]
    pub fn context(&self) -> Result<Context> {
        Context::primary(self)
    }
}

/// Refuses what belongs to different drivers: a handle means nothing to a driver that did not make it.
pub(crate) fn same_driver(one: &Driver, other: &Driver) -> Result<()> {
    if one.ptr_eq(other) {
        return Ok(());
    }
    Err(Error::DriverMismatch { one: one.description().to_owned(), other: other.description().to_owned() })
}

/// What a C function wrote into a buffer, as text.
fn text<const N: usize>(
    buffer: &mut [c_char; N],
    ask: impl FnOnce(*mut c_char, c_int) -> warploom_driver::Result<()>,
) -> Result<String> {
    ask(buffer.as_mut_ptr(), c_int::try_from(N).unwrap_or(c_int::MAX))?;
    let bytes = buffer.map(c_char::cast_unsigned);
    let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        self.ordinal == other.ordinal && self.driver.ptr_eq(&other.driver)
    }
}

impl Eq for Device {}

impl fmt::Display for Device {
    /// `device 0`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "device {}", self.ordinal)
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Device")
            .field("ordinal", &self.ordinal)
            .field("driver", &self.driver.description())
            .finish()
    }
}

/// A generation of GPUs, such as 9.0; it prints like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// 9 of 9.0.
    pub major: i32,
    /// 0 of 9.0.
    pub minor: i32,
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.major, self.minor)
    }
}
