//! Blocks of a grid on several threads at once.
//!
//! Every thread takes blocks that have not started, several if they are short, and runs each for a turn;
//! those that have not ended then go back to a common queue. A thread that has used up its
//! fuel stops, and so do all when a block traps.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::block::Block;
use super::crew::Crew;
use super::{Cost, Grid, Step};
use crate::device::host::Host;
use crate::device::memory::Memory;
use crate::device::trap::Trap;
use crate::exec::memory::range_cache::RangeCache;

/// Instructions after which another block has its turn.
const TURN: u64 = 1024;

/// The most blocks that a thread takes at once, and the instructions that they should have together: enough
/// to make the queue's lock cheap, and no more, because other threads may wait for the last of them.
const MAX_BATCH: u64 = 16;
const BATCH_INSTRUCTIONS: u64 = 2048;

/// The state that the threads share.
struct Scheduler<'g, M> {
    grid: &'g Grid<M>,
    queue: Mutex<Queue<M>>,
    stopped: AtomicBool,
    crew: u64,
}

/// The part of it behind the lock.
struct Queue<M> {
    /// Blocks that have started and are not being run.
    resident: VecDeque<Box<Block<M>>>,
    spare: VecDeque<Box<Block<M>>>,
    /// Blocks that were taken and not started.
    left: Vec<Range<u64>>,
    next: u64,
    instructions: u64,
    ended: Cost,
    /// The lowest block that trapped.
    trapped: Option<(u64, Trap)>,
}

/// The next work of a thread.
enum Job<M> {
    Start(Range<u64>),
    Resume(Box<Block<M>>),
    /// Nothing is left to start or to resume.
    Nothing,
}

impl<M: Memory + Host + Send> Grid<M> {
    /// Runs as [`step`](Self::step) does, with blocks on all threads of a crew; each has about `fuel`
    /// instructions.
    ///
    /// Blocks then run in no fixed order, and neither do their output and the atomic operations between them.
    /// If several blocks trap in a step, the lowest is reported.
    pub fn step_spread(&mut self, fuel: u64, crew: &Crew) -> Step {
        if let Some(trap) = &self.trapped {
            return Step::Trapped(trap.clone());
        }
        let queue = Queue {
            resident: std::mem::take(&mut self.resident),
            spare: std::mem::take(&mut self.spare),
            left: std::mem::take(&mut self.left),
            next: self.next,
            instructions: 0,
            ended: Cost::default(),
            trapped: None,
        };
        let scheduler = Scheduler {
            grid: self,
            queue: Mutex::new(queue),
            stopped: AtomicBool::new(false),
            crew: crew.size() as u64,
        };
        crew.call(&|| scheduler.work(fuel));
        let queue = scheduler.queue.into_inner().unwrap_or_else(PoisonError::into_inner);
        (self.resident, self.spare, self.left, self.next) = (queue.resident, queue.spare, queue.left, queue.next);
        self.instructions += queue.instructions;
        self.ended.join(queue.ended);
        if let Some((_, trap)) = queue.trapped {
            self.trapped = Some(trap.clone());
            return Step::Trapped(trap);
        }
        if self.resident.is_empty() && self.left.is_empty() && self.next == self.blocks() {
            return Step::Done;
        }
        Step::Running
    }
}

impl<M: Memory + Host + Send> Scheduler<'_, M> {
    fn queue(&self) -> MutexGuard<'_, Queue<M>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One thread's share.
    fn work(&self, fuel: u64) {
        let (mut left, mut ranges) = (fuel, RangeCache::default());
        let (mut spare, mut batch, mut ended) = (None, 1, Cost::default());
        while left > 0 && !self.stopped.load(Ordering::Relaxed) {
            match self.job(batch) {
                Job::Nothing => break,
                Job::Resume(block) => self.turn(block, &mut left, &mut ranges, (&mut spare, &mut ended)),
                Job::Start(mut numbers) => {
                    let (before, count) = (left, numbers.end - numbers.start);
                    for number in numbers.by_ref() {
                        let block = self.start(number, spare.take());
                        self.turn(block, &mut left, &mut ranges, (&mut spare, &mut ended));
                        if left == 0 || self.stopped.load(Ordering::Relaxed) {
                            break;
                        }
                    }
                    batch = (BATCH_INSTRUCTIONS * count / (before - left).max(1)).clamp(1, MAX_BATCH);
                    if !numbers.is_empty() {
                        self.queue().left.push(numbers);
                    }
                }
            }
        }
        let mut queue = self.queue();
        queue.instructions += fuel - left;
        queue.ended.join(ended);
        queue.spare.extend(spare);
    }

    fn job(&self, batch: u64) -> Job<M> {
        let mut queue = self.queue();
        let blocks = self.grid.blocks();
        // Blocks that were taken come before those that were not: others may wait for them.
        if let Some(numbers) = queue.left.pop() {
            return Job::Start(numbers);
        }
        if queue.resident.len() < self.grid.limit && queue.next < blocks {
            let share = (blocks - queue.next) / (4 * self.crew);
            let numbers = queue.next..queue.next + share.clamp(1, batch);
            queue.next = numbers.end;
            return Job::Start(numbers);
        }
        queue.resident.pop_front().map_or(Job::Nothing, Job::Resume)
    }

    fn start(&self, number: u64, spare: Option<Box<Block<M>>>) -> Box<Block<M>> {
        let spare = spare.or_else(|| self.queue().spare.pop_back());
        self.grid.start(number, spare)
    }

    /// Runs a block for a turn, and puts it where it belongs then.
    fn turn(
        &self,
        mut block: Box<Block<M>>,
        left: &mut u64,
        ranges: &mut RangeCache,
        (spare, ended): (&mut Option<Box<Block<M>>>, &mut Cost),
    ) {
        let mut turn = TURN.min(*left);
        let given = turn;
        let step = block.advance(&mut turn, ranges);
        *left -= given - turn;
        match step {
            Step::Done => {
                ended.add(&block);
                *spare = Some(block);
            }
            Step::Running => self.queue().resident.push_back(block),
            Step::Trapped(trap) => {
                ended.add(&block);
                self.stopped.store(true, Ordering::Relaxed);
                let (number, mut queue) = (self.grid.number(block.index()), self.queue());
                if queue.trapped.as_ref().is_none_or(|(lowest, _)| number < *lowest) {
                    queue.trapped = Some((number, trap));
                }
            }
        }
    }
}
