//! Calls and returns, and the functions that the device itself has.

use crate::device::host::{Event, Freed, Host};
use crate::device::launch::MAX_LOCAL;
use crate::device::memory::Memory;
use crate::device::trap::TrapKind;
use crate::exec::warp::Warp;
use crate::exec::warp::executor::{Current, Executor, Next, Stop, stop};
use crate::exec::warp::frame::Caller;
use crate::exec::warp::group::{Group, State};
use crate::lanes::{LANES, Longs, Words, by_lane, lanes as each, map_row};
use crate::program::function::{Builtin, Passed};
use crate::program::slot::Slot;
use crate::program::window;

/// The argument of `warploom_last_error` that leaves the error as it is.
const LEFT: u32 = 1 << 31;

/// Bytes of the stack that every call takes.
const LEAST_FRAME: u32 = 32;

/// Longs as their lower and upper words.
fn words(longs: &Longs) -> [Words; 2] {
    [map_row(longs, |value| value as u32), map_row(longs, |value| (value >> 32) as u32)]
}

/// Longs of their lower and upper words.
fn longs(low: Words, high: Words) -> Longs {
    by_lane(|lane| u64::from(high[lane]) << 32 | u64::from(low[lane]))
}

impl<M: Memory + Host> Executor<'_, M> {
    /// Enters a function, or the one whose address the lanes hold: those that hold another one wait.
    pub(crate) fn call(
        &mut self,
        warp: &mut Warp,
        at: Current,
        lanes: u32,
        call: u32,
        through: Option<Slot>,
    ) -> Result<Next, Stop> {
        let code = std::sync::Arc::clone(&self.context.program.code);
        let (function, lanes) = match (through, code.calls[call as usize].function) {
            (None, Some(function)) => (function, lanes),
            (Some(slot), _) => self.callee(warp, at, lanes, slot)?,
            (None, None) => return Err(stop(warp, at, lanes, TrapKind::Signature)),
        };
        let callee = &code.functions[function as usize];
        if let Some(builtin) = callee.builtin {
            self.builtin(warp, at, lanes, builtin, call)?;
            return Ok(self.after(warp, at, lanes, through.is_some()));
        }
        if callee.start == callee.end {
            return Err(stop(warp, at, lanes, TrapKind::Call(window::function_address(function))));
        }
        let caller = warp.frames.get(at.frame);
        let (depth, size) = (caller.depth + 1, code.functions[caller.function as usize].frame);
        let allocated = caller.allocated(caller.base + size, lanes);
        // A function without variables needs room, too, or there would be no end to calling it.
        let own = size.saturating_add(allocated.checked_next_multiple_of(16).unwrap_or(u32::MAX));
        let base = caller.base.saturating_add(own.max(LEAST_FRAME));
        let stack = caller.stack.saturating_add(allocated).saturating_add(callee.taken);
        let limit = self.context.stack;
        if stack > limit || base.saturating_add(callee.frame) > MAX_LOCAL {
            return Err(stop(warp, at, lanes, TrapKind::Stack { limit: limit.min(MAX_LOCAL) }));
        }
        warp.local.reserve(base + callee.frame);
        let index = warp.frames.take();
        let frame = warp.frames.get(index);
        frame.registers.reset(callee.counts, &callee.cleared);
        (frame.function, frame.depth, frame.lanes) = (function, depth, lanes);
        (frame.base, frame.stack, frame.ends) = (base, stack, None);
        frame.caller = Some(Caller { frame: at.frame, call, pc: at.pc + 1 });
        let arguments = &code.calls[call as usize].arguments;
        for (from, to) in arguments.iter().zip(&callee.parameters) {
            self.pass_value(warp, [at.frame, index], lanes, *from, *to);
        }
        let group = &mut warp.groups[at.index];
        let before = *group;
        *group = Group { lanes, pc: callee.start, frame: index, state: State::Ready, penalty: before.penalty };
        let rest = at.lanes & !lanes;
        if rest != 0 {
            // Through an address, the others hold a different one, or were not meant at all.
            let pc = if through.is_some() { at.pc } else { at.pc + 1 };
            warp.groups.push(Group { lanes: rest, pc, ..before });
        }
        Ok(Next::Regroup)
    }

    /// After a function that is none of the program's: the lanes go on behind the call.
    fn after(&self, warp: &mut Warp, at: Current, lanes: u32, through: bool) -> Next {
        if !through || lanes == at.lanes {
            return Next::Following;
        }
        let group = &mut warp.groups[at.index];
        let before = *group;
        *group = Group { lanes, pc: at.pc + 1, ..before };
        warp.groups.push(Group { lanes: at.lanes & !lanes, pc: at.pc, ..before });
        Next::Regroup
    }

    /// The function of the first lane, and all lanes that have the same.
    fn callee(&self, warp: &mut Warp, at: Current, lanes: u32, slot: Slot) -> Result<(u32, u32), Stop> {
        let addresses = *self.file(warp, at).longs(slot);
        let first = lanes.trailing_zeros() as usize;
        let same =
            each(lanes).filter(|lane| addresses[*lane] == addresses[first]).fold(0, |mask, lane| mask | 1 << lane);
        let function = window::function_at(addresses[first]);
        let function = function.filter(|index| (*index as usize) < self.context.program.code.functions.len());
        let function = function.ok_or_else(|| stop(warp, at, lanes, TrapKind::Call(addresses[first])))?;
        Ok((function, same))
    }

    /// Leaves a function, or the kernel.
    pub(crate) fn leave(&mut self, warp: &mut Warp, at: Current, lanes: u32) -> Result<Next, Stop> {
        let frame = warp.frames.get(at.frame);
        let Some(caller) = frame.caller else { return Ok(self.exit(warp, at, lanes)) };
        let function = frame.function;
        frame.lanes &= !lanes;
        let empty = frame.lanes == 0;
        let code = std::sync::Arc::clone(&self.context.program.code);
        let results = &code.functions[function as usize].results;
        for (from, to) in results.iter().zip(&code.calls[caller.call as usize].results) {
            self.pass_value(warp, [at.frame, caller.frame], lanes, *from, *to);
        }
        let group = &mut warp.groups[at.index];
        let before = *group;
        *group = Group { lanes, pc: caller.pc, frame: caller.frame, state: State::Ready, penalty: before.penalty };
        if at.lanes != lanes {
            warp.groups.push(Group { lanes: at.lanes & !lanes, pc: at.pc + 1, ..before });
        }
        if empty {
            warp.frames.give_back(at.frame);
        }
        Ok(Next::Regroup)
    }

    /// Ends threads.
    pub(crate) fn exit(&mut self, warp: &mut Warp, at: Current, lanes: u32) -> Next {
        self.tell(warp, at, lanes, Event::Ended);
        warp.end(lanes);
        self.barriers.changed = true;
        let mut frame = Some(at.frame);
        while let Some(index) = frame {
            let this = warp.frames.get(index);
            this.lanes &= !lanes;
            frame = this.caller.map(|caller| caller.frame);
            if this.lanes == 0 {
                warp.frames.give_back(index);
            }
        }
        if lanes == at.lanes {
            warp.groups.swap_remove(at.index);
        } else {
            let group = &mut warp.groups[at.index];
            (group.lanes, group.pc) = (at.lanes & !lanes, at.pc + 1);
        }
        Next::Regroup
    }

    /// The words of an argument or result: one row, or as many as a variable has.
    pub(crate) fn passed(&self, warp: &mut Warp, frame: usize, from: Passed) -> Vec<Words> {
        let base = warp.frames.get(frame).base;
        let at = Current { index: 0, lanes: 0, pc: 0, frame };
        match from {
            Passed::Frame { offset, size } => {
                (0..size.div_ceil(4)).map(|word| *warp.local.row(base + offset + word * 4)).collect()
            }
            Passed::Word(slot) => vec![*self.file(warp, at).words(slot)],
            Passed::Long(slot) => words(self.file(warp, at).longs(slot)).to_vec(),
            Passed::Pair(slot) => {
                let file = self.file(warp, at);
                [words(file.longs(slot)), words(file.longs(slot.next()))].concat()
            }
            Passed::Predicate(slot) => {
                let mask = self.file(warp, at).predicate(slot);
                vec![by_lane(|lane| mask >> lane & 1)]
            }
        }
    }

    /// Writes the words of an argument or result.
    pub(crate) fn put(&self, warp: &mut Warp, frame: usize, lanes: u32, to: Passed, rows: &[Words]) {
        let base = warp.frames.get(frame).base;
        let at = Current { index: 0, lanes, pc: 0, frame };
        let row = |index: usize| rows.get(index).copied().unwrap_or([0; LANES]);
        match to {
            Passed::Frame { offset, size } => {
                for (word, row) in (0..size.div_ceil(4)).zip(rows) {
                    let target = warp.local.row(base + offset + word * 4);
                    for lane in each(lanes) {
                        target[lane] = row[lane];
                    }
                }
            }
            Passed::Word(slot) => self.file(warp, at).set_words(slot, lanes, &row(0)),
            Passed::Long(slot) => self.file(warp, at).set_longs(slot, lanes, &longs(row(0), row(1))),
            Passed::Pair(slot) => {
                let mut file = self.file(warp, at);
                file.set_longs(slot, lanes, &longs(row(0), row(1)));
                file.set_longs(slot.next(), lanes, &longs(row(2), row(3)));
            }
            Passed::Predicate(slot) => {
                let mask = row(0).iter().enumerate().fold(0, |mask, (lane, value)| mask | (value & 1) << lane);
                self.file(warp, at).set_predicate(slot, lanes, mask);
            }
        }
    }

    fn pass_value(&self, warp: &mut Warp, [from_frame, to_frame]: [usize; 2], lanes: u32, from: Passed, to: Passed) {
        let rows = self.passed(warp, from_frame, from);
        self.put(warp, to_frame, lanes, to, &rows);
    }

    /// Gives memory of the heap back; a null pointer is nothing to give.
    fn free(&self, warp: &Warp, at: Current, lane: usize, address: u64) -> Result<(), Stop> {
        if address == 0 {
            return Ok(());
        }
        let kind = match self.context.memory.free(&self.access(warp, at, 1 << lane, false), address) {
            Freed::Done | Freed::Stray => return Ok(()),
            Freed::Twice => TrapKind::FreedTwice(address),
            Freed::Unreachable(fault) => TrapKind::Global(fault.address),
        };
        Err(stop(warp, at, 1 << lane, kind))
    }

    fn builtin(&mut self, warp: &mut Warp, at: Current, lanes: u32, builtin: Builtin, call: u32) -> Result<(), Stop> {
        let code = std::sync::Arc::clone(&self.context.program.code);
        let call = &code.calls[call as usize];
        let arguments: Vec<Vec<Words>> =
            call.arguments.iter().map(|argument| self.passed(warp, at.frame, *argument)).collect();
        let argument = |index: usize, lane: usize| -> u64 {
            let word = |word: usize| arguments.get(index).and_then(|rows| rows.get(word)).map_or(0, |row| row[lane]);
            u64::from(word(1)) << 32 | u64::from(word(0))
        };
        let mut results = [[0; LANES]; 2];
        for lane in each(lanes) {
            let result = match builtin {
                Builtin::Allocate => {
                    let access = self.access(warp, at, 1 << lane, false);
                    self.context.memory.allocate(&access, argument(0, lane))
                }
                Builtin::Free => {
                    self.free(warp, at, lane, argument(0, lane))?;
                    0
                }
                Builtin::SetCondition => {
                    let access = self.access(warp, at, 1 << lane, false);
                    let (handle, value) = (argument(0, lane), argument(1, lane) as u32);
                    if !self.context.memory.set_condition(&access, handle, value) {
                        return Err(stop(warp, at, 1 << lane, TrapKind::Condition(handle)));
                    }
                    0
                }
                Builtin::DeviceValue => {
                    let value = self.context.memory.device_value(argument(0, lane) as u32, argument(1, lane) as u32);
                    value.unwrap_or(i64::MIN).cast_unsigned()
                }
                // The error that takes its place, or the highest bit alone to leave it there.
                Builtin::LastError => {
                    let (before, next) = (warp.errors[lane], argument(0, lane) as u32);
                    if next != LEFT {
                        warp.errors[lane] = next;
                    }
                    before.into()
                }
                Builtin::Print => self.print(warp, at, lane, argument(0, lane), argument(1, lane))?,
                Builtin::AssertFailed => {
                    let mut text = |index| self.text(warp, at, lane, argument(index, lane));
                    let (message, file, function) = (text(0)?, text(1)?, text(3)?);
                    let line = argument(2, lane) as u32;
                    return Err(stop(warp, at, 1 << lane, TrapKind::Assert { message, file, line, function }));
                }
            };
            (results[0][lane], results[1][lane]) = (result as u32, (result >> 32) as u32);
        }
        if let Some(result) = call.results.first() {
            self.put(warp, at.frame, lanes, *result, &results);
        }
        Ok(())
    }
}
