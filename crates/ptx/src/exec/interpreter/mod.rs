//! The interpreter: one warp, instruction by instruction.

pub(crate) mod fast_path;

use super::registers::File;
use super::warp::Warp;
use super::warp::frame::Frame;
use super::warp::group::{Group, State};
use crate::device::host::{Event, Host};
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::memory::transfer::Environment;
use crate::exec::warp::executor::{Current, Executor, Next, Stop, stop};
use crate::program::operation::{AccessForm, Instruction, Operation};
use crate::program::slot::Slot;
use fast_path::Cursor;

/// Instructions after which a group lets others of its warp go first.
const PATIENCE: u64 = 4096;

/// The longest sleep of one instruction, in nanoseconds.
const MAX_SLEEP: u32 = 1_000_000;

/// The reason for which a warp is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// It has used up its fuel.
    Fuel,
    /// It waits for other warps.
    Waiting,
    /// All its threads have ended.
    Done,
    /// It would rather let others go first.
    Yield,
}

impl<M: Memory + Host> Executor<'_, M> {
    /// Runs a warp for at most `fuel` instructions, which it counts down.
    pub(crate) fn run(&mut self, warp: &mut Warp, fuel: &mut u64) -> Result<Pause, Stop> {
        loop {
            if *fuel == 0 {
                return Ok(if warp.live == 0 { Pause::Done } else { Pause::Fuel });
            }
            let picked = warp.interrupted.map(|(index, _)| index).or_else(|| warp.pick());
            let Some(index) = picked else {
                if warp.live == 0 {
                    return Ok(Pause::Done);
                }
                if self.release_lanes(warp)? {
                    continue;
                }
                return Ok(Pause::Waiting);
            };
            if self.run_group(warp, index, fuel)? {
                return Ok(Pause::Yield);
            }
        }
    }

    /// Runs one group until another has to be picked; true if the warp yields to others.
    fn run_group(&mut self, warp: &mut Warp, index: usize, fuel: &mut u64) -> Result<bool, Stop> {
        let context = self.context;
        let code = context.program.code.instructions.as_slice();
        let conversions = context.program.code.conversions.as_slice();
        let alone = warp.groups.len() == 1;
        let meeting = if alone { u32::MAX } else { warp.meeting(index) };
        let patience = warp.interrupted.take().map_or(PATIENCE, |(_, patience)| patience);
        let slice = if alone { *fuel } else { patience.min(*fuel) };
        let (mut left, started) = (slice, warp.time.instructions);
        let group = warp.groups[index];
        let mut at = Current { index, lanes: group.lanes, pc: group.pc, frame: group.frame };
        warp.groups[index].state = State::Ready;
        // Bytes behind these are left to the slow path, which reports them.
        let shared_bytes = self.unreported_shared();
        let outcome = loop {
            let frame = warp.frames.get(at.frame);
            let mut file = File { registers: &mut frame.registers, constants: &context.program.constants };
            let mut around = Environment {
                memory: &context.memory,
                ranges: self.ranges,
                traffic: self.traffic,
                shared: (!M::WATCHES_SHARED).then_some(&mut self.shared[..shared_bytes]),
                arguments: &context.arguments,
                places: &context.places[warp.index as usize],
                block: self.block,
                block_size: context.block,
                grid: context.grid,
            };
            let here = Cursor { code, conversions, pc: at.pc as usize, meeting: meeting as usize, left };
            let here = fast_path::run(&mut file, at.lanes, here, &mut around);
            (at.pc, left) = (here.pc as u32, here.left);
            if left == 0 || at.pc >= meeting || here.pc >= code.len() {
                break Ok(Next::Following);
            }
            left -= 1;
            warp.time.instructions = started + (slice - left);
            match self.instruction(warp, at, &code[at.pc as usize]) {
                Ok(Next::Following) => at.pc += 1,
                Ok(Next::Jump(pc)) => at.pc = pc,
                other => break other,
            }
            if at.pc >= meeting {
                break Ok(Next::Following);
            }
        };
        let used = slice - left;
        *fuel -= used;
        warp.time.instructions = started + used;
        warp.divergence.thread_instructions += used * u64::from(at.lanes.count_ones());
        match outcome? {
            Next::Regroup => return Ok(false),
            Next::Yield => {
                warp.groups[index].pc = at.pc + 1;
                return Ok(true);
            }
            Next::Following | Next::Jump(_) => {}
        }
        warp.groups[index].pc = at.pc;
        if left == 0 && !alone {
            // Fuel runs out at any moment; the order of the groups must not depend on it.
            match patience - used {
                0 => warp.overtake(index),
                patience if at.pc < meeting => warp.interrupted = Some((index, patience)),
                _ => {}
            }
        }
        Ok(false)
    }

    /// An instruction that does more than compute.
    fn instruction(&mut self, warp: &mut Warp, at: Current, instruction: &Instruction) -> Result<Next, Stop> {
        let Frame { registers, base, .. } = warp.frames.get(at.frame);
        let lanes = instruction.guard.filter(at.lanes, &registers.predicates);
        let slots = &instruction.slots;
        let [first, second, third, ..] = *slots;
        if lanes == 0 {
            return Ok(Next::Following);
        }
        let base = *base;
        match instruction.operation {
            Operation::Compute(what) => {
                let mut file = File { registers, constants: &self.context.program.constants };
                let conversions = &self.context.program.code.conversions;
                crate::exec::compute::compute_anywhere(&mut file, lanes, &what, slots, conversions);
            }
            Operation::Load(form) => {
                self.load(warp, at, lanes, form, slots)?;
                self.traffic.bytes += form.global_bytes(lanes);
            }
            Operation::Store(form) => {
                self.store(warp, at, lanes, form, slots)?;
                self.traffic.bytes += form.global_bytes(lanes);
            }
            Operation::LoadWhole(form) => {
                self.count_sectors(warp, at, lanes, &form, slots);
                self.load_whole(warp, at, lanes, form, slots)?;
                self.traffic.bytes += form.global_bytes(lanes);
            }
            Operation::StoreWhole(form) => {
                self.count_sectors(warp, at, lanes, &form, slots);
                self.store_whole(warp, at, lanes, form, slots)?;
                self.traffic.bytes += form.global_bytes(lanes);
            }
            Operation::Atomic(atomic) => self.atomic(warp, at, lanes, atomic, slots)?,
            Operation::AtomicPair(atomic) => self.atomic_pair(warp, at, lanes, atomic, slots)?,
            Operation::Special(special) => self.special(warp, at, lanes, special, first),
            Operation::FrameAddress => {
                let mut file = File { registers, constants: &self.context.program.constants };
                let address = base.wrapping_add(second.value());
                if third.value() == 1 {
                    file.set_longs(first, lanes, &[address.into(); 32]);
                } else {
                    file.set_words(first, lanes, &[address; 32]);
                }
            }
            Operation::StackAllocate { long } => {
                self.stack_allocate(warp, at, lanes, long, [first, second, third]);
            }
            Operation::StackSave { long } => self.stack_save(warp, at, lanes, long, first),
            Operation::StackRestore { long } => self.stack_restore(warp, at, lanes, long, first),
            Operation::Branch => return Ok(branch(warp, at, lanes, first.value())),
            Operation::BranchIndexed => return self.branch_indexed(warp, at, lanes, [first, second, third]),
            Operation::Call => return self.call(warp, at, lanes, first.value(), None),
            Operation::CallIndirect => return self.call(warp, at, lanes, first.value(), Some(second)),
            Operation::Return => return self.leave(warp, at, lanes),
            Operation::Exit => return Ok(self.exit(warp, at, lanes)),
            Operation::Trap => return Err(stop(warp, at, lanes, TrapKind::Trap)),
            Operation::Barrier(kind) => return self.barrier(warp, at, lanes, kind, slots),
            Operation::WarpBarrier => {
                let needed = self.needed(warp, at, lanes, first);
                if !self.gathered(warp, at, lanes, needed) {
                    return Ok(Next::Regroup);
                }
            }
            Operation::Shuffle(kind) => return Ok(self.shuffle(warp, at, lanes, kind, slots)),
            Operation::Vote(kind) => return Ok(self.vote(warp, at, lanes, kind, [first, second, third])),
            Operation::ActiveMask => {
                let mut file = File { registers, constants: &self.context.program.constants };
                file.set_words(first, lanes, &[lanes; 32]);
            }
            Operation::Match { all, long } => return Ok(self.matching(warp, at, lanes, all, long, slots)),
            Operation::Reduce(kind) => return Ok(self.reduce(warp, at, lanes, kind, [first, second, third])),
            Operation::Elect => return Ok(self.elect(warp, at, lanes, [first, second, third])),
            Operation::Sleep => {
                let file = File { registers, constants: &self.context.program.constants };
                let asked = file.words(first);
                let longest = crate::lanes::lanes(lanes).map(|lane| asked[lane]).max().unwrap_or(0);
                warp.time.sleep(self.context.memory.cycles(longest.min(MAX_SLEEP).into()));
                return Ok(if lanes == at.lanes { Next::Yield } else { Next::Following });
            }
            Operation::Fence => self.tell(warp, at, lanes, Event::Fence),
            Operation::Nothing => {}
            Operation::MapShared { long } => self.map_shared(warp, at, lanes, long, [first, second, third]),
            Operation::SharedRank { long } => self.shared_rank(warp, at, lanes, long, [first, second]),
            Operation::OwnShared => self.own_shared(warp, at, lanes, [first, second]),
            Operation::Multiply(product) => self.multiply(warp, at, lanes, product, first),
            Operation::MultiplyQuads(quads) => self.multiply_quads(warp, at, lanes, quads, first),
            Operation::Transpose => self.transpose(warp, at, lanes, [first, second]),
            Operation::Fragment(fragment) => self.fragment(warp, at, lanes, fragment, slots)?,
            Operation::Matrix(transfer) => self.transfer(warp, at, lanes, transfer, [first, second, third])?,
            Operation::MemoryBarrier(kind, wide) => self.memory_barrier(warp, at, lanes, kind, wide, slots)?,
            Operation::CopyAsync { bytes, long } => self.copy(warp, at, lanes, bytes, long, slots)?,
            Operation::CommitCopies => self.tell(warp, at, lanes, Event::CopiesCommitted),
            Operation::AwaitCopies { all } => {
                let but = (!all).then(|| first.value());
                self.tell(warp, at, lanes, Event::CopiesAwaited { but });
            }
            Operation::CopyBulk(form) => self.copy_bulk(warp, at, lanes, form, slots)?,
            Operation::StoreAsync(form) => self.store_async(warp, at, lanes, form, slots)?,
            Operation::CommitBulk => self.tell(warp, at, lanes, Event::BulkCommitted),
            Operation::AwaitBulk { reads } => {
                self.tell(warp, at, lanes, Event::BulkAwaited { but: first.value(), reads });
            }
        }
        Ok(Next::Following)
    }

    /// Counts the sectors of an access that the fast path does not try.
    fn count_sectors(&mut self, warp: &mut Warp, at: Current, lanes: u32, form: &AccessForm, slots: &[Slot; 6]) {
        if self.traffic.counts_sectors {
            let registers = &mut warp.frames.get(at.frame).registers;
            let file = File { registers, constants: &self.context.program.constants };
            self.traffic.count(&file, lanes, form, slots);
        }
    }

    fn branch_indexed(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        [index, first, count]: [Slot; 3],
    ) -> Result<Next, Stop> {
        let file =
            File { registers: &mut warp.frames.get(at.frame).registers, constants: &self.context.program.constants };
        let indexes = *file.words(index);
        let lists = &self.context.program.code.lists;
        let mut rest = at.lanes & !lanes;
        let mut parts: Vec<(u32, u32)> = Vec::new();
        for lane in crate::lanes::lanes(lanes) {
            if indexes[lane] >= count.value() {
                let kind = TrapKind::BranchIndex { index: indexes[lane], count: count.value() };
                return Err(stop(warp, at, 1 << lane, kind));
            }
            let pc = lists[(first.value() + indexes[lane]) as usize].value();
            match parts.iter_mut().find(|(target, _)| *target == pc) {
                Some((_, mask)) => *mask |= 1 << lane,
                None => parts.push((pc, 1 << lane)),
            }
        }
        if let ([(pc, _)], 0) = (parts.as_slice(), rest) {
            return Ok(Next::Jump(*pc));
        }
        warp.divergence.branches += 1;
        let group = warp.groups[at.index];
        warp.groups.swap_remove(at.index);
        warp.groups.extend(parts.into_iter().map(|(pc, lanes)| Group { pc, lanes, ..group }));
        if rest != 0 {
            warp.groups.push(Group { pc: at.pc + 1, lanes: std::mem::take(&mut rest), ..group });
        }
        Ok(Next::Regroup)
    }
}

fn branch(warp: &mut Warp, at: Current, lanes: u32, target: u32) -> Next {
    if lanes == at.lanes {
        return Next::Jump(target);
    }
    warp.divergence.branches += 1;
    let group = &mut warp.groups[at.index];
    *group = Group { lanes: at.lanes & !lanes, pc: at.pc + 1, ..*group };
    let taken = Group { lanes, pc: target, ..*group };
    warp.groups.push(taken);
    Next::Regroup
}
