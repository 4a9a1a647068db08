//! The findings of one run, each pair of instructions once.

use std::collections::HashMap;
use std::ops::Range;

use super::access_record::{AccessRecord, At};
use super::async_copy::AsyncCopy;
use super::bulk_copy::CopyNumbers;
use super::hazard::{Actor, Deed, Divergence, Hazard, HeapMisuse, MemorySpace, Presence};
use super::shadow::Conflict;
use crate::device::launch::coordinates;
use crate::program::Program;

/// Findings that are told apart.
const KEPT: usize = 256;

#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) program: Program,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// The block numbers that stand for bulk copies.
    pub(crate) copies: CopyNumbers,
    by_key: HashMap<Key, usize>,
    hazards: Vec<Hazard>,
}

/// The identity of a finding: its sort and its instructions.
type Key = (Sort, u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sort {
    Race,
    Unwritten,
    Copying,
    Unpublished,
    Absent(Presence),
    Heap(HeapMisuse),
    Barrier,
}

impl Findings {
    pub(crate) fn new(program: Program, [grid, block]: [[u32; 3]; 2]) -> Self {
        Self { program, grid, block, copies: CopyNumbers::default(), by_key: HashMap::new(), hazards: Vec::new() }
    }

    /// The findings; a read that races is not reported again as a read before the write.
    pub(crate) fn take(&mut self) -> Vec<Hazard> {
        let mut hazards: Vec<_> = std::mem::take(&mut self.hazards).into_iter().map(Some).collect();
        let by_key = std::mem::take(&mut self.by_key);
        for (&(sort, pc, _), &at) in &by_key {
            let races = |&(other, first, second): &Key| other == Sort::Race && (first == pc || second == pc);
            if sort == Sort::Unwritten && by_key.keys().any(races) {
                hazards[at] = None;
            }
        }
        hazards.into_iter().flatten().collect()
    }

    /// Threads have accessed the same bytes. A write of the value that is there already does not race with
    /// another write.
    pub(crate) fn race(
        &mut self,
        space: MemorySpace,
        conflicts: &[Conflict],
        record: AccessRecord,
        second_deed: Deed,
        same: bool,
    ) {
        let counts = |conflict: &&Conflict| !(same && conflict.deed == Deed::Write);
        let Some(whole) = joined(conflicts.iter().filter(counts)) else { return };
        let Conflict { first, deed: first_deed, start, end, .. } = whole;
        self.note((Sort::Race, first.pc().min(record.pc()), first.pc().max(record.pc())), |found| {
            let (first, second) = (found.actor(first), found.actor(record));
            let is_update =
                ["atom", "red", "mbarrier"].contains(&first.instruction.split('.').next().unwrap_or_default());
            let first_deed = if is_update && first_deed == Deed::StrongWrite { Deed::Update } else { first_deed };
            Hazard::Race { space, first, first_deed, second, second_deed, start, bytes: end - start, times: 0 }
        });
    }

    /// A thread has read uninitialised shared memory.
    pub(crate) fn unwritten(&mut self, record: AccessRecord, start: u64, bytes: u64) {
        self.note((Sort::Unwritten, record.pc(), 0), |found| Hazard::Unwritten {
            reader: found.actor(record),
            start,
            bytes,
            times: 0,
        });
    }

    /// A thread, or a copy, accesses bytes of bulk copies in flight.
    pub(crate) fn copied(&mut self, space: MemorySpace, conflicts: &[Conflict], record: AccessRecord, deed: Deed) {
        let Some(Conflict { first, deed: copier_deed, start, end, .. }) = joined(conflicts.iter()) else { return };
        self.note((Sort::Copying, first.pc(), record.pc()), |found| Hazard::Copying {
            space,
            copier: found.actor(first),
            copier_deed,
            other: found.actor(record),
            deed,
            start,
            bytes: end - start,
            times: 0,
        });
    }

    /// A bulk copy reads bytes that a thread of its block has written, and no proxy fence is between the two.
    pub(crate) fn unpublished(&mut self, space: MemorySpace, writes: &[Conflict], copy: AccessRecord) {
        let Some(Conflict { first, deed: writer_deed, start, end, .. }) = joined(writes.iter()) else { return };
        self.note((Sort::Unpublished, first.pc(), copy.pc()), |found| Hazard::Unpublished {
            space,
            writer: found.actor(first),
            writer_deed,
            copier: found.actor(copy),
            start,
            bytes: end - start,
            times: 0,
        });
    }

    /// A thread touches bytes that a copy is under way to, or from.
    pub(crate) fn copying(&mut self, copy: &AsyncCopy, record: AccessRecord, deed: Deed, bytes: Range<u64>) {
        let copier_deed = if copy.space == MemorySpace::Global { Deed::Read } else { Deed::Write };
        self.note((Sort::Copying, copy.by.pc(), record.pc()), |found| Hazard::Copying {
            space: copy.space,
            copier: found.actor(copy.by),
            copier_deed,
            other: found.actor(record),
            deed,
            start: bytes.start,
            bytes: bytes.end - bytes.start,
            times: 0,
        });
    }

    /// A thread accesses shared memory of a block, and nothing makes sure that the block is there.
    pub(crate) fn absent(&mut self, record: AccessRecord, block: u32, presence: Presence) {
        self.note((Sort::Absent(presence), record.pc(), 0), |found| Hazard::Absent {
            visitor: found.actor(record),
            block: coordinates(found.grid, block),
            presence,
            times: 0,
        });
    }

    /// A thread misuses memory of the heap.
    pub(crate) fn heap(
        &mut self,
        misuse: HeapMisuse,
        who: AccessRecord,
        bytes: Range<u64>,
        block: Option<Range<u64>>,
        by: Option<AccessRecord>,
    ) {
        self.note((Sort::Heap(misuse), who.pc(), 0), |found| Hazard::Heap {
            misuse,
            actor: found.actor(who),
            bytes,
            block,
            freed_by: by.map(|by| found.actor(by)),
            times: 0,
        });
    }

    /// The same for a thread that trapped.
    pub(crate) fn absent_at(&mut self, visitor: Actor, block: [u32; 3]) {
        self.hazards.push(Hazard::Absent { visitor, block, presence: Presence::Ended, times: 1 });
    }

    /// Threads of a block have come to a barrier, and others have not.
    pub(crate) fn diverged(
        &mut self,
        (block, barrier, waiting): (u32, u32, u32),
        (thread, pc): At,
        (other, other_pc): At,
        divergence: impl FnOnce(Actor) -> Divergence,
    ) {
        let record = |thread: u32, pc| AccessRecord::new(block, thread / 32, 1 << (thread % 32), 0, pc, false);
        self.note((Sort::Barrier, pc, other_pc), |found| {
            let (waits, other) = (found.actor(record(thread, pc)), found.actor(record(other, other_pc)));
            Hazard::Barrier { barrier, waits, waiting, divergence: divergence(other), times: 0 }
        });
    }

    /// Counts a finding that is there, or adds it.
    fn note(&mut self, key: Key, hazard: impl FnOnce(&Self) -> Hazard) {
        let at = match self.by_key.get(&key) {
            Some(at) => *at,
            None if self.hazards.len() == KEPT => return,
            None => {
                let hazard = hazard(self);
                self.hazards.push(hazard);
                self.by_key.insert(key, self.hazards.len() - 1);
                self.hazards.len() - 1
            }
        };
        match &mut self.hazards[at] {
            Hazard::Race { times, .. }
            | Hazard::Unwritten { times, .. }
            | Hazard::Copying { times, .. }
            | Hazard::Unpublished { times, .. }
            | Hazard::Absent { times, .. }
            | Hazard::Heap { times, .. }
            | Hazard::Barrier { times, .. } => *times += 1,
        }
    }

    /// The thread of a stamp, in words.
    fn actor(&self, record: AccessRecord) -> Actor {
        let code = &self.program.code;
        let pc = record.pc() as usize;
        Actor {
            block: coordinates(self.grid, self.copies.starter(record.block).unwrap_or(record.block)),
            thread: coordinates(self.block, record.thread()),
            instruction: code.names[code.spelled[pc] as usize].clone(),
            place: code.places[pc],
            source: self.program.source(record.pc()).map(|(file, line)| (file.to_owned(), line)),
        }
    }
}

/// The first of some conflicts, with the bytes of those that continue it.
fn joined<'c>(conflicts: impl Iterator<Item = &'c Conflict>) -> Option<Conflict> {
    conflicts.copied().reduce(|mut whole, more| {
        if more.start == whole.end && more.first.pc() == whole.first.pc() && more.deed == whole.deed {
            whole.end = more.end;
        }
        whole
    })
}
