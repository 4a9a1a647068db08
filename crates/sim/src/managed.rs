//! Managed memory: one address for host and devices.
//!
//! Pages move to whoever touches them. The simulator sees what copies and fills touch, and keeps it for later questions;
//! that the host touched a page it cannot see. Devices that share managed memory with the host at any time are not
//! charged for it, because what does not fit moves out again; the others keep a copy of all of it.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;
use std::io;

use warploom_sys::types::CUdeviceptr;

use crate::call::Call;
use crate::engine::{Engine, Place, Side, Work};
use crate::ffi::Ptr;
use crate::memory::{Allocation, Arena, Backing, Block, Kind, MANAGED_PAGE, Residency};
use crate::status::{INVALID_CONTEXT, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::topology::number::{CONCURRENT_MANAGED_ACCESS, MANAGED_MEMORY};
use crate::world::World;

/// The address space managed memory comes from, once it was asked for.
pub(crate) struct ManagedMemory {
    arena: Arena,
    live: usize,
}

/// What is particular to a managed allocation.
#[derive(Debug)]
pub(crate) struct Managed {
    /// What the device that cannot do without a copy was charged.
    pub(crate) charged: u64,
    pub(crate) residency: Residency,
}

impl ManagedMemory {
    pub(crate) fn new() -> Self {
        Self { arena: Arena::new(Kind::Virtual), live: 0 }
    }

    fn take(&mut self, bytes: u64, engine: &Engine) -> io::Result<u64> {
        let address = self.arena.take(bytes, engine)?;
        self.live += 1;
        Ok(address)
    }

    pub(crate) fn give(&mut self, address: u64, bytes: u64, engine: &Engine) {
        self.live -= 1;
        self.arena.give(address, bytes, engine);
    }

    pub(crate) fn block_of(&self, address: u64) -> Option<Block> {
        self.arena.block_of(address)
    }
}

const ATTACH_GLOBAL: u32 = 1;
const ATTACH_HOST: u32 = 2;

pub(crate) fn cuMemAllocManaged(call: &Call<'_>, out: Ptr<CUdeviceptr>, bytes: usize, flags: c_uint) -> Status {
    out.write(0)?;
    let mut guard = call.world();
    let context = call.context(&guard)?;
    if bytes == 0 {
        return Err(call.refuse(INVALID_VALUE, "an allocation has at least one byte"));
    }
    if flags != ATTACH_GLOBAL && flags != ATTACH_HOST {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; it takes 1 (global) or 2 (host)")));
    }
    let (world, size) = (&mut *guard, bytes as u64);
    let device = world.contexts.get(context).ok_or(INVALID_CONTEXT)?.device;
    let attributes = &call.core().topology.devices[usize::from(device)].attributes;
    if attributes.get(MANAGED_MEMORY) == Some(0) {
        return Err(call.refuse(NOT_SUPPORTED, format!("device {device} has no managed memory")));
    }
    let shares = attributes.get(CONCURRENT_MANAGED_ACCESS) != Some(0);
    let memory = &mut world.devices[usize::from(device)].memory;
    let charged = if shares { 0 } else { size.checked_next_multiple_of(MANAGED_PAGE).unwrap_or(u64::MAX) };
    if !memory.charge(charged) {
        let free = memory.free_bytes();
        return Err(call.refuse(
            OUT_OF_MEMORY,
            format!("device {device} must keep all {size} bytes of managed memory; {free} are free"),
        ));
    }
    let base = match world.managed_memory.take(size, &world.engine) {
        Ok(base) => base,
        Err(error) => {
            memory.refund(charged);
            return Err(call.refuse(OUT_OF_MEMORY, format!("no address space for {size} managed bytes: {error}")));
        }
    };
    let id = world.memory.next_id();
    world.memory.insert(Allocation {
        base,
        size,
        host: base as usize,
        side: Side::Device(device),
        context: Some(context),
        id,
        backing: Backing::Managed(Managed { charged, residency: Residency::new(size) }),
        sync_memops: false,
    });
    out.write(base)
}

impl World {
    /// Notes that work on a device has written managed pages, which are there now.
    pub(crate) fn move_managed_pages(&mut self, work: &Work, device: u16) {
        if self.managed_memory.live == 0 {
            return;
        }
        let (to, bytes) = match work {
            Work::Copy { to, bytes, .. } => (*to, *bytes),
            Work::Staged { to, bytes } => (*to, bytes.len() as u64),
            Work::Fill { to, element, count, .. } => (*to, count * u64::from(*element)),
            Work::CopyBlock(block) => {
                let slices = block.depth.saturating_sub(1) * block.to_slice;
                (block.to, slices + block.height.saturating_sub(1) * block.to_pitch + block.width)
            }
            Work::FillRows(rows) => {
                (rows.to, rows.rows.saturating_sub(1) * rows.pitch + rows.columns * u64::from(rows.element))
            }
            _ => return,
        };
        self.move_pages(to, bytes, Side::Device(device));
    }

    fn move_pages(&mut self, to: Place, bytes: u64, side: Side) {
        if let Some(Allocation { base, backing: Backing::Managed(managed), .. }) =
            self.memory.containing_mut(to.address)
        {
            let start = to.address - *base;
            managed.residency.moved(start..start + bytes, side);
        }
    }
}
