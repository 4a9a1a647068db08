//! Puts together who knows what, who touched what, and who has come where.

use std::sync::Arc;

use super::clock::{Clock, join};
use super::found::Found;
use super::gathering::Gathering;
use super::hazard::{Deed, Divergence, Hazard, MemorySpace};
use super::manner::Manner;
use super::meeting::Meetings;
use super::shadow::{Conflict, Run, Shadow};
use super::stamp::Stamp;
use super::threads::Threads;
use super::visitor::each;
use super::watched::Watches;
use super::written::Written;
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
    /// Those that run.
    blocks: Vec<Block>,
    /// The one that was met last.
    last: usize,
    global: Shadow,
    meetings: Meetings,
    /// What those passed on that came to the barrier of their cluster, whichever that is.
    clusters: Option<Arc<Clock>>,
    found: Found,
    /// Of the access that is looked at.
    conflicts: Vec<Conflict>,
}

#[derive(Debug)]
struct Block {
    number: u32,
    threads: Threads,
    shadow: Shadow,
    meetings: Meetings,
    written: Written,
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
            blocks: Vec::new(),
            last: 0,
            global: Shadow::new(STAMPS),
            meetings: Meetings::default(),
            clusters: None,
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

    /// Where a block is among those that run; it is one of them from then on.
    fn enter(&mut self, block: [u32; 3]) -> usize {
        let number = self.number(block);
        if self.blocks.get(self.last).is_none_or(|block| block.number != number) {
            self.last = self.blocks.iter().position(|block| block.number == number).unwrap_or(self.blocks.len());
        }
        if self.last == self.blocks.len() {
            self.blocks.push(Block {
                number,
                threads: Threads::new(number, self.found.block.iter().product(), self.now),
                shadow: Shadow::new(usize::MAX),
                meetings: Meetings::default(),
                written: Written::new(self.shared_bytes),
                barriers: std::array::from_fn(|_| Gathering::default()),
                ended: None,
            });
        }
        self.last
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
        let at = self.enter(access.block);
        let block = &self.blocks[at];
        let (number, warp, pc) = (block.number, access.warp as usize, access.instruction);
        let lanes = if deed.writes() { access.lanes } else { access.readers };
        touch(&mut self.global, &block.threads, (warp, lanes, pc), deed, [address, share, apart], &mut self.conflicts);
        if !self.conflicts.is_empty() {
            let who = Stamp::new(number, access.warp, lanes, 0, pc, deed.writes());
            self.report(MemorySpace::Global, who, deed, |index| deed == Deed::Write && same(index));
        }
        if deed.is_strong() {
            let manner = self.manner(pc);
            let block = &mut self.blocks[at];
            for (index, lane) in each(lanes).enumerate() {
                let (at, who) = (address + index as u64 * apart, (number, warp, lane as usize));
                meet(&mut self.meetings, &mut block.threads, &mut self.now, who, at, deed, manner);
            }
        }
    }

    /// Lanes touch shared memory.
    pub(super) fn shared(&mut self, access: &Access, [start, apart]: [u32; 2], what: Touch) {
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
        let at = self.enter(access.block);
        let (number, warp, lanes, pc) =
            (self.blocks[at].number, access.warp as usize, access.lanes, access.instruction);
        let who = Stamp::new(number, access.warp, lanes, 0, pc, deed.writes());
        let place = [start.into(), bytes.into(), apart.into()];
        if unwritten_shared {
            self.fill(at, who, deed, place);
        }
        let block = &mut self.blocks[at];
        if shared_races {
            touch(&mut block.shadow, &block.threads, (warp, lanes, pc), deed, place, &mut self.conflicts);
            if !self.conflicts.is_empty() {
                self.report(MemorySpace::Shared, who, deed, |index| same >> index & 1 == 1);
            }
        }
        if deed.is_strong() {
            let manner = self.manner(pc);
            let block = &mut self.blocks[at];
            for (index, lane) in each(lanes).enumerate() {
                let offset = u64::from(start) + index as u64 * u64::from(apart);
                let who = (number, warp, lane as usize);
                meet(&mut block.meetings, &mut block.threads, &mut self.now, who, offset, deed, manner);
            }
        }
    }

    /// Notes which bytes of shared memory are written, and who reads others.
    fn fill(&mut self, at: usize, who: Stamp, deed: Deed, [start, share, apart]: [u64; 3]) {
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

    /// Reports what is in conflict with lanes that touch memory; `same` says whether one's bytes hold already what it writes.
    fn report(&mut self, space: MemorySpace, who: Stamp, deed: Deed, same: impl Fn(u64) -> bool) {
        let Self { conflicts, manners, found, .. } = self;
        conflicts.retain(|conflict| !is_guess(manners, &found.program, conflict, deed, who.pc()));
        conflicts.sort_by_key(|conflict| conflict.lane);
        for conflicts in conflicts.chunk_by(|one, other| one.lane == other.lane) {
            let lane = 1 << conflicts[0].lane;
            let index = (who.lanes & (lane - 1)).count_ones();
            found.race(space, conflicts, who.by(lane), deed, same(index.into()));
        }
        conflicts.clear();
    }

    /// Lanes of a warp order themselves among others.
    pub(super) fn event(&mut self, access: &Access, event: Event) {
        let at = self.enter(access.block);
        let wide = self.manner(access.instruction).wide;
        let block = &mut self.blocks[at];
        let (warp, lanes, pc) = (access.warp as usize, access.lanes, access.instruction);
        self.now = self.now.saturating_add(1);
        match event {
            Event::Fence => block.threads.fence(warp, lanes, wide, self.now),
            Event::Lanes => block.threads.meet(warp, lanes, self.now),
            Event::Arrived { barrier, threads, waits } => {
                let Some(gathering) = block.barriers.get_mut(barrier as usize) else { return };
                gathering.come((access.warp, lanes, pc), threads, waits);
                if !waits || barrier == CLUSTER {
                    let passed = block.threads.arrive(warp, lanes, self.now);
                    if barrier == CLUSTER {
                        join(&mut self.clusters, &passed);
                    }
                    gathering.pass_on(&passed);
                }
            }
            Event::Passed { barrier } => self.passed(at, barrier),
            Event::Ended => {
                block.ended = Some((warp as u32 * 32 + lanes.trailing_zeros(), pc));
                if block.threads.end(warp, lanes) {
                    self.blocks.swap_remove(at);
                }
            }
        }
    }

    fn passed(&mut self, at: usize, barrier: u32) {
        let block = &mut self.blocks[at];
        let number = block.number;
        let Some(gathering) = block.barriers.get_mut(barrier as usize) else { return };
        let mut gathering = std::mem::take(gathering);
        if barrier == CLUSTER {
            gathering.pass_on(&self.clusters);
        }
        let waiting = gathering.masks(block.threads.warps());
        block.threads.pass(&waiting, gathering.is_for_all(), &gathering.passed, self.now);
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
        let known = self.blocks.iter().find(|block| block.number == number);
        let Some(block) = known.filter(|_| self.watches.barriers) else { return };
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
fn is_guess(manners: &[Manner], program: &Program, conflict: &Conflict, deed: Deed, pc: u32) -> bool {
    let swaps = |pc| manner(manners, program, pc).swaps;
    match (conflict.deed, deed) {
        (Deed::Read, Deed::Update) => swaps(pc),
        (Deed::StrongWrite, Deed::Read) => swaps(conflict.first.pc()),
        _ => false,
    }
}

/// Lanes of a warp touch memory: from an address on, so many bytes each, so far apart.
fn touch(
    shadow: &mut Shadow,
    threads: &Threads,
    (warp, lanes, pc): (usize, u32, u32),
    deed: Deed,
    [start, share, apart]: [u64; 3],
    conflicts: &mut Vec<Conflict>,
) {
    let run = match apart {
        0 => Some(Run::same(start, share, lanes)),
        _ if apart == share => Run::apart(start, share, lanes),
        _ => None,
    };
    if let (Some(run), Some(visitor)) = (run, threads.visitor(warp, lanes, pc, deed)) {
        return shadow.touch(&run, &visitor, conflicts);
    }
    for (index, lane) in each(lanes).enumerate() {
        let run = Run::same(start + index as u64 * apart, share, 1 << lane);
        if let Some(visitor) = threads.visitor(warp, 1 << lane, pc, deed) {
            shadow.touch(&run, &visitor, conflicts);
        }
    }
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
