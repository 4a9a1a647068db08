//! A block of threads: its warps, taking turns.

use std::sync::Arc;

use super::access::Access;
use super::barrier::Barriers;
use super::direct::Lens;
use super::grid::{Context, Step};
use super::group::{Group, State};
use super::host::{Event, Host};
use super::memory::Memory;
use super::step::{Executor, Pause};
use super::trap::{Halt, Trap, TrapKind};
use super::warp::Warp;

/// Instructions after which another warp has its turn.
const TURN: u64 = 4096;

/// One block of a grid, which runs when it is told to.
///
/// Blocks of a grid do not know of each other: each may run on a thread of its own.
#[derive(Debug)]
pub struct Block<M> {
    context: Arc<Context<M>>,
    index: [u32; 3],
    warps: Vec<Warp>,
    shared: Vec<u8>,
    barriers: Barriers,
    /// Whose turn it is.
    turn: usize,
    live: u32,
}

impl<M: Memory + Host> Block<M> {
    pub(crate) fn new(context: Arc<Context<M>>, index: [u32; 3]) -> Block<M> {
        let mut block = Block {
            context,
            index,
            warps: Vec::new(),
            shared: Vec::new(),
            barriers: Barriers::default(),
            turn: 0,
            live: 0,
        };
        block.restart(index);
        block
    }

    /// Where it lies in the grid.
    pub fn index(&self) -> [u32; 3] {
        self.index
    }

    /// Makes it another block of the same grid, before its first instruction; memory that it has is used again.
    pub(crate) fn restart(&mut self, index: [u32; 3]) {
        let context = &self.context;
        let threads = context.threads();
        let function = &context.program.code.functions[context.function as usize];
        self.index = index;
        self.turn = 0;
        self.live = threads;
        self.barriers.clear();
        self.shared.clear();
        self.shared.resize(context.shared_bytes() as usize, 0);
        self.warps.resize_with(threads.div_ceil(32) as usize, Warp::default);
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let first = number as u32 * 32;
            let lanes = u32::MAX >> (32 - (threads - first).min(32));
            (warp.index, warp.live, warp.clock) = (number as u32, lanes, 0);
            warp.local.clear();
            warp.local.reserve(function.frame);
            warp.frames.clear();
            let index = warp.frames.take();
            let frame = warp.frames.get(index);
            frame.registers.reset(function.counts);
            (frame.function, frame.depth, frame.base) = (context.function, 0, 0);
            (frame.caller, frame.lanes) = (None, lanes);
            let group = Group { lanes, pc: function.start, frame: index, state: State::Ready, penalty: 0 };
            warp.groups.clear();
            warp.groups.push(group);
        }
    }

    /// Runs for about `fuel` instructions of warps.
    pub fn step(&mut self, fuel: u64) -> Step {
        let mut fuel = fuel;
        self.advance(&mut fuel, &mut Lens::default())
    }

    pub(crate) fn advance(&mut self, fuel: &mut u64, lens: &mut Lens) -> Step {
        // Warps that have waited in a row: when all do, nobody is left to wake them.
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
            let mut executor = Executor {
                context: &self.context,
                block: self.index,
                shared: &mut self.shared,
                barriers: &mut self.barriers,
                lens,
            };
            let outcome = executor.run(&mut self.warps[turn], &mut given);
            *fuel -= (before - given).max(1).min(*fuel);
            match outcome {
                Ok(Pause::Waiting) => waiting += 1,
                Ok(Pause::Fuel | Pause::Done | Pause::Yield) => waiting = 0,
                Err(stop) => return Step::Trapped(self.trap(*stop)),
            }
            if self.barriers.changed {
                self.barriers.changed = false;
                waiting = 0;
                self.pass_barriers(lens);
            }
        }
        Step::Done
    }

    /// Lets those go on whose barrier is complete.
    fn pass_barriers(&mut self, lens: &mut Lens) {
        self.live = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        for (number, arrivals) in self.barriers.completed(self.live) {
            let executor = Executor {
                context: &self.context,
                block: self.index,
                shared: &mut self.shared,
                barriers: &mut self.barriers,
                lens,
            };
            for warp in &mut self.warps {
                executor.pass(warp, number, arrivals);
            }
            if M::WATCHES_SHARED {
                self.context.memory.event(&Access::of_block(self.index), Event::Passed { barrier: number });
            }
        }
    }

    fn deadlock(&self) -> Trap {
        let found = self.warps.iter().find_map(|warp| Some((warp, *warp.groups.first()?)));
        let (warp, lane, pc) = match found {
            Some((warp, group)) => (warp.index, group.lanes.trailing_zeros() as usize, group.pc),
            None => (0, 0, 0),
        };
        let kind = TrapKind::Deadlock("all threads of the block wait, and nobody is left to arrive");
        self.trap(Halt { kind, lane, pc, warp })
    }

    fn trap(&self, stop: Halt) -> Trap {
        let program = &self.context.program;
        let code = &program.code;
        let pc = stop.pc as usize;
        Trap {
            kind: stop.kind,
            kernel: code.functions[self.context.function as usize].name.clone(),
            block: self.index,
            thread: self.context.thread(stop.warp * 32 + stop.lane as u32),
            instruction: code.names[code.spelled[pc] as usize].clone(),
            place: code.places[pc],
            source: program.source(stop.pc).map(|(file, line)| (file.to_owned(), line)),
        }
    }
}
