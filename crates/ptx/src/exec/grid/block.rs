//! A block of threads, whose warps take turns.

use std::sync::Arc;

use super::Step;
use crate::device::access::Access;
use crate::device::host::{CLUSTER_BARRIER, Event, Host};
use crate::device::launch::coordinates;
use crate::device::memory::Memory;
use crate::device::trap::{Trap, TrapKind};
use crate::exec::context::Context;
use crate::exec::interpreter::Pause;
use crate::exec::memory::range_cache::RangeCache;
use crate::exec::memory::traffic::Traffic;
use crate::exec::warp::barriers::{Arrivals, Barriers};
use crate::exec::warp::executor::{ClusterMemory, Executor, Halt};
use crate::exec::warp::group::{Group, State};
use crate::exec::warp::time::Time;
use crate::exec::warp::{Divergence, Warp};
use crate::lanes::LANES;

/// Instructions after which another warp has its turn.
const TURN: u64 = 4096;

/// One block of a grid, or one cluster of blocks, which runs when it is told to.
///
/// Clusters of a grid do not know of each other: each may run on a thread of its own.
#[derive(Debug)]
pub struct Block<M> {
    context: Arc<Context<M>>,
    /// The index in the grid; of a cluster, that of its first block.
    index: [u32; 3],
    /// Those of each block, block by block; so is shared memory.
    warps: Vec<Warp>,
    shared: Vec<u8>,
    barriers: Vec<Barriers>,
    /// Whose turn it is.
    turn: usize,
    live: u32,
    /// Global memory that its threads accessed.
    traffic: Traffic,
}

impl<M: Memory + Host> Block<M> {
    pub(crate) fn new(context: Arc<Context<M>>, index: [u32; 3]) -> Block<M> {
        let traffic = Traffic::default();
        let mut block =
            Block { context, index, warps: vec![], shared: vec![], barriers: vec![], turn: 0, live: 0, traffic };
        block.restart(index);
        block
    }

    /// The index in the grid; of a cluster, that of its first block.
    pub fn index(&self) -> [u32; 3] {
        self.index
    }

    /// Makes it another block of the same grid, before its first instruction; memory that it has is used
    /// again.
    pub(crate) fn restart(&mut self, index: [u32; 3]) {
        let context = &self.context;
        let (threads, ranks) = (context.threads(), context.ranks());
        let function = &context.program.code.functions[context.function as usize];
        self.index = index;
        self.turn = 0;
        self.live = threads * ranks;
        self.traffic = Traffic { counts_sectors: context.counts_sectors, ..Traffic::default() };
        self.barriers.resize_with(ranks as usize, Barriers::default);
        self.barriers.iter_mut().for_each(Barriers::clear);
        let shared = (context.shared_room() * ranks) as usize;
        if self.shared.len() == shared {
            self.shared.fill(0);
        } else {
            self.shared = vec![0; shared];
        }
        let warps = threads.div_ceil(32) as usize;
        self.warps.resize_with(warps * ranks as usize, Warp::default);
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let number = number % warps;
            let first = number as u32 * 32;
            let lanes = u32::MAX >> (32 - (threads - first).min(32));
            (warp.index, warp.live, warp.time, warp.interrupted) = (number as u32, lanes, Time::default(), None);
            warp.divergence = Divergence::default();
            warp.errors = [0; LANES];
            warp.local.clear();
            warp.local.reserve(function.frame);
            warp.frames.clear();
            let index = warp.frames.take();
            let frame = warp.frames.get(index);
            frame.registers.reset(function.counts, &function.cleared);
            (frame.function, frame.depth, frame.base, frame.stack) = (context.function, 0, 0, function.variables);
            (frame.caller, frame.ends, frame.lanes) = (None, None, lanes);
            let group = Group { lanes, pc: function.start, frame: index, state: State::Ready, penalty: 0 };
            warp.groups.clear();
            warp.groups.push(group);
        }
    }

    /// Cycles from its start to the instruction that its slowest warp has reached.
    pub(crate) fn cycles(&self) -> u64 {
        let each = self.context.cycles_per_instruction;
        self.warps.iter().map(|warp| warp.time.cycles(each)).max().unwrap_or(0)
    }

    /// Global memory that its threads accessed.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    pub(crate) fn warps(&self) -> &[Warp] {
        &self.warps
    }

    /// Warps of each block.
    fn warps_each(&self) -> usize {
        self.warps.len() / self.barriers.len().max(1)
    }

    /// Ranks of blocks of a cluster all of whose threads have ended.
    fn ended(&self) -> u32 {
        if self.barriers.len() == 1 {
            return 0;
        }
        let blocks = self.warps.chunks(self.warps_each().max(1)).enumerate();
        let ended = blocks.filter(|(_, warps)| warps.iter().all(|warp| warp.live == 0));
        ended.fold(0, |ranks, (rank, _)| ranks | 1 << rank)
    }

    /// Runs for about `fuel` instructions of warps.
    pub fn step(&mut self, fuel: u64) -> Step {
        let mut fuel = fuel;
        self.advance(&mut fuel, &mut RangeCache::default())
    }

    pub(crate) fn advance(&mut self, fuel: &mut u64, ranges: &mut RangeCache) -> Step {
        // Warps that have waited in a row: when all do, none is left to wake them.
        let mut waiting = 0;
        while self.live > 0 {
            if *fuel == 0 {
                return Step::Running;
            }
            if waiting > self.warps.len() {
                return Step::Trapped(self.deadlock());
            }
            let turn = self.turn;
            self.turn = if turn + 1 == self.warps.len() { 0 } else { turn + 1 };
            if self.warps[turn].live == 0 {
                waiting += 1;
                continue;
            }
            let mut given = TURN.min(*fuel);
            let before = given;
            let rank = if self.barriers.len() == 1 { 0 } else { turn / self.warps_each() };
            let (ended, live) = (self.ended(), self.warps[turn].live);
            let mut executor = around(
                &self.context,
                self.index,
                (&mut self.shared, &mut self.barriers),
                ranges,
                &mut self.traffic,
                [rank as u32, ended],
            );
            let outcome = executor.run(&mut self.warps[turn], &mut given);
            *fuel -= (before - given).max(1).min(*fuel);
            self.live -= (live & !self.warps[turn].live).count_ones();
            match outcome {
                Ok(Pause::Waiting) => waiting += 1,
                Ok(Pause::Fuel | Pause::Done | Pause::Yield) => waiting = 0,
                Err(stop) => return Step::Trapped(self.trap(*stop, rank as u32)),
            }
            if self.barriers[rank].changed {
                self.barriers[rank].changed = false;
                waiting = 0;
                if self.barriers.iter().any(|barriers| barriers.awaited != 0) {
                    self.pass_barriers(rank, ranges);
                }
            }
        }
        Step::Done
    }

    /// Lets those go on whose barrier is complete: one of a block, or the cluster's.
    fn pass_barriers(&mut self, rank: usize, ranges: &mut RangeCache) {
        let each = self.warps_each();
        let own = self.warps[rank * each..(rank + 1) * each].iter().map(|warp| warp.live.count_ones()).sum();
        for (number, arrivals) in self.barriers[rank].completed(own) {
            self.pass(rank, number, arrivals, ranges);
        }
        if self.barriers.iter().all(|barriers| barriers.awaited >> CLUSTER_BARRIER & 1 == 0) {
            return;
        }
        let arrived = self.barriers.iter().flat_map(|barriers| &barriers.cluster[..each]);
        let is_complete = self.warps.iter().zip(arrived).all(|(warp, arrived)| warp.live & !arrived == 0);
        if is_complete {
            Time::meet(&mut self.warps, CLUSTER_BARRIER, self.context.cycles_per_instruction);
            for rank in 0..self.barriers.len() {
                self.barriers[rank].cluster = [0; 32];
                self.barriers[rank].awaited &= !(1 << CLUSTER_BARRIER);
                self.pass(rank, CLUSTER_BARRIER, Arrivals::default(), ranges);
            }
        }
    }

    fn pass(&mut self, rank: usize, number: u32, arrivals: Arrivals, ranges: &mut RangeCache) {
        let each = self.warps_each();
        let warps = &mut self.warps[rank * each..(rank + 1) * each];
        Time::meet(warps, number, self.context.cycles_per_instruction);
        let executor = around(
            &self.context,
            self.index,
            (&mut self.shared, &mut self.barriers),
            ranges,
            &mut self.traffic,
            [rank as u32, 0],
        );
        for warp in warps {
            executor.pass(warp, number, arrivals);
        }
        if M::WATCHES_SHARED {
            let block = Access::of_block(executor.block);
            self.context.memory.event(&block, Event::Passed { barrier: number });
        }
    }

    fn deadlock(&self) -> Trap {
        let warps = self.warps.iter().enumerate();
        let found = warps.filter_map(|(number, warp)| Some((number, warp, *warp.groups.first()?))).next();
        let (number, warp, lane, pc) = match found {
            Some((number, warp, group)) => (number, warp.index, group.lanes.trailing_zeros() as usize, group.pc),
            None => (0, 0, 0, 0),
        };
        let kind = TrapKind::Deadlock("all threads of the block wait, and no thread is left to arrive");
        self.trap(Halt { kind, lane, pc, warp }, (number / self.warps_each().max(1)) as u32)
    }

    fn trap(&self, stop: Halt, rank: u32) -> Trap {
        let block = index_of(&self.context, self.index, rank);
        self.context.trap(stop.kind, block, stop.warp * 32 + stop.lane as u32, stop.pc)
    }
}

/// The index in the grid of a block of a cluster.
fn index_of<M>(context: &Context<M>, first: [u32; 3], rank: u32) -> [u32; 3] {
    // Most blocks are alone.
    if rank == 0 {
        return first;
    }
    let place = coordinates(context.cluster, rank);
    std::array::from_fn(|axis| first[axis] + place[axis])
}

/// The surroundings of a warp in one block of a cluster.
fn around<'b, M>(
    context: &'b Context<M>,
    first: [u32; 3],
    (shared, barriers): (&'b mut [u8], &'b mut [Barriers]),
    ranges: &'b mut RangeCache,
    traffic: &'b mut Traffic,
    [rank, ended]: [u32; 2],
) -> Executor<'b, M> {
    let (count, bytes) = (barriers.len() as u32, context.shared_room() as usize);
    let (before, rest) = shared.split_at_mut(rank as usize * bytes);
    let (shared, after) = rest.split_at_mut(bytes);
    let others = ClusterMemory { before, after, rank, count, ended };
    let barriers = &mut barriers[rank as usize];
    Executor { context, block: index_of(context, first, rank), shared, barriers, ranges, traffic, others }
}
