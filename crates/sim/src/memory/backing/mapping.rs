//! Mappings of physical allocations, and the access rights to them.

use litemap::LiteMap;
use warploom_sys::types::CUmemAccess_flags;

use crate::ffi::handle::PhysicalHandle;

/// The rights of a device or of the host; more compares greater.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rights {
    #[default]
    None,
    Read,
    ReadWrite,
}

impl Rights {
    pub(crate) fn read(flags: CUmemAccess_flags) -> Option<Self> {
        match flags {
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE => Some(Self::None),
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ => Some(Self::Read),
            CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE => Some(Self::ReadWrite),
            _ => None,
        }
    }

    /// The number in `CUmemAccess_flags`.
    pub(crate) fn flags(self) -> CUmemAccess_flags {
        match self {
            Self::None => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_NONE,
            Self::Read => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READ,
            Self::ReadWrite => CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        }
    }
}

/// A physical allocation at an address, and the rights to it there; none at first.
#[derive(Debug)]
pub(crate) struct Mapping {
    physical: PhysicalHandle,
    /// Start of the physical allocation's bytes in the store, or the number of its shared object.
    offset: u64,
    host: Rights,
    devices: LiteMap<u16, Rights>,
}

impl Mapping {
    pub(crate) fn new(physical: PhysicalHandle, offset: u64) -> Self {
        Self { physical, offset, host: Rights::None, devices: LiteMap::new() }
    }

    pub(crate) fn physical(&self) -> PhysicalHandle {
        self.physical
    }

    /// Start of the physical allocation's bytes in the store, or the number of its shared object.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn is_open_to_host(&self) -> bool {
        self.host != Rights::None
    }

    /// The rights of the host.
    pub(crate) fn host_rights(&self) -> Rights {
        self.host
    }

    /// The rights of a device.
    pub(crate) fn rights_of(&self, device: u16) -> Rights {
        self.devices.get(&device).copied().unwrap_or_default()
    }

    /// The least rights among those that have any: the driver's answer about the host as such.
    pub(crate) fn least_rights(&self) -> Rights {
        let given = self.devices.values().copied().chain([self.host]).filter(|rights| *rights != Rights::None);
        given.min().unwrap_or_default()
    }

    pub(crate) fn grant_device(&mut self, device: u16, rights: Rights) {
        self.devices.insert(device, rights);
    }

    pub(crate) fn grant_host(&mut self, rights: Rights) {
        self.host = rights;
    }
}
