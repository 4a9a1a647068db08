//! Values of pointer attributes, one function per attribute.

use std::ffi::c_void;

use warploom_sys::types::{CUpointer_attribute, CUpointer_attribute as A};

use crate::api::pool::AccessLevel;
use crate::ffi::Ptr;
use crate::ffi::status::Status;
use crate::machine::call::Call;
use crate::machine::context::Context;
use crate::machine::pool::CHUNK;
use crate::machine::world::World;
use crate::memory::{Allocation, Backing, Block, Home, Side};
use crate::process::thread;
use crate::topology::number::GPU_DIRECT_RDMA_SUPPORTED;

/// An attribute in its C type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// An address, a size, a handle or an id.
    Word(u64),
    /// A number, a flag or an enumeration.
    Int(i32),
    /// P2P tokens of older drivers: one for the memory, one for its address space.
    Tokens(u64, u32),
    /// The driver leaves the variable unchanged.
    Untouched,
}

/// The token of every address space on Linux.
const ADDRESS_SPACE_TOKEN: u32 = 0xfe00;
/// Neither a device nor the host.
const NO_DEVICE: i32 = -2;
const READ_WRITE: i32 = 3;

impl Value {
    pub(super) fn write(self, out: Ptr<c_void>) -> Status {
        match self {
            Value::Word(word) => out.typed::<u64>().write(word),
            Value::Int(int) => out.typed::<i32>().write(int),
            Value::Tokens(memory, space) => {
                out.typed::<u64>().write(memory)?;
                // The second token follows the first, as in the C struct.
                out.typed::<u32>().write_at(2, space)
            }
            Value::Untouched => Ok(()),
        }
    }

    /// The value for memory without the attribute.
    pub(super) fn zero(attribute: CUpointer_attribute) -> Value {
        match attribute {
            A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE
            | A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
            | A::CU_POINTER_ATTRIBUTE_IS_MANAGED
            | A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
            | A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE
            | A::CU_POINTER_ATTRIBUTE_MAPPED
            | A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE
            | A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS
            | A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => Value::Int(0),
            A::CU_POINTER_ATTRIBUTE_P2P_TOKENS => Value::Tokens(0, 0),
            _ => Value::Word(0),
        }
    }

    /// The values in a list for an address without memory: host memory, or the reservation around the
    /// address.
    pub(super) fn of_unknown(attribute: CUpointer_attribute, address: u64, reserved: Option<(u64, u64)>) -> Value {
        match attribute {
            A::CU_POINTER_ATTRIBUTE_HOST_POINTER => Value::Word(address),
            A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(NO_DEVICE),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => {
                reserved.map_or(Value::Untouched, |(base, _)| Value::Word(base))
            }
            A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => reserved.map_or(Value::Untouched, |(_, size)| Value::Word(size)),
            other => Value::zero(other),
        }
    }
}

/// The first driver version that knows an attribute, if any.
pub(super) fn since(attribute: CUpointer_attribute) -> Option<i32> {
    match attribute.0 {
        1..=5 => Some(4000),
        6..=8 => Some(6000),
        9..=16 => Some(11010),
        17 => Some(11030),
        18..=20 => Some(12000),
        21 => Some(12080),
        _ => None,
    }
}

/// The pool chunks of an allocation.
fn chunks_of(allocation: &Allocation) -> Block {
    let base = allocation.base / CHUNK * CHUNK;
    let len = allocation.end().next_multiple_of(CHUNK) - base;
    Block { base, len, serial: base / CHUNK }
}

/// The driver reports the size of a host pool's memory, but not its start.
fn is_of_host_pool(allocation: &Allocation) -> bool {
    matches!(&allocation.backing, Backing::Pool(block) if matches!(block.home, Home::Host(_)))
}

/// The current context, if any; access is reported for its device.
pub(super) struct Asker<'a> {
    call: &'a Call<'a>,
    world: &'a World,
    context: Option<&'a Context>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(call: &'a Call<'a>, world: &'a World) -> Self {
        let current = thread::with_contexts(call.core().id, |stack| stack.last().copied());
        Self { call, world, context: current.and_then(|current| world.contexts().get(current)) }
    }

    /// An attribute of the memory at `address`; `None` if such memory does not have it.
    pub(super) fn value(&self, attribute: CUpointer_attribute, allocation: &Allocation, address: u64) -> Option<Value> {
        let flag = |holds: bool| Value::Int(i32::from(holds));
        let is_plain = matches!(allocation.backing, Backing::Device);
        let on_device = matches!(allocation.side, Side::Device(_)) || allocation.is_managed();
        Some(match attribute {
            A::CU_POINTER_ATTRIBUTE_CONTEXT => Value::Word(allocation.context.map_or(0, |context| context.bits())),
            A::CU_POINTER_ATTRIBUTE_MEMORY_TYPE => Value::Int(if on_device { 2 } else { 1 }),
            A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER if self.access(allocation) != 0 => Value::Word(address),
            A::CU_POINTER_ATTRIBUTE_HOST_POINTER if allocation.is_host_accessible() => Value::Word(address),
            A::CU_POINTER_ATTRIBUTE_P2P_TOKENS if on_device => Value::Tokens(0, ADDRESS_SPACE_TOKEN),
            A::CU_POINTER_ATTRIBUTE_DEVICE_POINTER
            | A::CU_POINTER_ATTRIBUTE_HOST_POINTER
            | A::CU_POINTER_ATTRIBUTE_P2P_TOKENS => return None,
            // Managed memory reports `SYNC_MEMOPS` from the start; its copies wait only if the program sets it.
            A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS => {
                flag(allocation.sync_memops.unwrap_or_else(|| allocation.is_managed()))
            }
            A::CU_POINTER_ATTRIBUTE_BUFFER_ID => Value::Word(allocation.id),
            A::CU_POINTER_ATTRIBUTE_IS_MANAGED => flag(allocation.is_managed()),
            A::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL => Value::Int(self.ordinal(allocation)),
            A::CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE => flag(is_plain),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR if is_of_host_pool(allocation) => Value::Word(0),
            A::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR => Value::Word(allocation.base),
            A::CU_POINTER_ATTRIBUTE_RANGE_SIZE => Value::Word(allocation.size),
            A::CU_POINTER_ATTRIBUTE_MAPPED => flag(true),
            A::CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES => Value::Word(self.handle_types(allocation)),
            A::CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE => flag(self.does_rdma(allocation)),
            A::CU_POINTER_ATTRIBUTE_ACCESS_FLAGS => Value::Int(self.access(allocation)),
            A::CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE => match &allocation.backing {
                Backing::Pool(block) => Value::Word(block.pool.bits()),
                _ => Value::Word(0),
            },
            A::CU_POINTER_ATTRIBUTE_MAPPING_SIZE => Value::Word(self.block(allocation).len),
            A::CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR => Value::Word(self.block(allocation).base),
            A::CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID => Value::Word(self.block(allocation).serial),
            A::CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE => flag(is_plain),
            other => Value::zero(other),
        })
    }

    /// The device of the memory, or for host memory the one it was allocated for.
    fn ordinal(&self, allocation: &Allocation) -> i32 {
        match allocation.side {
            Side::Device(device) => i32::from(device),
            Side::Host => {
                let context = allocation.context.and_then(|context| self.world.contexts().get(context));
                context.map_or(0, |context| i32::from(context.device))
            }
        }
    }

    fn does_rdma(&self, allocation: &Allocation) -> bool {
        match &allocation.backing {
            Backing::Device => {
                let device = &self.call.core().topology.devices[self.ordinal(allocation) as usize];
                device.attributes.get(GPU_DIRECT_RDMA_SUPPORTED) != Some(0)
            }
            Backing::Mapped(mapping) => {
                let behind = self.world.physical().get(mapping.physical());
                behind.is_some_and(|physical| physical.properties.remote_access != 0)
            }
            _ => false,
        }
    }

    /// The handle types that the memory can be exported as.
    fn handle_types(&self, allocation: &Allocation) -> u64 {
        match &allocation.backing {
            Backing::Pool(block) => self.world.pools().get(block.pool).map_or(0, |pool| pool.handle_types().into()),
            Backing::Mapped(mapping) => {
                let behind = self.world.physical().get(mapping.physical());
                behind.map_or(0, |physical| physical.properties.handle_types.0.into())
            }
            _ => 0,
        }
    }

    /// The access rights of the current context's device.
    fn access(&self, allocation: &Allocation) -> i32 {
        let Some(asking) = self.context else { return READ_WRITE };
        match &allocation.backing {
            Backing::Mapped(mapping) => return mapping.rights_of(asking.device).flags().0 as i32,
            Backing::Pool(block) => {
                let reaches = self.world.pool_access(block.pool, asking.device) == AccessLevel::ReadWrite;
                return if reaches { READ_WRITE } else { 0 };
            }
            _ => {}
        }
        let is_local = match allocation.side {
            Side::Host => true,
            Side::Device(device) => device == asking.device || allocation.is_managed(),
        };
        let is_local = is_local || matches!(allocation.backing, Backing::Imported(_));
        let is_peer = allocation.context.is_some_and(|context| asking.peers.contains(&context));
        if is_local || is_peer { READ_WRITE } else { 0 }
    }

    /// The block of the memory; its serial is unique over all kinds of memory.
    fn block(&self, allocation: &Allocation) -> Block {
        let devices = self.world.devices().len() as u64;
        let (found, source) = match (&allocation.backing, allocation.side) {
            (Backing::PageLocked(_), _) => (self.world.host_memory().block_of(allocation.base), devices),
            (Backing::Managed(_), _) => (self.world.managed_memory().block_of(allocation.base), devices + 1),
            (Backing::Pool(_), _) => (Some(chunks_of(allocation)), devices + 4),
            (Backing::Imported(_), _) => (self.world.imported().block_of(allocation.base), devices + 5),
            (Backing::Device, Side::Device(device)) => {
                (self.world.devices()[usize::from(device)].memory.block_of(allocation.base), u64::from(device))
            }
            (Backing::Mapped(mapping), _) => {
                let Allocation { base, size: len, .. } = *allocation;
                let behind = self.world.physical().get(mapping.physical());
                // The serial is part of the handle; its upper bits hold the kind and the machine.
                let serial = mapping.physical().bits() & 0x3fff_ffff_ffff;
                (behind.map(|_| Block { base, len, serial }), devices + 3)
            }
            _ => (None, devices + 2),
        };
        // Registered memory, in whole pages.
        let page = rustix::param::page_size() as u64;
        let base = allocation.base / page * page;
        let own = Block { base, len: allocation.end().next_multiple_of(page) - base, serial: allocation.id };
        let (block, source) = found.map_or((own, devices + 2), |block| (block, source));
        Block { serial: block.serial * (devices + 6) + source, ..block }
    }
}
