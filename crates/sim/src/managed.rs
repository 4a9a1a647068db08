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
use crate::engine::{BlockCopy, Engine, Place, Side, Work};
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
    world.afford(call, Side::Device(device), size)?;
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
    let allocation = Allocation {
        base,
        size,
        host: base as usize,
        side: Side::Device(device),
        context: Some(context),
        id,
        backing: Backing::Managed(Managed { charged, residency: Residency::new(size) }),
        sync_memops: false,
        tracked: None,
    };
    world.add_allocation(allocation, None);
    out.write(base)
}

/// From the first byte that a block copy writes to the last.
fn written(block: &BlockCopy) -> u64 {
    let slices = block.depth.saturating_sub(1) * block.to_slice;
    slices + block.height.saturating_sub(1) * block.to_pitch + block.width
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
            Work::CopyBlock(block) => (block.to, written(block)),
            Work::StagedBlock(staged) => (staged.block.to, written(&staged.block)),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::check::{Checks, Findings};
    use crate::engine::{Mode, Order, RowFill, StagedBlock};
    use crate::topology::Topology;

    const BASE: u64 = 1 << 40;

    fn world() -> World {
        let topology = Topology::preset("h200").expect("a preset");
        let mode = Mode::Deterministic(Order::Eager);
        let findings = Arc::new(Findings::new(Checks::off()));
        let mut world = World::new(1, &topology, mode, Engine::new(mode, 1), findings, None).expect("there is room");
        let size = 100 * MANAGED_PAGE;
        world.memory.insert(Allocation {
            base: BASE,
            size,
            host: BASE as usize,
            side: Side::Device(0),
            context: None,
            id: 1,
            backing: Backing::Managed(Managed { charged: 0, residency: Residency::new(size) }),
            sync_memops: false,
            tracked: None,
        });
        world.managed_memory.live = 1;
        world
    }

    /// Which pages are on device 2.
    fn moved(world: &World) -> Vec<u64> {
        let Some(Allocation { backing: Backing::Managed(managed), .. }) = world.memory.at(BASE) else { return vec![] };
        (0..100).filter(|page| managed.residency.at(page * MANAGED_PAGE) == Some(Side::Device(2))).collect()
    }

    #[test]
    fn pages_follow_the_work_that_writes_them() {
        let place = |page: u64| Place { address: BASE + page * MANAGED_PAGE + 5, host: 0, side: Side::Device(0) };
        let block = |to: Place| BlockCopy {
            to,
            to_pitch: MANAGED_PAGE,
            to_slice: 0,
            from: to,
            from_pitch: 0,
            from_slice: 0,
            width: 10,
            height: 3,
            depth: 1,
        };
        let rows = RowFill { to: place(40), pitch: MANAGED_PAGE, pattern: 0, element: 4, columns: 2, rows: 2 };
        let cases = [
            (Work::Copy { to: place(3), from: place(90), bytes: MANAGED_PAGE }, vec![3, 4]),
            (Work::Staged { to: place(10), bytes: Box::new([0; 16]) }, vec![10]),
            (Work::Fill { to: place(20), pattern: 0, element: 2, count: 8 }, vec![20]),
            (Work::CopyBlock(Box::new(block(place(30)))), vec![30, 31, 32]),
            (
                Work::StagedBlock(Box::new(StagedBlock { block: block(place(50)), bytes: Box::default() })),
                vec![50, 51, 52],
            ),
            (Work::FillRows(Box::new(rows)), vec![40, 41]),
            (Work::Join, vec![]),
        ];
        for (work, expected) in cases {
            let mut world = world();
            world.move_managed_pages(&work, 2);
            assert_eq!(moved(&world), expected, "{}", work.describe());
        }
    }
}
