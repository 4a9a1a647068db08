//! Managed memory, and the migration of its pages to the accessing work.

use std::ops::Range;

use smallvec::SmallVec;
use warploom_engine::Work as _;

use crate::machine::world::{Work, World};
use crate::memory::shadow::Touched;
use crate::memory::{ManagedMemory, Residence, SimAddress, Touch};

/// The reason why managed memory cannot be taken.
pub(crate) enum NoManaged {
    /// The device has fewer bytes left than it must keep.
    Device { free: u64 },
    /// The process has no address space for it.
    Addresses(std::io::Error),
}

impl World {
    /// Managed memory and its pages.
    pub(crate) fn managed_memory(&self) -> &ManagedMemory {
        &self.managed_memory
    }

    /// Managed memory, for requests about its pages.
    pub(crate) fn managed_memory_mut(&mut self) -> &mut ManagedMemory {
        &mut self.managed_memory
    }

    /// Takes managed memory, of which a device keeps `charged` bytes. Returns its address.
    pub(crate) fn take_managed_memory(&mut self, device: u16, bytes: u64, charged: u64) -> Result<u64, NoManaged> {
        let memory = &mut self.devices[usize::from(device)].memory;
        if !memory.charge(charged) {
            return Err(NoManaged::Device { free: memory.free_bytes() });
        }
        self.managed_memory.take(bytes, &self.engine).map_err(|error| {
            memory.refund(charged);
            NoManaged::Addresses(error)
        })
    }

    /// Migrates managed pages for completed work of a device.
    pub(crate) fn move_managed_pages(&mut self, work: &mut Work, device: u16) {
        if !self.managed_memory.is_used() {
            return;
        }
        let who = Residence::Device(device);
        if let Work::Migrate(migration) = work {
            self.managed_memory.migrate(migration);
            return;
        }
        work.touches(|touch| match touch {
            Touch::Copy { to, from, bytes } => {
                self.touch_managed(from, bytes, who, false);
                self.touch_managed(to, bytes, who, true);
            }
            Touch::Write { to, bytes } => self.touch_managed(to, bytes, who, true),
            Touch::Prefetch { .. } | Touch::Discard { .. } | Touch::WriteValue { .. } | Touch::WaitValue { .. } => {}
        });
    }

    /// Migrates managed pages for a completed kernel of a device.
    pub(crate) fn move_touched_pages(&mut self, touched: &Touched, device: u16) {
        if !self.managed_memory.is_used() {
            return;
        }
        touched.each(|range, writes| {
            let of_range = self.memory.touching(range.start, range.end).filter(|found| found.is_managed());
            let parts = of_range.map(|found| range.start.max(found.base)..range.end.min(found.end()));
            for part in parts.collect::<SmallVec<[_; 1]>>() {
                self.pages_touched(&part, Residence::Device(device), writes);
            }
        });
    }

    fn touch_managed(&mut self, at: SimAddress, bytes: u64, who: Residence, writes: bool) {
        let Some(found) = self.memory.containing(at.address()).filter(|found| found.is_managed()) else { return };
        let range = at.address()..found.end().min(at.address() + bytes);
        self.pages_touched(&range, who, writes);
    }

    /// Migrates managed pages to an accessor.
    pub(crate) fn pages_touched(&mut self, range: &Range<u64>, accessor: Residence, writes: bool) {
        self.managed_memory.touch(range, accessor, writes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use warploom_engine::{HostOrder, Mode, Order, Timelines};

    use super::*;
    use crate::check::{Checks, Findings};
    use crate::machine::world::Engine;
    use crate::memory::{Allocation, Backing, BlockCopy, Managed, MemoryOp, PAGE, RowFill, Side, StagedBlock};
    use crate::topology::Topology;

    const BASE: u64 = 1 << 40;

    fn world() -> World {
        let topology = Topology::preset("h200").expect("a preset");
        let mode = Mode::Deterministic(Order::Eager);
        let findings = Arc::new(Findings::new(Checks::off()));
        let mut world = World::new(
            1,
            &topology,
            mode,
            Engine::new(mode, 1, Timelines::new(false, HostOrder::Observed)),
            findings,
            None,
            None,
        )
        .expect("there is room");
        let allocation = Allocation {
            base: BASE,
            size: 100 * PAGE,
            host: BASE as usize,
            side: Side::Device(0),
            context: None,
            id: 1,
            backing: Backing::Managed(Managed { charged: 0 }),
            sync_memops: None,
            tracked: None,
        };
        world.add_allocation(allocation, None);
        world
    }

    /// The pages on device 2.
    fn moved(world: &World) -> Vec<u64> {
        let is_there = |page: &u64| {
            world.managed_memory.pages().at(BASE + page * PAGE).is_some_and(|page| page.is_at(Residence::Device(2)))
        };
        (0..100).filter(is_there).collect()
    }

    #[test]
    fn pages_follow_the_work_that_touches_them() {
        let place = |page: u64| SimAddress::nowhere(BASE + page * PAGE + 5, Side::Device(0));
        let block = |to: SimAddress, from: SimAddress| BlockCopy {
            to,
            to_pitch: PAGE,
            to_slice: 0,
            from,
            from_pitch: 2 * PAGE,
            from_slice: 0,
            width: 10,
            height: 3,
            depth: 1,
        };
        let rows = RowFill { to: place(40), pitch: PAGE, pattern: 0, element: 4, columns: 2, rows: 2 };
        let staged = StagedBlock { block: block(place(50), place(80)), bytes: Box::default() };
        let cases = [
            (MemoryOp::Copy { to: place(3), from: place(90), bytes: PAGE }.into(), vec![3, 4, 90, 91]),
            (Work::Staged { to: place(10), bytes: Box::new([0; 16]) }, vec![10]),
            (MemoryOp::Fill { to: place(20), pattern: 0, element: 2, count: 8 }.into(), vec![20]),
            (MemoryOp::CopyBlock(Box::new(block(place(30), place(60)))).into(), vec![30, 31, 32, 60, 62, 64]),
            (Work::StagedBlock(Box::new(staged)), vec![50, 51, 52]),
            (MemoryOp::FillRows(Box::new(rows)).into(), vec![40, 41]),
            (Work::Join, vec![]),
        ];
        for (mut work, expected) in cases {
            let mut world = world();
            world.move_managed_pages(&mut work, 2);
            assert_eq!(moved(&world), expected, "{}", work.describe());
        }
    }
}
