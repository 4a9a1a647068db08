//! Links between two devices: access, atomics, performance rank.

use warploom_driver::DriverVersion;
use warploom_driver::sys::types::CUdevice_P2PAttribute;

use super::Topology;
use crate::device::peer_attribute;
use crate::{Device, DeviceRef, Result};

/// The first driver that tells links with some atomic operations from links with none.
const PARTIAL_ATOMICS: DriverVersion = DriverVersion::new(13, 0);

/// The properties of the link between two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Link {
    /// The performance rank among the machine's links; 0 is the fastest. Meaningless without access.
    pub performance_rank: i32,
    /// `true` if there is access.
    pub access: bool,
    /// The atomic operations that work across it.
    pub atomics: PeerAtomics,
    /// `true` if arrays can be accessed across it.
    pub array_access: bool,
}

/// The atomic operations that work across a link to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeerAtomics {
    /// None, or, from drivers before 13.0, not all.
    None,
    /// Some.
    Partial,
    /// All.
    Native,
}

impl Link {
    /// Four or five driver calls.
    fn ask(accessor: &Device, owner: &Device) -> Result<Link> {
        type Attribute = CUdevice_P2PAttribute;
        let number = |attribute| peer_attribute(accessor, owner, attribute);
        let is = |attribute| number(attribute).map(|value| value != 0);
        let atomics = if is(Attribute::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED)? {
            PeerAtomics::Native
        } else if accessor.driver().version() >= PARTIAL_ATOMICS
            && is(Attribute::CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED)?
        {
            PeerAtomics::Partial
        } else {
            PeerAtomics::None
        };
        Ok(Link {
            performance_rank: number(Attribute::CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK)?,
            access: is(Attribute::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED)?,
            atomics,
            array_access: is(Attribute::CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED)?,
        })
    }
}

impl Topology {
    /// The link by which `accessor` reaches memory of `owner`; `None` for a device and itself, which need
    /// none.
    ///
    /// Asked when it is first wanted, and remembered.
    ///
    /// ```
    /// use warploom::{Driver, PeerAtomics, Topology};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let driver = Driver::open(&warploom_sim::Machine::preset("dgx-h100")?)?;
    /// let topology = Topology::probe(&driver.devices()?)?;
    /// let link = topology.link(0, 1)?.expect("they are two");
    /// assert_eq!((link.performance_rank, link.atomics), (0, PeerAtomics::Native));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`DeviceError::NotInTopology`](crate::DeviceError::NotInTopology) for a device that was not asked
    /// about, and the driver's error.
    #[doc(alias = "cuDeviceGetP2PAttribute")]
    pub fn link(&self, accessor: impl Into<DeviceRef>, owner: impl Into<DeviceRef>) -> Result<Option<Link>> {
        let (accessor, owner) = (self.position(&accessor.into())?, self.position(&owner.into())?);
        if accessor == owner {
            return Ok(None);
        }
        let (known, devices) = (&self.cell(accessor, owner).link, self.devices());
        if let Some(link) = known.get() {
            return Ok(Some(*link));
        }
        let link = Link::ask(&devices[accessor], &devices[owner])?;
        Ok(Some(*known.get_or_init(|| link)))
    }

    /// Asks about every link, so that tables and pictures have them all.
    ///
    /// # Errors
    ///
    /// The driver's error. Links read before are kept.
    pub fn probe_links(&self) -> Result<()> {
        self.pairs().try_for_each(|pair| self.link(pair.accessor, pair.owner).map(drop))
    }
}
