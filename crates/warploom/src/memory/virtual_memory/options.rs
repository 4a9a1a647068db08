//! Options of virtual memory.

use std::collections::BTreeMap;
use std::ptr::null_mut;

use warploom_driver::sys::types::{
    CUdeviceptr, CUmemAccessDesc, CUmemAllocationGranularity_flags, CUmemAllocationHandleType, CUmemAllocationProp,
    CUmemAllocationProp_st__bindgen_ty_1, CUmemAllocationType,
};

use crate::peers::location;
use crate::{AccessLevel, Device, Error, PeerError, Result, VirtualMemoryError};

/// Options of [`VirtualMemory`](crate::VirtualMemory): its granularity, its address, and the devices that may
/// use it.
///
/// ```
/// use warploom::{AccessLevel, Driver, VirtualMemory, VirtualOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("dgx-h100")?)?;
/// let (writer, reader) = (driver.device(0)?, driver.device(1)?);
/// let options = VirtualOptions::new().peer(&reader, AccessLevel::Read).alignment(1 << 30);
/// let buffer = VirtualMemory::with(&writer.context()?, options)?.allocate::<u32>(1000)?;
/// assert!(buffer.as_raw().is_multiple_of(1 << 30));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct VirtualOptions {
    pub(super) granularity: Granularity,
    pub(super) alignment: usize,
    pub(super) address: CUdeviceptr,
    pub(super) remote_access: bool,
    /// The handles that its memory can be exported as.
    pub(super) handle_types: CUmemAllocationHandleType,
    own: AccessLevel,
    peers: BTreeMap<Device, AccessLevel>,
}

/// The granularity of allocations: one of the driver's two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Granularity {
    /// The smallest there is, so that least is left unused.
    Minimum,
    /// The one that the driver calls best for speed.
    #[default]
    Recommended,
}

impl Granularity {
    pub(super) fn flags(self) -> CUmemAllocationGranularity_flags {
        match self {
            Granularity::Minimum => CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM,
            Granularity::Recommended => CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_RECOMMENDED,
        }
    }
}

impl Default for VirtualOptions {
    fn default() -> VirtualOptions {
        VirtualOptions {
            granularity: Granularity::default(),
            alignment: 0,
            address: 0,
            remote_access: false,
            handle_types: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
            own: AccessLevel::ReadWrite,
            peers: BTreeMap::new(),
        }
    }
}

impl VirtualOptions {
    /// Memory wherever the driver likes, that its own device reads and writes and no other uses.
    pub fn new() -> VirtualOptions {
        VirtualOptions::default()
    }

    /// The granularity of its allocations.
    pub fn granularity(mut self, granularity: Granularity) -> VirtualOptions {
        self.granularity = granularity;
        self
    }

    /// The alignment of addresses: a power of two, or 0 for the granularity.
    pub fn alignment(mut self, alignment: usize) -> VirtualOptions {
        self.alignment = alignment;
        self
    }

    /// An address that each allocation starts at if it can be had, and elsewhere if not; 0 for any.
    pub fn address(mut self, address: CUdeviceptr) -> VirtualOptions {
        self.address = address;
        self
    }

    /// The access of its own device; read and write by default.
    pub fn own_access(mut self, level: AccessLevel) -> VirtualOptions {
        self.own = level;
        self
    }

    /// The access of another device; none by default. Naming its own device does nothing.
    pub fn peer(mut self, device: &Device, level: AccessLevel) -> VirtualOptions {
        self.peers.insert(device.clone(), level);
        self
    }

    /// Memory that other hardware, such as network cards, can be let access directly.
    #[doc(alias = "gpuDirectRDMACapable")]
    pub fn remote_access(mut self) -> VirtualOptions {
        self.remote_access = true;
        self
    }

    /// Memory whose buffers other processes can [import](crate::VirtualMemory::import).
    #[cfg(target_os = "linux")]
    #[doc(alias = "CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR")]
    pub fn shareable(mut self) -> VirtualOptions {
        self.handle_types = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        self
    }

    /// The properties of new memory of a device.
    pub(super) fn properties(&self, device: &Device) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: self.handle_types,
            location: location(device),
            win32HandleMetaData: null_mut(),
            allocFlags: CUmemAllocationProp_st__bindgen_ty_1 {
                compressionType: 0,
                gpuDirectRDMACapable: u8::from(self.remote_access),
                usage: 0,
                reserved: [0; 4],
            },
        }
    }

    /// Refuses an alignment that is not a power of two.
    pub(super) fn check_alignment(&self) -> Result<()> {
        let alignment = self.alignment;
        if alignment == 0 || alignment.is_power_of_two() {
            Ok(())
        } else {
            Err(VirtualMemoryError::Alignment { alignment }.into())
        }
    }

    /// Refuses an address that nothing could be mapped at.
    pub(super) fn check_address(&self, granularity: usize) -> Result<()> {
        let (address, multiple) = (self.address, self.alignment.max(granularity));
        if address.is_multiple_of(multiple as CUdeviceptr) {
            Ok(())
        } else {
            Err(Error::VirtualMemory(VirtualMemoryError::Misaligned { address, multiple }))
        }
    }

    /// Access descriptors for memory of `owner`, its own device first; refuses devices that cannot access it.
    pub(super) fn access(&self, owner: &Device) -> Result<Vec<CUmemAccessDesc>> {
        let others = self.peers.iter().filter(|(peer, level)| *peer != owner && **level != AccessLevel::None);
        let (mut access, mut unable) = (vec![description(owner, self.own)], Vec::new());
        for (peer, level) in others {
            if peer.can_access(owner)? {
                access.push(description(peer, *level));
            } else {
                unable.push(peer.ordinal());
            }
        }
        if unable.is_empty() {
            Ok(access)
        } else {
            Err(Error::Peer(PeerError::Unsupported { owner: owner.ordinal(), peers: unable }))
        }
    }
}

fn description(device: &Device, level: AccessLevel) -> CUmemAccessDesc {
    CUmemAccessDesc { location: location(device), flags: level.flags() }
}
