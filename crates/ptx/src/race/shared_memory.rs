//! Accesses to shared memory of the block, and of other blocks in its cluster.

use super::access_record::AccessRecord;
use super::accessor::Accessor;
use super::detector::{Detector, meet, touch};
use super::hazard::{Deed, MemorySpace, Presence};
use super::watches::Watches;
use crate::device::{Access, Touch};
use crate::lanes::lanes as each;

impl Detector {
    /// Lanes touch shared memory.
    pub(crate) fn shared(&mut self, access: &Access, [start, apart]: [u32; 2], what: Touch) {
        let (deed, bytes, same) = match (what, access.strong) {
            (Touch::Read(bytes), false) => (Deed::Read, bytes, 0),
            (Touch::Read(bytes), true) => (Deed::StrongRead, bytes, 0),
            (Touch::Write { bytes, same }, false) => (Deed::Write, bytes, same),
            (Touch::Write { bytes, same }, true) => (Deed::StrongWrite, bytes, same),
            (Touch::Update(bytes), _) => (Deed::Update, bytes, 0),
        };
        let Watches { shared_races, unwritten_shared, .. } = self.watches;
        if !shared_races && !unwritten_shared && !deed.is_strong() {
            return;
        }
        let (owner, start) = self.clusters.owner(access.block, start);
        let at = self.enter(access.block);
        let of = if owner == access.block { at } else { self.enter(owner) };
        let (number, warp, lanes, pc) =
            (self.blocks[at].number, access.warp as usize, access.lanes, access.instruction);
        let who = AccessRecord::new(number, access.warp, lanes, 0, pc, deed.writes());
        let place = [start.into(), bytes.into(), apart.into()];
        let copies = deed == Deed::Write && shared_races && of == at && self.order(pc).copies;
        if copies && lanes.count_ones() > 1 && self.may_repeat(at, lanes, place) {
            for (index, lane) in (0..).zip(each(lanes)) {
                let (one, same) = (Access { lanes: 1 << lane, ..*access }, same >> index & 1);
                self.shared(&one, [start + index * apart, 0], Touch::Write { bytes, same });
            }
            return;
        }
        if copies && lanes.count_ones() == 1 {
            let bytes = place[0]..place[0] + place[1];
            if self.blocks[at].copies.is_under_way(&bytes, who) {
                return;
            }
        }
        if shared_races && self.meets_copy(MemorySpace::Shared, of, who, deed, place) {
            return;
        }
        if unwritten_shared {
            self.fill(of, who, deed, place);
        }
        if self.order(pc).is_bulk {
            if shared_races {
                self.copy_accesses(Some(of), at, access, deed, [place[0], place[1]], same & 1 == 1);
            }
            return;
        }
        if shared_races {
            let (by, conflicts) = ((warp, lanes, pc), &mut self.conflicts);
            if of == at {
                let block = &mut self.blocks[at];
                touch(&mut block.shadow, &block.threads, by, deed, place, conflicts);
            } else if let Ok([owner, accessor]) = self.blocks.get_disjoint_mut([of, at]) {
                touch(&mut owner.shadow, &accessor.threads, by, deed, place, conflicts);
                self.visit(of, at, who);
            }
            if !self.conflicts.is_empty() {
                self.report(Some(self.blocks[of].number), who, deed, |index| same >> index & 1 == 1);
            }
            if copies {
                let copies = &mut self.blocks[at].copies;
                for (index, lane) in (0..).zip(each(lanes)) {
                    let start = u64::from(start + index * apart);
                    copies.start(MemorySpace::Shared, start..start + u64::from(bytes), who.by(1 << lane));
                }
            }
        }
        if deed.is_strong() {
            let order = self.order(pc);
            if order.arrives_after_copies {
                self.copies_are_over(at, warp, lanes, None);
            }
            for (index, lane) in each(lanes).enumerate() {
                let offset = u64::from(start) + index as u64 * u64::from(apart);
                let (who, now) = ((number, warp, lane), &mut self.now);
                if of == at {
                    let block = &mut self.blocks[at];
                    meet(&mut block.sync_variables, &mut block.threads, now, who, offset, deed, order);
                    if deed == Deed::StrongRead {
                        self.phase_is_over(at, warp, lane, offset, order.acquires);
                    }
                } else if let Ok([owner, accessor]) = self.blocks.get_disjoint_mut([of, at]) {
                    meet(&mut owner.sync_variables, &mut accessor.threads, now, who, offset, deed, order);
                }
            }
        }
    }

    /// `true` if lanes may start the same copy, or one that is in flight.
    fn may_repeat(&self, at: usize, lanes: u32, [start, share, apart]: [u64; 3]) -> bool {
        let last = start + u64::from(lanes.count_ones() - 1) * apart;
        apart == 0 || self.blocks[at].copies.is_near(MemorySpace::Shared, start..last + share)
    }

    /// Lanes of one block access the shared memory of another, which has to be there.
    fn visit(&mut self, of: usize, at: usize, who: AccessRecord) {
        let (owner, threads) = (self.blocks[of].number, &self.blocks[at].threads);
        let record =
            |lanes| Accessor::new(threads, who.warp() as usize, lanes, who.pc(), Deed::Read).map(|all| all.record);
        let visits: Vec<_> = match record(who.lanes) {
            Some(together) => vec![together],
            None => each(who.lanes).filter_map(|lane| record(1 << lane)).collect(),
        };
        for lane in each(who.lanes) {
            if !threads.hears_of(who.warp() as usize, lane, owner) {
                self.found.absent(who.by(1 << lane), owner, Presence::NotStarted);
            }
        }
        visits.into_iter().for_each(|visit| self.blocks[of].visits.add(visit));
    }

    /// Records written bytes of shared memory, and reports reads of others.
    pub(crate) fn fill(&mut self, at: usize, who: AccessRecord, deed: Deed, [start, share, apart]: [u64; 3]) {
        let written = &mut self.blocks[at].written;
        let count = u64::from(who.lanes.count_ones());
        if deed.reads() && (apart > share || written.gap(start..start + apart * (count - 1) + share).is_some()) {
            for (index, lane) in each(who.lanes).enumerate() {
                let start = start + index as u64 * apart;
                if let Some((start, bytes)) = written.gap(start..start + share) {
                    self.found.unwritten(who.by(1 << lane), start, bytes);
                }
            }
        }
        if deed.writes() {
            for index in 0..if apart == share { 1 } else { count } {
                let (start, bytes) = (start + index * apart, if apart == share { share * count } else { share });
                written.add(start..start + bytes);
            }
        }
    }

    /// Reports lanes that access the bytes of a copy in flight; true if there are such.
    #[inline(always)]
    pub(crate) fn meets_copy(
        &mut self,
        space: MemorySpace,
        at: usize,
        who: AccessRecord,
        deed: Deed,
        [start, share, apart]: [u64; 3],
    ) -> bool {
        let (copies, found) = (&mut self.blocks[at].copies, &mut self.found);
        if copies.is_idle() {
            return false;
        }
        let last = start + u64::from(who.lanes.count_ones() - 1) * apart;
        if !copies.is_near(space, start..last + share) {
            return false;
        }
        let mut meets = false;
        for (index, lane) in each(who.lanes).enumerate() {
            let start = start + index as u64 * apart;
            while let Some((copy, bytes)) = copies.meet(space, start..start + share) {
                found.copying(&copy, who.by(1 << lane), deed, bytes);
                meets = true;
            }
        }
        meets
    }

    /// Lanes have waited for copies, whose writes count as theirs from now on.
    pub(crate) fn copies_are_over(&mut self, at: usize, warp: usize, lanes: u32, but: Option<u32>) {
        let block = &mut self.blocks[at];
        for copy in block.copies.wait(warp, lanes, but) {
            let (who, place) = (copy.by, [copy.bytes.start, copy.bytes.end - copy.bytes.start, 0]);
            let block = &mut self.blocks[at];
            let copier = (warp, who.lanes, who.pc());
            touch(&mut block.shadow, &block.threads, copier, Deed::Write, place, &mut self.conflicts);
            self.report(Some(who.block), who, Deed::Write, |_| false);
        }
    }
}
