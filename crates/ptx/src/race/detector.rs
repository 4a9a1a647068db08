//! Puts together who knows what, who touched what, and who has come where.

use std::collections::HashMap;

use super::found::Found;
use super::gathering::Gathering;
use super::hazard::{Deed, Divergence, Hazard, MemorySpace};
use super::manner::Manner;
use super::meeting::Meetings;
use super::shadow::{Conflict, Shadow, Visit};
use super::stamp::Stamp;
use super::threads::Threads;
use super::watched::Watches;
use crate::exec::{Access, Event, Touch};
use crate::program::Program;

/// Barriers of a block, the cluster's included.
const BARRIERS: usize = 17;
/// The cluster's.
const CLUSTER: u32 = 16;

/// Stamps of global memory that are kept: 256 MiB of them.
const STAMPS: usize = (256 << 20) / size_of::<Stamp>();

/// One run of a kernel under watch.
#[derive(Debug)]
pub(super) struct Detector {
    watches: Watches,
    shared_bytes: u32,
    /// By the number of an instruction's name.
    manners: Vec<Manner>,
    /// The last number that was given out.
    now: u32,
    blocks: HashMap<u32, Block>,
    global: Shadow,
    meetings: Meetings,
    found: Found,
    /// Of the access that is looked at.
    conflicts: Vec<Conflict>,
}

#[derive(Debug)]
struct Block {
    threads: Threads,
    shadow: Shadow,
    meetings: Meetings,
    /// A bit for each byte of shared memory.
    written: Vec<u64>,
    barriers: [Gathering; BARRIERS],
    /// The last thread that ended, and where.
    ended: Option<(u32, u32)>,
}

impl Detector {
    pub(super) fn new(watches: Watches, program: Program, shape: [[u32; 3]; 2], shared_bytes: u32) -> Self {
        let manners = program.code.names.iter().map(|name| Manner::of(name)).collect();
        Self {
            watches,
            shared_bytes,
            manners,
            now: 0,
            blocks: HashMap::new(),
            global: Shadow::new(STAMPS),
            meetings: Meetings::default(),
            found: Found::new(program, shape),
            conflicts: Vec::new(),
        }
    }

    pub(super) fn take(&mut self) -> Vec<Hazard> {
        self.found.take()
    }

    /// A thread has got memory of the heap, which may have been another's.
    pub(super) fn renew(&mut self, address: u64, bytes: u64) {
        self.global.renew(address..address.saturating_add(bytes));
    }

    fn number(&self, [x, y, z]: [u32; 3]) -> u32 {
        let [width, height, _] = self.found.grid;
        z.wrapping_mul(height).wrapping_add(y).wrapping_mul(width).wrapping_add(x)
    }

    /// The number of a block; what is kept of it is there from then on.
    fn enter(&mut self, block: [u32; 3]) -> u32 {
        let number = self.number(block);
        let (threads, now, shared) = (self.found.block.iter().product(), self.now, self.shared_bytes as usize);
        self.blocks.entry(number).or_insert_with(|| Block {
            threads: Threads::new(number, threads, now),
            shadow: Shadow::new(usize::MAX),
            meetings: Meetings::default(),
            written: vec![0; shared.div_ceil(64)],
            barriers: std::array::from_fn(|_| Gathering::default()),
            ended: None,
        });
        number
    }

    fn manner(&self, pc: u32) -> Manner {
        manner(&self.manners, &self.found.program, pc)
    }

    /// Lanes touch global memory: `share` bytes each, `apart` from each other. `same` says whether a lane's bytes hold already
    /// what it writes.
    pub(super) fn global(
        &mut self,
        access: &Access,
        address: u64,
        [share, apart]: [u64; 2],
        deed: Deed,
        same: impl Fn(u64) -> bool,
    ) {
        if !self.watches.global_races {
            return;
        }
        let number = self.enter(access.block);
        let Some(block) = self.blocks.get_mut(&number) else { return };
        let (warp, pc) = (access.warp as usize, access.instruction);
        let lanes = if deed.writes() { access.lanes } else { access.readers };
        for (index, lane) in lanes_of(lanes).enumerate() {
            let start = address + index as u64 * apart;
            let stamp = block.threads.stamp(warp, lane, pc, deed.writes());
            let visit = Visit { stamp, deed };
            let knows = |earlier: &Stamp| block.threads.knows(warp, lane, earlier);
            self.global.touch(start..start + share, &visit, knows, &mut self.conflicts);
            if !self.conflicts.is_empty() {
                self.conflicts.retain(|conflict| !is_guess(&self.manners, &self.found.program, conflict, &visit));
                let same = deed == Deed::Write && same(index as u64);
                self.found.race(MemorySpace::Global, &self.conflicts, &visit, same);
                self.conflicts.clear();
            }
        }
        if deed.is_strong() {
            let manner = self.manner(pc);
            let Some(block) = self.blocks.get_mut(&number) else { return };
            for (index, lane) in lanes_of(lanes).enumerate() {
                let at = address + index as u64 * apart;
                meet(&mut self.meetings, &mut block.threads, &mut self.now, (number, warp, lane), at, deed, manner);
            }
        }
    }

    /// A lane touches shared memory.
    pub(super) fn shared(&mut self, access: &Access, offset: u32, touch: Touch) {
        let number = self.enter(access.block);
        let manner = self.manner(access.instruction);
        let Some(block) = self.blocks.get_mut(&number) else { return };
        let (warp, lane, pc) = (access.warp as usize, access.lanes.trailing_zeros() as usize, access.instruction);
        let (deed, bytes, same) = match (touch, access.strong) {
            (Touch::Read(bytes), false) => (Deed::Read, bytes, false),
            (Touch::Read(bytes), true) => (Deed::StrongRead, bytes, false),
            (Touch::Write { bytes, same }, false) => (Deed::Write, bytes, same),
            (Touch::Write { bytes, same }, true) => (Deed::StrongWrite, bytes, same),
            (Touch::Update(bytes), _) => (Deed::Update, bytes, false),
        };
        let range = u64::from(offset)..u64::from(offset) + u64::from(bytes);
        let visit = Visit { stamp: block.threads.stamp(warp, lane, pc, deed.writes()), deed };
        if deed.reads() && self.watches.unwritten_shared {
            let missing = |at: &u64| block.written[*at as usize / 64] >> (at % 64) & 1 == 0;
            if let Some(start) = range.clone().find(missing) {
                let bytes = (start..range.end).take_while(missing).count() as u64;
                self.found.unwritten(visit.stamp, start, bytes);
            }
        }
        if deed.writes() {
            range.clone().for_each(|at| block.written[at as usize / 64] |= 1 << (at % 64));
        }
        if self.watches.shared_races {
            let knows = |earlier: &Stamp| block.threads.knows(warp, lane, earlier);
            block.shadow.touch(range, &visit, knows, &mut self.conflicts);
            if !self.conflicts.is_empty() {
                self.conflicts.retain(|conflict| !is_guess(&self.manners, &self.found.program, conflict, &visit));
                self.found.race(MemorySpace::Shared, &self.conflicts, &visit, same);
                self.conflicts.clear();
            }
        }
        if deed.is_strong() {
            let at = u64::from(offset);
            meet(&mut block.meetings, &mut block.threads, &mut self.now, (number, warp, lane), at, deed, manner);
        }
    }

    /// Lanes of a warp order themselves among others.
    pub(super) fn event(&mut self, access: &Access, event: Event) {
        let number = self.enter(access.block);
        let wide = self.manner(access.instruction).wide;
        let Some(block) = self.blocks.get_mut(&number) else { return };
        let (warp, lanes, pc) = (access.warp as usize, access.lanes, access.instruction);
        self.now = self.now.saturating_add(1);
        match event {
            Event::Fence => block.threads.fence(warp, lanes, wide, self.now),
            Event::Lanes => block.threads.meet(warp, lanes, self.now),
            Event::Arrived { barrier, threads, waits } => {
                let Some(gathering) = block.barriers.get_mut(barrier as usize) else { return };
                gathering.come((access.warp, lanes, pc), threads, waits);
                if !waits {
                    let passed = block.threads.arrive(warp, lanes, self.now);
                    gathering.pass_on(&passed);
                }
            }
            Event::Passed { barrier } => self.passed(number, barrier),
            Event::Ended => {
                block.ended = Some((warp as u32 * 32 + lanes.trailing_zeros(), pc));
                if block.threads.end(warp, lanes) {
                    self.blocks.remove(&number);
                }
            }
        }
    }

    fn passed(&mut self, number: u32, barrier: u32) {
        let Some(block) = self.blocks.get_mut(&number) else { return };
        let Some(gathering) = block.barriers.get_mut(barrier as usize) else { return };
        let gathering = std::mem::take(gathering);
        block.threads.pass(&gathering.masks(block.threads.warps()), &gathering.passed, self.now);
        let Some(first) = gathering.first().filter(|_| self.watches.barriers && barrier != CLUSTER) else { return };
        let of = (number, barrier, gathering.threads());
        let threads = block.threads.ended();
        if let Some(last) = block.ended.filter(|_| gathering.is_for_all()) {
            self.found.diverged(of, first, last, |one| Divergence::Ended { one, threads });
        }
        if let Some([first, other]) = gathering.apart() {
            self.found.diverged(of, first, other, |one| Divergence::Warp { one });
        }
        if let Some((threads, [first, other])) = gathering.differing() {
            self.found.diverged(of, first, other, |one| Divergence::Count { one, threads });
        }
    }

    /// Nobody of a block can go on: says who waits where.
    pub(super) fn stuck(&mut self, block: [u32; 3]) {
        let number = self.number(block);
        let Some(block) = self.blocks.get(&number).filter(|_| self.watches.barriers) else { return };
        let mut waiting =
            (0..).zip(&block.barriers).filter_map(|(barrier, all)| Some((barrier, all, all.first()?))).fuse();
        let Some((barrier, all, first)) = waiting.next() else { return };
        let of = (number, barrier, all.threads());
        if let Some((barrier, others, other)) = waiting.next() {
            let threads = others.threads();
            self.found.diverged(of, first, other, |one| Divergence::Elsewhere { one, threads, barrier });
        } else if let Some(last) = block.ended {
            let threads = block.threads.ended();
            self.found.diverged(of, first, last, |one| Divergence::Ended { one, threads });
        }
    }
}

fn manner(manners: &[Manner], program: &Program, pc: u32) -> Manner {
    manners[program.code.spelled[pc as usize] as usize]
}

/// Whether a plain read met a compare-and-swap: such loops start from a guess, and swaps see whether it was right.
fn is_guess(manners: &[Manner], program: &Program, conflict: &Conflict, visit: &Visit) -> bool {
    let swaps = |pc| manner(manners, program, pc).swaps;
    match (conflict.deed, visit.deed) {
        (Deed::Read, Deed::Update) => swaps(visit.stamp.pc),
        (Deed::StrongWrite, Deed::Read) => swaps(conflict.first.pc),
        _ => false,
    }
}

fn lanes_of(lanes: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 == 1)
}

/// What a strong access learns and passes on.
fn meet(
    meetings: &mut Meetings,
    threads: &mut Threads,
    now: &mut u32,
    (block, warp, lane): (u32, usize, usize),
    address: u64,
    deed: Deed,
    manner: Manner,
) {
    if deed.reads() {
        let mut learnt = None;
        meetings.read(address, block, &mut learnt);
        threads.learn(warp, lane, &learnt, manner.acquires);
    }
    if deed.writes() {
        let passed = if manner.releases {
            *now = now.saturating_add(1);
            threads.release(warp, lane, manner.wide, *now)
        } else {
            threads.fenced(warp, lane, manner.wide)
        };
        meetings.write(address, block, passed, deed == Deed::Update);
    }
}
