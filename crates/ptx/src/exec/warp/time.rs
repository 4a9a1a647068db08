//! Virtual time of a warp, in cycles of the device's clock.
//!
//! Each instruction takes a fixed number of cycles; sleeps and waits at barriers add to them. A warp that does nothing but
//! read the clock is moved forward, so that a kernel which spins for a while does not take as long to simulate.

use super::Warp;
use super::group::State;
use crate::program::operation::{Instruction, Operation};

/// The longest loop around a clock read that counts as spinning, in instructions.
const LONGEST_LOOP: u64 = 32;
/// Reads of the clock by one instruction, a loop apart, before the warp is moved forward.
const READS: u32 = 64;
/// The part of the time spent spinning by which the next read is moved forward: the last read is late by so much at most.
const PART: u64 = 128;

/// The cycles of a warp since its block started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Time {
    /// Instructions carried out.
    pub(crate) instructions: u64,
    /// Cycles beside those of instructions.
    waited: u64,
    spin: Spin,
}

/// Repeated reads of the clock.
#[derive(Clone, Copy, Debug, Default)]
struct Spin {
    /// The instruction that reads it.
    pc: u32,
    /// Reads in a row.
    reads: u32,
    /// Instructions carried out before the last one.
    last: u64,
    /// Cycles at the first one.
    began: u64,
    /// True if the loop around it reads and writes no memory.
    is_pure: bool,
}

impl Time {
    /// Cycles since the block started, where an instruction takes `each`.
    pub(crate) fn cycles(&self, each: u64) -> u64 {
        (self.instructions * each).saturating_add(self.waited)
    }

    /// The warp does nothing for a while.
    pub(crate) fn sleep(&mut self, cycles: u64) {
        self.waited = self.waited.saturating_add(cycles);
    }

    /// Reads the clock, at an instruction of the code.
    pub(crate) fn read(&mut self, pc: u32, each: u64, code: &[Instruction]) -> u64 {
        let now = self.cycles(each);
        let spin = &mut self.spin;
        let distance = self.instructions - spin.last;
        if spin.pc != pc {
            // A loop may read several clocks; one of them is enough.
            if spin.reads == 0 || distance > LONGEST_LOOP {
                *spin = Spin { pc, reads: 1, last: self.instructions, began: now, is_pure: false };
            }
            return now;
        }
        if distance > LONGEST_LOOP {
            *spin = Spin { pc, reads: 1, last: self.instructions, began: now, is_pure: false };
            return now;
        }
        spin.last = self.instructions;
        spin.reads = spin.reads.saturating_add(1);
        if spin.reads == READS {
            spin.is_pure = is_in_pure_loop(code, pc as usize);
        }
        if spin.is_pure {
            let skipped = (now - spin.began) / PART;
            self.sleep(skipped);
        }
        self.cycles(each)
    }

    /// The warps that wait at a barrier go on at the same time: when the last of them arrived.
    pub(crate) fn meet(warps: &mut [Warp], number: u32, each: u64) {
        let waits = |warp: &Warp| warp.groups.iter().any(|group| group.state == State::Barrier(number));
        let arrivals = warps.iter().filter(|warp| waits(warp)).map(|warp| warp.time.cycles(each));
        let last = arrivals.max().unwrap_or(0);
        for warp in warps.iter_mut().filter(|warp| waits(warp)) {
            let early = last - warp.time.cycles(each);
            warp.time.sleep(early);
        }
    }
}

/// True if the innermost loop around an instruction computes and branches, and does nothing else.
fn is_in_pure_loop(code: &[Instruction], pc: usize) -> bool {
    let behind = pc..code.len().min(pc + LONGEST_LOOP as usize);
    let back = behind.filter_map(|branch| match code[branch].operation {
        Operation::Branch => Some((branch, code[branch].slots[0].value() as usize)),
        _ => None,
    });
    let Some((last, first)) = back.filter(|(_, target)| *target <= pc).next() else { return false };
    code[first..=last].iter().all(|instruction| {
        use Operation::{Branch, Compute, Nothing, Sleep, Special};
        matches!(instruction.operation, Compute(_) | Branch | Nothing | Sleep | Special(_))
    })
}
