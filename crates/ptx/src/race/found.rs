//! The findings of one run, each pair of instructions once.

use std::collections::HashMap;
use std::ops::Range;

use super::copies::Flight;
use super::hazard::{Actor, Deed, Divergence, Hazard, HeapMisuse, MemorySpace, Presence};
use super::shadow::Conflict;
use super::stamp::Stamp;
use crate::device::launch::place_of;
use crate::program::Program;

/// Findings that are told apart.
const KEPT: usize = 256;

#[derive(Debug)]
pub(super) struct Found {
    pub(super) program: Program,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    by_key: HashMap<Key, usize>,
    hazards: Vec<Hazard>,
}

/// What makes two findings one: the sort, and the instructions.
type Key = (Sort, u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sort {
    Race,
    Unwritten,
    Copying,
    Absent(Presence),
    Heap(HeapMisuse),
    Barrier,
}

/// A thread of a block at an instruction: its number there, and the instruction's.
pub(super) type At = (u32, u32);

impl Found {
    pub(super) fn new(program: Program, [grid, block]: [[u32; 3]; 2]) -> Self {
        Self { program, grid, block, by_key: HashMap::new(), hazards: Vec::new() }
    }

    /// What was found; a read that races is not told again for having come before the write.
    pub(super) fn take(&mut self) -> Vec<Hazard> {
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

    /// Threads have touched the same bytes. A write of what is there already is no race with another write.
    pub(super) fn race(
        &mut self,
        space: MemorySpace,
        conflicts: &[Conflict],
        stamp: Stamp,
        second_deed: Deed,
        same: bool,
    ) {
        let counts = |conflict: &&Conflict| !(same && conflict.deed == Deed::Write);
        let Some(mut whole) = conflicts.iter().find(counts).copied() else { return };
        for more in conflicts.iter().filter(counts) {
            if more.start == whole.end && more.first.pc() == whole.first.pc() && more.deed == whole.deed {
                whole.end = more.end;
            }
        }
        let Conflict { first, deed: first_deed, start, end, .. } = whole;
        self.note((Sort::Race, first.pc().min(stamp.pc()), first.pc().max(stamp.pc())), |found| {
            let (first, second) = (found.actor(first), found.actor(stamp));
            let is_update =
                ["atom", "red", "mbarrier"].contains(&first.instruction.split('.').next().unwrap_or_default());
            let first_deed = if is_update && first_deed == Deed::StrongWrite { Deed::Update } else { first_deed };
            Hazard::Race { space, first, first_deed, second, second_deed, start, bytes: end - start, times: 0 }
        });
    }

    /// A thread has read shared memory that nobody has written.
    pub(super) fn unwritten(&mut self, stamp: Stamp, start: u64, bytes: u64) {
        self.note((Sort::Unwritten, stamp.pc(), 0), |found| Hazard::Unwritten {
            reader: found.actor(stamp),
            start,
            bytes,
            times: 0,
        });
    }

    /// A thread touches bytes that a copy is under way to, or from.
    pub(super) fn copying(&mut self, flight: &Flight, stamp: Stamp, deed: Deed, bytes: Range<u64>) {
        self.note((Sort::Copying, flight.by.pc(), stamp.pc()), |found| Hazard::Copying {
            space: flight.space,
            copier: found.actor(flight.by),
            other: found.actor(stamp),
            deed,
            start: bytes.start,
            bytes: bytes.end - bytes.start,
            times: 0,
        });
    }

    /// A thread accesses shared memory of a block, and nothing makes sure that the block is there.
    pub(super) fn absent(&mut self, stamp: Stamp, block: u32, presence: Presence) {
        self.note((Sort::Absent(presence), stamp.pc(), 0), |found| Hazard::Absent {
            visitor: found.actor(stamp),
            block: place_of(found.grid, block),
            presence,
            times: 0,
        });
    }

    /// A thread misuses memory of the heap.
    pub(super) fn heap(
        &mut self,
        misuse: HeapMisuse,
        who: Stamp,
        bytes: Range<u64>,
        block: Option<Range<u64>>,
        by: Option<Stamp>,
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

    /// The same for one who could not go on for it.
    pub(super) fn absent_at(&mut self, visitor: Actor, block: [u32; 3]) {
        self.hazards.push(Hazard::Absent { visitor, block, presence: Presence::Ended, times: 1 });
    }

    /// Threads of a block have come to a barrier, and others did something else.
    pub(super) fn diverged(
        &mut self,
        (block, barrier, waiting): (u32, u32, u32),
        (thread, pc): At,
        (other, other_pc): At,
        divergence: impl FnOnce(Actor) -> Divergence,
    ) {
        let stamp = |thread: u32, pc| Stamp::new(block, thread / 32, 1 << (thread % 32), 0, pc, false);
        self.note((Sort::Barrier, pc, other_pc), |found| {
            let (waits, other) = (found.actor(stamp(thread, pc)), found.actor(stamp(other, other_pc)));
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
            | Hazard::Absent { times, .. }
            | Hazard::Heap { times, .. }
            | Hazard::Barrier { times, .. } => *times += 1,
        }
    }

    /// The thread of a stamp, in words.
    fn actor(&self, stamp: Stamp) -> Actor {
        let code = &self.program.code;
        let pc = stamp.pc() as usize;
        Actor {
            block: place_of(self.grid, stamp.block),
            thread: place_of(self.block, stamp.thread()),
            instruction: code.names[code.spelled[pc] as usize].clone(),
            place: code.places[pc],
            source: self.program.source(stamp.pc()).map(|(file, line)| (file.to_owned(), line)),
        }
    }
}
