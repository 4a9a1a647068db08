//! Peer sets: the other devices that may use a pool's memory.
//!
//! Memory of a [`DevicePool`](crate::DevicePool) can at first be used by the pool's own device only. The
//! pool's [`PeerSet`] says which others may read and write it, and changes that.
//!
//! - **The driver is the only storage.** Several values of one pool, and code that calls the driver itself,
//!   see each other's changes at once.
//! - **A change is one driver call**, however many devices it concerns; it can take long, since every mapping
//!   of the pool is updated. A change that changes nothing makes no such call.
//! - **The pool's own device** always has access and is never in the set; naming it is no error and does
//!   nothing.
//! - **Changes are not in the order of a stream.** Work of a device that loses its access would fail. So
//!   access is taken away when all work is done that was enqueued before on devices which have used memory of
//!   this one, and on this one. That waits for all work of their contexts; where no other device has used
//!   memory of this one, there is no wait and no further driver call. Work that another thread enqueues
//!   meanwhile is not waited for. [`PeerSet::revoke_now`] does not wait, and is `unsafe`. While a stream of
//!   such a context is captured, the change is refused
//!   ([`CaptureError::Context`](crate::CaptureError::Context)). The end of an own pool revokes the access it
//!   granted, and waits as well.
//! - Access to a pool is not access to other memory: memory that is not from a pool needs the contexts' peer
//!   access.
#![expect(unsafe_code, reason = "reads and writes a pool's access")]

mod access_layer;
mod error;

pub use access_layer::AccessLayer;
pub use error::PeerError;

use std::collections::BTreeSet;
use std::fmt;

use warploom_driver::sys::types::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemLocation, CUmemLocationType, CUmemPoolHandle_st,
};

use crate::device::same_driver;
use crate::handle::Handle;
use crate::live_set::backing::{Backing, Named};
use crate::live_set::lock::Lock;
use crate::{Device, DeviceError, Error, LiveSet, Result};

/// The devices, other than its own, that may read and write a pool's memory: a [`LiveSet`] of [`Device`]s.
///
/// Devices are named by [`Device`] or by ordinal, in every operation. Making a view makes no driver call;
/// each read asks the driver about every other device, [`LiveSet::contains`] about one; a change is one more
/// call.
///
/// ```
/// use warploom::{DevicePool, Driver, LiveSet};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("dgx-h100")?)?;
/// let pool = DevicePool::new(&driver.device(0)?.context()?)?;
/// pool.peers().extend(driver.devices()?)?; // all of them, with one call
/// assert_eq!(pool.peers().len()?, 7);
/// assert!(pool.peers().remove(3)?);
/// pool.peers().assign([driver.device(1)?, driver.device(2)?])?;
/// assert!(pool.peers().contains(2)? && !pool.peers().contains(4)?);
/// let refused = pool.peers().extend([2, 8, 9]).unwrap_err();
/// assert_eq!(refused.to_string(), "devices 8, 9 do not exist; the driver has 8");
/// # Ok(())
/// # }
/// ```
///
/// Infallible operators are not for live sets; compare snapshots instead:
///
/// ```compile_fail,E0369
/// # fn compare(one: &warploom::DevicePool, other: &warploom::DevicePool) {
/// let same = one.peers() == other.peers();
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct PeerSet<'a> {
    raw: &'a Handle<CUmemPoolHandle_st>,
    owner: &'a Device,
}

/// The access of a device to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessLevel {
    /// Nothing.
    None,
    /// Read it.
    Read,
    /// Read and write it.
    ReadWrite,
}

impl fmt::Display for AccessLevel {
    /// `no access`, `access to read`, `access to read and write`
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            AccessLevel::None => "no access",
            AccessLevel::Read => "access to read",
            AccessLevel::ReadWrite => "access to read and write",
        })
    }
}

impl AccessLevel {
    pub(crate) fn flags(self) -> CUmemAccess_flags {
        match self {
            AccessLevel::None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
            AccessLevel::Read => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
            AccessLevel::ReadWrite => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        }
    }
}

/// A device, named by itself or by its ordinal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceRef {
    /// The device itself.
    Device(Device),
    /// Its number, counted from 0.
    Ordinal(u32),
}

impl DeviceRef {
    /// `true` if it is this device that is named.
    pub(crate) fn names(&self, other: &Device) -> bool {
        match self {
            DeviceRef::Device(device) => device == other,
            DeviceRef::Ordinal(ordinal) => *ordinal == other.ordinal(),
        }
    }
}

impl<'a> PeerSet<'a> {
    /// The peers of a pool of `owner` that is alive for as long as `raw` is borrowed.
    pub(crate) fn new(raw: &'a Handle<CUmemPoolHandle_st>, owner: &'a Device) -> PeerSet<'a> {
        PeerSet { raw, owner }
    }

    /// The access of a device to the pool's memory; the pool's own may read and write it. Only devices that
    /// may do both are in the set.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NoSuchDevice`] beyond the last, [`DeviceError::DriverMismatch`] for a device of another
    /// driver, and the driver's error.
    #[doc(alias = "cuMemPoolGetAccess")]
    pub fn level(&self, device: impl Into<DeviceRef>) -> Result<AccessLevel> {
        self.access(&self.find(device.into())?)
    }

    /// Takes every grant back, if there are any, once `wait` has waited for all use of the pool's memory.
    pub(crate) fn revoke(&self, wait: impl FnOnce() -> Result<()>) -> Result<()> {
        let members: Vec<Device> = self.iter()?.collect();
        if members.is_empty() {
            return Ok(());
        }
        wait()?;
        self.apply_now(&mut self.lock(), &[], &members)
    }

    /// Takes access away from these devices at once; see [`LiveSet::subtract`], which waits for their work.
    ///
    /// ```
    /// use warploom::{DevicePool, Driver, LiveSet};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("pcie-pair")?)?;
    /// let pool = DevicePool::new(&driver.device(0)?.context()?)?;
    /// pool.peers().insert(1)?;
    /// // SAFETY: nothing was enqueued on device 1.
    /// unsafe { pool.peers().revoke_now([1]) }?;
    /// assert!(pool.peers().is_empty()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The driver's error. Devices without access are no error.
    ///
    /// # Safety
    ///
    /// No work that was enqueued uses memory of the pool on these devices: it would access memory that is no
    /// longer mapped, and its context could not be used from then on.
    pub unsafe fn revoke_now<I: IntoIterator<Item: Into<DeviceRef>>>(&self, devices: I) -> Result<()> {
        let unwanted = self.all_existing(devices)?;
        let mut lock = self.lock();
        let removals: Vec<Device> = self.read_all()?.intersection(&unwanted).cloned().collect();
        if removals.is_empty() { Ok(()) } else { self.apply_now(&mut lock, &[], &removals) }
    }

    /// The device that was named. No driver call: a driver that has made a pool knows its devices.
    fn find(&self, device: DeviceRef) -> Result<Device> {
        let driver = self.owner.driver();
        match device {
            DeviceRef::Device(device) => same_driver(driver, device.driver()).map(|()| device),
            DeviceRef::Ordinal(ordinal) => driver.device(ordinal),
        }
    }

    fn access(&self, device: &Device) -> Result<AccessLevel> {
        let mut flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE;
        let mut location = location(device);
        let driver = self.owner.driver();
        // SAFETY: the pool is alive while it is borrowed, and both pointers are to variables of the call's
        // own.
        unsafe { driver.cuMemPoolGetAccess(&raw mut flags, self.raw.raw(), &raw mut location) }?;
        Ok(match flags {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => AccessLevel::ReadWrite,
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ => AccessLevel::Read,
            _ => AccessLevel::None,
        })
    }
}

impl Backing for PeerSet<'_> {
    type Item = Device;
    type Key = DeviceRef;

    fn name(&self, key: DeviceRef) -> Result<Named<Device>> {
        match self.find(key) {
            Ok(device) if device == *self.owner => Ok(Named::Never),
            Ok(device) => Ok(Named::Item(device)),
            Err(
                why @ (Error::Device(DeviceError::NoSuchDevice { .. })
                | Error::Device(DeviceError::DriverMismatch { .. })),
            ) => Ok(Named::Unknown(why)),
            Err(error) => Err(error),
        }
    }

    fn refuse(&self, unknown: Vec<Error>) -> Error {
        let mut ordinals = BTreeSet::new();
        let mut count = 0;
        for why in unknown {
            match why {
                Error::Device(DeviceError::NoSuchDevice { ordinal, count: there }) => {
                    ordinals.insert(ordinal);
                    count = there;
                }
                other => return other,
            }
        }
        Error::Device(DeviceError::NoSuchDevices { ordinals: ordinals.into_iter().collect(), count })
    }

    fn lock(&self) -> Lock {
        Lock::of(self.raw.raw())
    }

    fn read_all(&self) -> Result<BTreeSet<Device>> {
        let mut members = BTreeSet::new();
        for device in self.owner.driver().devices()? {
            if device != *self.owner && self.read_one(&device)? {
                members.insert(device);
            }
        }
        Ok(members)
    }

    fn read_one(&self, device: &Device) -> Result<bool> {
        Ok(self.access(device)? == AccessLevel::ReadWrite)
    }

    fn check_additions(&self, additions: &[Device]) -> Result<()> {
        let mut peers = Vec::new();
        for peer in additions {
            if !peer.can_access(self.owner)? {
                peers.push(peer.ordinal());
            }
        }
        if peers.is_empty() {
            Ok(())
        } else {
            Err(PeerError::Unsupported { owner: self.owner.ordinal(), peers }.into())
        }
    }

    fn is_in_use(&self, removals: &[Device]) -> bool {
        removals.iter().any(|device| self.owner.has_accessor(device))
    }

    fn wait_for_use(&self) -> Result<()> {
        self.owner.wait_for_accessors()
    }

    #[doc(alias = "cuMemPoolSetAccess")]
    fn write(&self, additions: &[Device], removals: &[Device]) -> Result<()> {
        let describe = |level: AccessLevel| {
            move |device: &Device| CUmemAccessDesc { location: location(device), flags: level.flags() }
        };
        let granted = additions.iter().map(describe(AccessLevel::ReadWrite));
        let revoked = removals.iter().map(describe(AccessLevel::None));
        let map: Vec<CUmemAccessDesc> = granted.chain(revoked).collect();
        self.owner.note_pool_change();
        // SAFETY: the pool is alive while it is borrowed, and the array is as long as is said.
        let written = unsafe { self.owner.driver().cuMemPoolSetAccess(self.raw.raw(), map.as_ptr(), map.len()) };
        self.owner.note_pool_change();
        Ok(written?)
    }
}

/// The location of a device's memory, in the driver's form.
pub(crate) fn location(device: &Device) -> CUmemLocation {
    CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, device.as_raw())
}

impl fmt::Debug for PeerSet<'_> {
    /// With the current members, or the error of reading them.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("PeerSet");
        text.field("owner", &self.owner.ordinal());
        match self.snapshot() {
            Ok(members) => text.field("members", &members.iter().map(Device::ordinal).collect::<BTreeSet<_>>()),
            Err(error) => text.field("error", &format_args!("{error}")),
        };
        text.finish()
    }
}

impl From<Device> for DeviceRef {
    fn from(device: Device) -> DeviceRef {
        DeviceRef::Device(device)
    }
}

impl From<&Device> for DeviceRef {
    fn from(device: &Device) -> DeviceRef {
        DeviceRef::Device(device.clone())
    }
}

impl From<u32> for DeviceRef {
    fn from(ordinal: u32) -> DeviceRef {
        DeviceRef::Ordinal(ordinal)
    }
}
