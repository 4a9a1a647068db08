//! Attributes of copies in a batch: source access order, location hints and flags.

use warploom_sys::types::{
    CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUmemcpyFlags, CUmemcpySrcAccessOrder,
};

use super::access::{Memory, ResolvedOperand};
use super::queued::Shape;
use crate::machine::world::Work;

/// The time at which the source of a copy may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// In stream order.
    Stream,
    /// Before the call returns.
    DuringCall,
    /// At any time until the copy is done.
    Any,
}

/// Sources up to this size are read at the call if the order is `ANY`. Larger pageable sources of copies to a
/// device are read in stream order, even if the order is `DURING_API_CALL`: an H200 does so, against the
/// manual.
const SMALL: u64 = 1 << 16;

impl Order {
    pub(super) fn new(given: CUmemcpySrcAccessOrder) -> Result<Order, String> {
        match given {
            CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM => Ok(Order::Stream),
            CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL => Ok(Order::DuringCall),
            CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_ANY => Ok(Order::Any),
            CUmemcpySrcAccessOrder(other) => Err(format!("{other} is no order of access to a source")),
        }
    }

    /// The op, which reads its source when hardware does. With the order `ANY`, small host memory is read at
    /// once, so that a program that needs stream order fails.
    pub(super) fn work(self, to: &ResolvedOperand, from: &ResolvedOperand, shape: Shape) -> Work {
        let early = match self {
            Order::Stream => false,
            Order::DuringCall => {
                from.memory != Memory::Pageable || to.memory != Memory::Device || shape.bytes() <= SMALL
            }
            Order::Any => from.memory != Memory::Device && shape.bytes() <= SMALL,
        };
        if early { shape.staged(to, from) } else { shape.work(to, from) }
    }
}

/// The access order of a set of attributes, if all of them are valid.
pub(super) fn checked(devices: usize, given: &CUmemcpyAttributes) -> Result<Order, String> {
    flags(given.flags)?;
    location(devices, given.srcLocHint)?;
    location(devices, given.dstLocHint)?;
    Order::new(given.srcAccessOrder)
}

pub(super) fn flags(given: u32) -> Result<(), String> {
    let known = CUmemcpyFlags::CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE.0;
    if given & !known == 0 { Ok(()) } else { Err(format!("flags are {given:#x}; only {known} is known")) }
}

/// Checks that a location hint is valid. A valid hint has no effect.
pub(super) fn location(devices: usize, given: CUmemLocation) -> Result<(), String> {
    match given.type_ {
        CUmemLocationType::CU_MEM_LOCATION_TYPE_INVALID
        | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST
        | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA
        | CUmemLocationType::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT => Ok(()),
        CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE => {
            let id = given.id();
            match usize::try_from(id) {
                Ok(device) if device < devices => Ok(()),
                _ => Err(format!("{id} is no device; there are {}", devices)),
            }
        }
        CUmemLocationType(other) => Err(format!("{other} is no kind of location")),
    }
}
