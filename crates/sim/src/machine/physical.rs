//! Physical allocations: memory without an address.

use warploom_sys::types::{
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationProp_st__bindgen_ty_1 as AllocationFlags,
    CUmemAllocationType, CUmemLocation,
};

use crate::ffi::handle::kind;
use crate::machine::objects::Object;
use crate::memory::Side;

/// A physical allocation. Its bytes are in [`VirtualMemory`](crate::memory::VirtualMemory).
pub(crate) struct Physical {
    pub(crate) size: u64,
    /// Start of its bytes in the store, or the number of its shared object.
    pub(crate) offset: u64,
    pub(crate) side: Side,
    pub(crate) properties: Properties,
    /// It was created by another process, which is charged for it.
    pub(crate) is_imported: bool,
    /// The number of times that its handle can still be released.
    pub(crate) references: u64,
}

/// The properties of a physical allocation, as the driver reports them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties {
    pub(crate) handle_types: CUmemAllocationHandleType,
    pub(crate) location: CUmemLocation,
    pub(crate) compression: u8,
    pub(crate) remote_access: u8,
}

impl Properties {
    /// The C form.
    pub(crate) fn show(self) -> CUmemAllocationProp {
        CUmemAllocationProp {
            type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
            requestedHandleTypes: self.handle_types,
            location: self.location,
            win32HandleMetaData: std::ptr::null_mut(),
            allocFlags: AllocationFlags {
                compressionType: self.compression,
                gpuDirectRDMACapable: self.remote_access,
                usage: 0,
                reserved: [0; 4],
            },
        }
    }
}

impl Object for Physical {
    type Kind = kind::Physical;
}
