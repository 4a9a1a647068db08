//! Topologies: which devices have access to the memory of which others.
//!
//! A [`Topology`] has the capabilities of the hardware, read once: the ordered pairs of devices of which the
//! first can be given access to memory of the second. It does not say which access is *enabled*; that is for
//! a mesh of contexts and for [the peers of a pool](crate::PeerSet).
//!
//! A pair is *accessor, owner*: the device that reads or writes, and the device whose memory it is. The
//! driver answers for each direction on its own, and the two may differ.

mod dot;
mod islands;
mod link;
mod svg;
mod table;

use std::sync::{Arc, OnceLock};

pub use link::{Link, PeerAtomics};

use crate::device::{peer_capability, same_driver};
use crate::{Device, DeviceError, DeviceRef, Error, Result};

/// The peer capabilities of a list of devices, as the driver reported them.
///
/// ```
/// use warploom::{Driver, Topology};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("asymmetric")?)?;
/// let topology = Topology::probe(&driver.devices()?)?;
/// assert!(topology.can_access(2, 0)? && !topology.can_access(0, 2)?); // one way only
/// println!("{topology}");
/// std::fs::write(std::env::temp_dir().join("topology.svg"), topology.to_svg())?;
/// # Ok(())
/// # }
/// ```
///
/// Printed, it is a table; [`Topology::to_dot`] and [`Topology::to_svg`] make pictures. A clone is another
/// handle to the same answers.
#[derive(Clone, Debug)]
pub struct Topology {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Ascending, each once.
    devices: Vec<Device>,
    /// For each accessor, for each owner.
    cells: Vec<Cell>,
}

/// The facts about one ordered pair.
#[derive(Debug)]
struct Cell {
    can_access: Result<bool>,
    link: OnceLock<Link>,
}

/// An ordered pair of two devices of a [`Topology`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Pair<'a> {
    /// The device that reads or writes.
    pub accessor: &'a Device,
    /// The device whose memory it is.
    pub owner: &'a Device,
    /// `true` if the accessor can be given access; an error if the driver could not say.
    pub can_access: Result<bool, &'a Error>,
    /// The link's properties, if they have been read.
    pub link: Option<&'a Link>,
}

impl Topology {
    /// Asks about every ordered pair of these devices: N·(N-1) driver calls for N of them. A device named
    /// twice counts once. Of no devices, as on a machine without any, the topology is empty.
    ///
    /// A question that the driver cannot answer is part of the result, as [`Pair::can_access`] and
    /// [`Topology::failures`], and does not keep the others from being asked.
    ///
    /// # Errors
    ///
    /// [`DeviceError::DriverMismatch`] for devices of different drivers. Then the driver has not been asked.
    #[doc(alias = "cuDeviceCanAccessPeer")]
    pub fn probe(devices: &[Device]) -> Result<Topology> {
        let mut devices = devices.to_vec();
        devices.sort_unstable();
        devices.dedup();
        if let [first, others @ ..] = &*devices {
            others.iter().try_for_each(|other| same_driver(first.driver(), other.driver()))?;
        }
        let row = |accessor| devices.iter().map(move |owner| Cell::ask(accessor, owner));
        let cells = devices.iter().flat_map(row).collect();
        Ok(Topology { shared: Arc::new(Shared { devices, cells }) })
    }

    /// The devices, ascending.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.shared.devices
    }

    /// `true` if `accessor` can be given access to memory of `owner`; a device always can to its own. No
    /// driver call.
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotInTopology`] for a device that was not asked about, and the error that the driver
    /// gave when it was.
    pub fn can_access(&self, accessor: impl Into<DeviceRef>, owner: impl Into<DeviceRef>) -> Result<bool> {
        let (accessor, owner) = (self.position(&accessor.into())?, self.position(&owner.into())?);
        self.cell(accessor, owner).can_access.clone()
    }

    /// Every ordered pair of different devices: by accessor, then by owner.
    pub fn pairs(&self) -> impl Iterator<Item = Pair<'_>> {
        let size = self.devices().len();
        let all = (0..size).flat_map(move |accessor| (0..size).map(move |owner| (accessor, owner)));
        all.filter(|(accessor, owner)| accessor != owner).map(|(accessor, owner)| self.pair(accessor, owner))
    }

    /// The pairs about which the driver could not say anything, and why.
    pub fn failures(&self) -> impl Iterator<Item = (Pair<'_>, &Error)> {
        self.pairs().filter_map(|pair| Some((pair, pair.can_access.err()?)))
    }

    fn pair(&self, accessor: usize, owner: usize) -> Pair<'_> {
        let (cell, devices) = (self.cell(accessor, owner), self.devices());
        let can_access = cell.can_access.as_ref().copied();
        Pair { accessor: &devices[accessor], owner: &devices[owner], can_access, link: cell.link.get() }
    }

    /// The facts about the pair at two positions.
    fn cell(&self, accessor: usize, owner: usize) -> &Cell {
        &self.shared.cells[accessor * self.devices().len() + owner]
    }

    /// `true` if the driver said that the device at one position can access memory of the one at the other.
    fn reaches(&self, accessor: usize, owner: usize) -> bool {
        self.cell(accessor, owner).can_access == Ok(true)
    }

    /// The driver's answer about the pair at two positions.
    pub(crate) fn capability(&self, accessor: usize, owner: usize) -> &Result<bool> {
        &self.cell(accessor, owner).can_access
    }

    /// The position of a device in the list.
    pub(crate) fn position(&self, device: &DeviceRef) -> Result<usize> {
        let ordinal = match device {
            DeviceRef::Device(device) => {
                if let Some(first) = self.devices().first() {
                    same_driver(first.driver(), device.driver())?;
                }
                device.ordinal()
            }
            DeviceRef::Ordinal(ordinal) => *ordinal,
        };
        let found = self.devices().binary_search_by_key(&ordinal, Device::ordinal);
        found.map_err(|_| Error::Device(DeviceError::NotInTopology { device: ordinal }))
    }
}

impl Cell {
    fn ask(accessor: &Device, owner: &Device) -> Cell {
        Cell { can_access: peer_capability(accessor, owner), link: OnceLock::new() }
    }
}
