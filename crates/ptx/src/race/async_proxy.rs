//! Accesses of the asynchronous proxy: those of bulk copies, `st.async` and `red.async`.
//!
//! A copy is ordered behind the accesses that its thread knows of when it starts it, and before nothing else of
//! that thread. It reads shared or global memory past the caches of threads: a write of the same block has to be
//! published first, by a `fence.proxy.async` of a thread that knows of the write.

use std::sync::Arc;

use super::access_record::AccessRecord;
use super::accessor::Accessor;
use super::bulk_copy::{Flow, Side};
use super::detector::Detector;
use super::hazard::{Deed, MemorySpace, Presence};
use super::order::vector_clock::{Unit, VectorClock};
use super::shadow::Run;
use crate::device::Access;
use crate::lanes::lanes as each;

impl Detector {
    /// A lane starts a copy.
    pub(super) fn copy_begins(&mut self, at: usize, access: &Access, barrier: Option<u32>) {
        let starter = self.blocks[at].number;
        let numbers = match barrier {
            Some(address) => {
                let (owner, barrier) = self.clusters.owner(access.block, address);
                let owner = self.number(owner);
                [self.found.copies.of(Flow::Counted { starter, owner, barrier }); 2]
            }
            None => {
                let sides = [Side::Source, Side::Destination];
                sides.map(|deed| self.found.copies.of(Flow::Grouped { starter, deed }))
            }
        };
        self.blocks[at].bulk.current = Some((numbers, self.now));
    }

    /// The copy that a lane is starting accesses memory: the shared memory of a block by its index, or global
    /// memory.
    pub(super) fn copy_accesses(
        &mut self,
        of: Option<usize>,
        at: usize,
        access: &Access,
        deed: Deed,
        [start, bytes]: [u64; 2],
        same: bool,
    ) {
        let Some(([reads, writes], since)) = self.blocks[at].bulk.current else { return };
        let number = if deed == Deed::Read { reads } else { writes };
        let (warp, lane, pc) = (access.warp, access.lanes, access.instruction);
        let record = AccessRecord::new(number, warp, lane, since, pc, deed.writes());
        let run = Run::same(start, bytes, lane);
        let [of_shared, of_global] = self.blocks[at].bulk.published.clone();
        let published = if of.is_some() { of_shared } else { of_global };
        let (global, conflicts) = (&mut self.global, &mut self.conflicts);
        match of {
            None => {
                let accessor = Accessor::of_copy(&self.blocks[at].threads, record, deed, published.as_deref());
                global.touch(&run, &accessor, conflicts);
            }
            Some(of) if of == at => {
                let block = &mut self.blocks[at];
                let accessor = Accessor::of_copy(&block.threads, record, deed, published.as_deref());
                block.shadow.touch(&run, &accessor, conflicts);
            }
            Some(of) => {
                if let Ok([owner, starter]) = self.blocks.get_disjoint_mut([of, at]) {
                    let accessor = Accessor::of_copy(&starter.threads, record, deed, published.as_deref());
                    owner.shadow.touch(&run, &accessor, conflicts);
                    owner.visits.add(record);
                    let lane = lane.trailing_zeros() as usize;
                    if !starter.threads.hears_of(warp as usize, lane, owner.number) {
                        self.found.absent(record, owner.number, Presence::NotStarted);
                    }
                }
            }
        }
        if self.conflicts.is_empty() {
            return;
        }
        self.report_unpublished(of, at, record);
        self.report(of.map(|of| self.blocks[of].number), record, deed, |_| deed == Deed::Write && same);
    }

    /// Reports the conflicts with writes that are ordered before the copy and have not been published.
    fn report_unpublished(&mut self, of: Option<usize>, at: usize, record: AccessRecord) {
        let threads = &self.blocks[at].threads;
        let (warp, lane) = (record.warp() as usize, record.lanes.trailing_zeros() as usize);
        let mut unpublished: Vec<_> =
            self.conflicts.extract_if(.., |conflict| threads.knows(warp, lane, &conflict.first)).collect();
        unpublished.sort_by_key(|conflict| (conflict.first.pc(), conflict.start));
        let space = if of.is_some() { MemorySpace::Shared } else { MemorySpace::Global };
        for writes in unpublished.chunk_by(|one, other| one.first.pc() == other.first.pc()) {
            self.found.unpublished(space, writes, record);
        }
    }

    /// The bytes of the copy that a lane has started are counted by an `mbarrier`: threads that see the phase
    /// end are behind it.
    pub(super) fn copy_is_counted(&mut self, at: usize, access: &Access, address: u32) {
        let Some(([_, number], _)) = self.blocks[at].bulk.current else { return };
        let (owner, offset) = self.clusters.owner(access.block, address);
        let of = if owner == access.block { at } else { self.enter(owner) };
        if self.watches.unwritten_shared {
            let who = AccessRecord::new(self.blocks[at].number, access.warp, access.lanes, 0, access.instruction, true);
            self.fill(of, who, Deed::Update, [offset.into(), 8, 0]);
        }
        if self.watches.shared_races {
            self.copy_accesses(Some(of), at, access, Deed::Update, [offset.into(), 8], false);
        }
        let thread = access.warp * 32 + access.lanes.trailing_zeros();
        let mut clock = VectorClock::default();
        clock.raise(Unit::thread(number, thread), self.now);
        let clock = Some(Arc::new(clock));
        let starter = self.blocks[at].number;
        self.blocks[of].bulk.counted.write(offset.into(), starter, [clock.clone(), clock], true);
    }

    /// Lanes have seen the phase of an `mbarrier` end: they are behind the copies that it counted.
    pub(super) fn phase_is_over(&mut self, at: usize, warp: usize, lane: usize, offset: u64, acquires: bool) {
        let block = &mut self.blocks[at];
        let mut learnt = None;
        block.bulk.counted.read(offset, block.number, &mut learnt);
        block.threads.learn(warp, lane, &learnt, acquires);
    }

    /// Lanes have waited for their groups of bulk copies, but for the last ones: for the reads of the
    /// sources, or for all.
    pub(super) fn bulk_is_over(&mut self, at: usize, warp: usize, lanes: u32, but: u32, reads: bool) {
        let Self { blocks, found, .. } = self;
        let block = &mut blocks[at];
        let sides = [Side::Source, Side::Destination];
        let numbers = sides.map(|deed| found.copies.of(Flow::Grouped { starter: block.number, deed }));
        for lane in each(lanes) {
            let thread = (warp * 32 + lane) as u32;
            let Some(groups) = block.bulk.groups.get(&thread) else { continue };
            let Some(last) = groups.len().checked_sub(but as usize + 1) else { continue };
            let mut clock = VectorClock::default();
            for number in &numbers[..if reads { 1 } else { 2 }] {
                clock.raise(Unit::thread(*number, thread), groups[last]);
            }
            block.threads.learn(warp, lane, &Some(Arc::new(clock)), true);
        }
    }
}
