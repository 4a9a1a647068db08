//! Blocks of a function, as an assembler forms them: it joins some, and has others several times.

use std::collections::VecDeque;

use super::Registers;
use crate::program::Code;
use crate::program::compute::Compute;
use crate::program::function::Touch;
use crate::program::operation::{Instruction, Operation};
use crate::program::slot::Guard;

/// The most instructions that are run under a predicate instead of being skipped by a branch.
const SKIPPED: usize = 8;
/// Copies of the body of an unrolled loop: one whose turns can be counted before it begins.
const COPIES: usize = 4;

/// A stretch of instructions that is entered at its start alone.
#[derive(Default)]
pub(super) struct Block {
    /// Its instructions, and their touches.
    pub(super) instructions: std::ops::Range<u32>,
    pub(super) touches: std::ops::Range<usize>,
    pub(super) next: Vec<usize>,
    before: Vec<usize>,
    /// `true` if it has a call, which leaves little to reorder.
    pub(super) calls: bool,
    /// Registers that are live at its end.
    pub(super) live: Vec<u64>,
}

impl Block {
    /// The copies of the block, whose number is given: several of a loop with a counter, unless the text
    /// forbids it.
    pub(super) fn copies(&self, code: &Code, number: usize, touches: &[Touch]) -> usize {
        let is_kept = code.rolled.iter().any(|pc| self.instructions.contains(pc));
        let is_counted = self.next.contains(&number) && !is_kept && has_counter(code, &touches[self.touches.clone()]);
        if is_counted { COPIES } else { 1 }
    }
}

/// `true` if a constant is added to a register that is compared afterwards.
fn has_counter(code: &Code, touches: &[Touch]) -> bool {
    let instruction = |touch: &Touch| &code.instructions[touch.pc as usize];
    let is_counter = |touch: &&Touch| {
        let Instruction { operation, slots: [d, a, b, ..], .. } = instruction(touch);
        touch.is_write && matches!(operation, Operation::Compute(Compute::Add(_))) && d == a && b.is_constant()
    };
    touches.iter().filter(is_counter).any(|counter| {
        let is_same = |touch: &&Touch| (touch.register, touch.is_long) == (counter.register, counter.is_long);
        let mut later = touches.iter().filter(|touch| touch.pc > counter.pc && !touch.is_write).filter(is_same);
        later.any(|touch| matches!(instruction(touch).operation, Operation::Compute(Compute::Compare { .. })))
    })
}

fn leaves(instruction: &Instruction) -> bool {
    use Operation::{Branch, BranchIndexed, Exit, Return, Trap};
    matches!(instruction.operation, Branch | BranchIndexed | Return | Exit | Trap)
}

fn targets(code: &Code, instruction: &Instruction) -> Vec<u32> {
    let [first, second, third, ..] = instruction.slots;
    match instruction.operation {
        Operation::Branch => vec![first.value()],
        Operation::BranchIndexed => {
            let list = code.lists.iter().skip(second.value() as usize).take(third.value() as usize);
            list.map(|target| target.value()).collect()
        }
        _ => Vec::new(),
    }
}

/// The blocks of a function, with what is live at the end of each.
pub(super) fn blocks(code: &Code, index: usize, touches: &[Touch], registers: &Registers) -> Vec<Block> {
    let function = &code.functions[index];
    let (start, instructions) = (function.start, &code.instructions[function.start as usize..function.end as usize]);
    let mut is_first = vec![false; instructions.len() + 1];
    is_first[0] = true;
    for (at, instruction) in instructions.iter().enumerate().filter(|(_, instruction)| leaves(instruction)) {
        is_first[at + 1] = true;
        for target in targets(code, instruction) {
            if let Some(first) = is_first.get_mut(target.wrapping_sub(start) as usize) {
                *first = true;
            }
        }
    }
    let starts: Vec<u32> = (0..instructions.len()).filter(|at| is_first[*at]).map(|at| at as u32).collect();
    let block_of = |at: u32| starts.partition_point(|first| *first <= at).checked_sub(1);
    let mut blocks: Vec<Block> = Vec::new();
    for (number, first) in starts.iter().enumerate() {
        let end = starts.get(number + 1).map_or(instructions.len(), |next| *next as usize);
        let at = |pc: u32| touches.partition_point(|touch| touch.pc.wrapping_sub(start) < pc);
        let is_call = |one: &Instruction| matches!(one.operation, Operation::Call | Operation::CallIndirect);
        let calls = instructions[*first as usize..end].iter().any(is_call);
        let (instructions_of, touches) = (start + first..start + end as u32, at(*first)..at(end as u32));
        let mut block = Block { instructions: instructions_of, touches, calls, ..Block::default() };
        if let Some(last) = instructions.get(end.wrapping_sub(1)) {
            let jumps = targets(code, last).into_iter().filter_map(|target| block_of(target.wrapping_sub(start)));
            block.next = jumps.collect();
            if !leaves(last) || last.guard != Guard::NONE {
                block.next.extend(Some(number + 1).filter(|next| *next < starts.len()));
            }
        }
        blocks.push(block);
    }
    for number in 0..blocks.len() {
        for next in blocks[number].next.clone() {
            blocks[next].before.push(number);
        }
    }
    spread(&mut blocks, touches, registers);
    blocks
}

/// Blocks with those behind them that a short branch skips: an assembler runs these under a predicate
/// instead. A branch to the end of a kernel ends the thread there.
pub(super) fn regions(code: &Code, blocks: &[Block], touches: &[Touch]) -> Vec<Block> {
    let is_end = |block: &Block| {
        let first = &code.instructions[block.instructions.start as usize];
        matches!(first.operation, Operation::Return | Operation::Exit) && first.guard == Guard::NONE
    };
    let mut regions: Vec<(usize, usize)> = Vec::new();
    let mut first = 0;
    while first < blocks.len() {
        let mut last = first;
        while last + 2 < blocks.len() {
            let (skipped, after) = (&blocks[last + 1], &blocks[last + 2]);
            let is_short = {
                let touches = &touches[skipped.touches.clone()];
                touches.chunk_by(|a, b| a.pc == b.pc).count() <= SKIPPED && !skipped.calls
            };
            let mut next = blocks[last].next.clone();
            next.sort_unstable();
            let joins = next == [last + 1, last + 2]
                && skipped.before == [last]
                && skipped.next == [last + 2]
                && after.before.iter().all(|before| *before == last || *before == last + 1);
            if !(is_short && joins) || is_end(after) {
                break;
            }
            last += 2;
        }
        regions.push((first, last));
        first = last + 1;
    }
    let number_of = |block: usize| regions.partition_point(|(first, _)| *first <= block) - 1;
    let region = |&(first, last): &(usize, usize)| Block {
        instructions: blocks[first].instructions.start..blocks[last].instructions.end,
        touches: blocks[first].touches.start..blocks[last].touches.end,
        next: blocks[last].next.iter().map(|next| number_of(*next)).collect(),
        before: Vec::new(),
        calls: blocks[first..=last].iter().any(|block| block.calls),
        live: blocks[last].live.clone(),
    };
    regions.iter().map(region).collect()
}

/// Finds the registers that are live at the end of each block.
fn spread(blocks: &mut [Block], touches: &[Touch], registers: &Registers) {
    let row = registers.count.div_ceil(64);
    blocks.iter_mut().for_each(|block| block.live = vec![0; row]);
    let mut waiting: VecDeque<usize> = (0..blocks.len()).rev().collect();
    let mut is_waiting = vec![true; blocks.len()];
    while let Some(number) = waiting.pop_front() {
        is_waiting[number] = false;
        let mut live = blocks[number].live.clone();
        for touch in touches[blocks[number].touches.clone()].iter().rev() {
            let id = registers.id(touch);
            if touch.is_write { live[id / 64] &= !(1 << (id % 64)) } else { live[id / 64] |= 1 << (id % 64) }
        }
        for before in blocks[number].before.clone() {
            let into = &mut blocks[before].live;
            let is_new = into.iter().zip(&live).any(|(old, new)| old | new != *old);
            if is_new {
                into.iter_mut().zip(&live).for_each(|(old, new)| *old |= new);
                if !std::mem::replace(&mut is_waiting[before], true) {
                    waiting.push_back(before);
                }
            }
        }
    }
}
