//! The detector: happens-before, access history and barriers of one run together.

use std::collections::HashMap;

use super::accessor::Accessor;
use super::hazard::{Deed, Hazard, MemorySpace};
use super::shadow::{Conflict, Run, Shadow};
use super::watches::Watches;
use crate::device::Access;
use crate::device::launch::coordinates;
use crate::lanes::lanes as each;
use crate::program::Program;
use crate::race::access_record::AccessRecord;
use crate::race::async_copy::AsyncCopies;
use crate::race::bulk_copy::BulkCopies;
use crate::race::byte_set::ByteSet;
use crate::race::findings::Findings;
use crate::race::order::barrier::Arrivals;
use crate::race::order::cluster::{Clusters, Visits};
use crate::race::order::memory_order::MemoryOrder;
use crate::race::order::sync_variable::SyncVariables;
use crate::race::order::threads::Threads;

/// Barriers of a block, the cluster's included.
const BARRIERS: usize = 17;

/// Stamps of global memory that are kept: 256 MiB of them.
const STAMPS: usize = (256 << 20) / size_of::<AccessRecord>();

/// One run of a kernel under watch.
#[derive(Debug)]
pub(super) struct Detector {
    pub(super) watches: Watches,
    shared_bytes: u32,
    /// By the number of an instruction's name.
    orders: Vec<MemoryOrder>,
    /// The last number that was given out.
    pub(super) now: u32,
    /// Those that run.
    pub(super) blocks: Vec<Block>,
    /// The one that was met last.
    last: usize,
    pub(super) global: Shadow,
    sync_variables: SyncVariables,
    pub(super) clusters: Clusters,
    pub(super) found: Findings,
    pub(super) frees: HashMap<u64, AccessRecord>,
    /// Of the access that is looked at.
    pub(super) conflicts: Vec<Conflict>,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) number: u32,
    pub(super) threads: Threads,
    pub(super) shadow: Shadow,
    pub(super) sync_variables: SyncVariables,
    pub(super) written: ByteSet,
    /// By other blocks.
    pub(super) visits: Visits,
    pub(super) copies: AsyncCopies,
    pub(super) bulk: BulkCopies,
    pub(super) barriers: [Arrivals; BARRIERS],
    /// The last thread that ended, and where.
    pub(super) ended: Option<(u32, u32)>,
}

impl Detector {
    /// The shapes are of the grid, of a block, and of a cluster.
    pub(super) fn new(
        watches: Watches,
        program: Program,
        [grid, block, cluster]: [[u32; 3]; 3],
        shared_bytes: u32,
    ) -> Self {
        let orders = program.code.names.iter().map(|name| MemoryOrder::of(name)).collect();
        Self {
            watches,
            shared_bytes,
            orders,
            now: 0,
            blocks: Vec::new(),
            last: 0,
            global: Shadow::new(STAMPS),
            sync_variables: SyncVariables::default(),
            clusters: Clusters::new(cluster),
            found: Findings::new(program, [grid, block]),
            frees: HashMap::new(),
            conflicts: Vec::new(),
        }
    }

    pub(super) fn take(&mut self) -> Vec<Hazard> {
        self.found.take()
    }

    /// Bytes are another's from now on.
    pub(super) fn renew(&mut self, address: u64, bytes: u64) {
        self.global.renew(address..address.saturating_add(bytes));
    }

    pub(super) fn number(&self, [x, y, z]: [u32; 3]) -> u32 {
        let [width, height, _] = self.found.grid;
        z.wrapping_mul(height).wrapping_add(y).wrapping_mul(width).wrapping_add(x)
    }

    /// The index of a block among those that run; it is added if it is not one of them.
    pub(super) fn enter(&mut self, block: [u32; 3]) -> usize {
        let number = self.number(block);
        if self.blocks.get(self.last).is_none_or(|block| block.number != number) {
            self.last = self.blocks.iter().position(|block| block.number == number).unwrap_or(self.blocks.len());
        }
        if self.last == self.blocks.len() {
            let threads = Threads::new(number, self.found.block.iter().product(), self.now);
            self.blocks.push(Block {
                number,
                copies: AsyncCopies::new(threads.warps(), self.shared_bytes),
                threads,
                shadow: Shadow::new(usize::MAX),
                sync_variables: SyncVariables::default(),
                written: ByteSet::new(self.shared_bytes),
                visits: Visits::default(),
                bulk: BulkCopies::default(),
                barriers: std::array::from_fn(|_| Arrivals::default()),
                ended: None,
            });
        }
        self.last
    }

    pub(super) fn order(&self, pc: u32) -> MemoryOrder {
        order(&self.orders, &self.found.program, pc)
    }

    /// Lanes access global memory: `share` bytes each, `apart` from each other. `same` is true for a lane
    /// that writes the value that is there already.
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
        let who = AccessRecord::new(number, access.warp, lanes, 0, pc, deed.writes());
        let place = [address, share, apart];
        if deed.writes() && self.meets_copy(MemorySpace::Global, at, who, deed, place) {
            return;
        }
        if self.order(pc).is_bulk {
            return self.copy_accesses(None, at, access, deed, [address, share], same(0));
        }
        let block = &self.blocks[at];
        touch(&mut self.global, &block.threads, (warp, lanes, pc), deed, place, &mut self.conflicts);
        if deed == Deed::Read && self.order(pc).copies {
            self.blocks[at].copies.start(MemorySpace::Global, address..address + share, who);
        }
        if !self.conflicts.is_empty() {
            self.report(None, who, deed, |index| deed == Deed::Write && same(index));
        }
        if deed.is_strong() {
            let order = self.order(pc);
            let block = &mut self.blocks[at];
            for (index, lane) in each(lanes).enumerate() {
                let (at, who) = (address + index as u64 * apart, (number, warp, lane));
                meet(&mut self.sync_variables, &mut block.threads, &mut self.now, who, at, deed, order);
            }
        }
    }

    /// Reports the conflicts of lanes that access memory, a block's or global; `same` is true for a lane that
    /// writes the value that is there already.
    pub(super) fn report(&mut self, owner: Option<u32>, who: AccessRecord, deed: Deed, same: impl Fn(u64) -> bool) {
        let Self { conflicts, orders, found, .. } = self;
        conflicts.retain(|conflict| !is_guess(orders, &found.program, conflict, deed, who.pc()));
        // Those of a lane with threads, and those with copies in flight.
        let key = |found: &Findings, conflict: &Conflict| {
            (conflict.lane, found.copies.starter(conflict.first.block).is_some())
        };
        conflicts.sort_by_key(|conflict| key(found, conflict));
        let mut rest = conflicts.as_slice();
        while let [first, ..] = rest {
            let (lane, is_copy) = key(found, first);
            let count = rest.partition_point(|conflict| key(found, conflict) <= (lane, is_copy));
            let (these, others) = rest.split_at(count);
            rest = others;
            let lane = 1 << lane;
            let index = (who.lanes & (lane - 1)).count_ones();
            let of = |block: u32| found.copies.starter(block).unwrap_or(block);
            let is_inside = |owner| of(who.block) == owner && these.iter().all(|one| of(one.first.block) == owner);
            let space = match owner {
                None => MemorySpace::Global,
                Some(owner) if is_inside(owner) => MemorySpace::Shared,
                Some(owner) => MemorySpace::Cluster { block: coordinates(found.grid, owner) },
            };
            if is_copy {
                found.copied(space, these, who.by(lane), deed);
            } else {
                found.race(space, these, who.by(lane), deed, same(index.into()));
            }
        }
        conflicts.clear();
    }
}

fn order(orders: &[MemoryOrder], program: &Program, pc: u32) -> MemoryOrder {
    orders[program.code.spelled[pc as usize] as usize]
}

/// `true` if a plain read met a compare-and-swap: such loops start from a guess, which the swap checks.
fn is_guess(orders: &[MemoryOrder], program: &Program, conflict: &Conflict, deed: Deed, pc: u32) -> bool {
    let swaps = |pc| order(orders, program, pc).swaps;
    match (conflict.deed, deed) {
        (Deed::Read, Deed::Update) => swaps(pc),
        (Deed::StrongWrite, Deed::Read) => swaps(conflict.first.pc()),
        _ => false,
    }
}

/// Lanes of a warp touch memory: from an address on, so many bytes each, so far apart.
pub(super) fn touch(
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
    if let (Some(run), Some(accessor)) = (run, Accessor::new(threads, warp, lanes, pc, deed)) {
        return shadow.touch(&run, &accessor, conflicts);
    }
    for (index, lane) in each(lanes).enumerate() {
        let run = Run::same(start + index as u64 * apart, share, 1 << lane);
        if let Some(accessor) = Accessor::new(threads, warp, 1 << lane, pc, deed) {
            shadow.touch(&run, &accessor, conflicts);
        }
    }
}

/// Happens-before edges of a strong access: the reader joins the variable's clock, the writer adds its own.
pub(super) fn meet(
    sync_variables: &mut SyncVariables,
    threads: &mut Threads,
    now: &mut u32,
    (block, warp, lane): (u32, usize, usize),
    address: u64,
    deed: Deed,
    order: MemoryOrder,
) {
    if deed.reads() {
        let mut learnt = None;
        sync_variables.read(address, block, &mut learnt);
        threads.learn(warp, lane, &learnt, order.acquires);
    }
    if deed.writes() {
        let passed = if order.releases {
            *now = now.saturating_add(1);
            threads.release(warp, lane, order.wide, *now)
        } else {
            threads.fenced(warp, lane, order.wide)
        };
        sync_variables.write(address, block, passed, deed == Deed::Update);
    }
}
