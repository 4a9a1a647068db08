//! Registers of a kernel, estimated from the values that are live at the same time.
//!
//! An assembler decides how many registers a kernel has. The estimate counts what it has to keep: the words
//! of all values that are written before and read after an instruction, where the most are. Values that every
//! thread has alike and that can be had again at no cost (arguments, constants, most special registers) are
//! left out, since hardware reads them from constant memory or has a file of its own for them.

mod schedule;

use std::collections::VecDeque;

use super::Code;
use super::compute::Compute;
use super::function::Touch;
use super::operation::{Instruction, Operation, Special};
use super::slot::Guard;
use super::space::Space;

/// Registers beyond those of live values: the stack pointer, pairs and quadruples that have to be aligned,
/// results of instructions that have not ended.
const OVERHEAD: u32 = 5;
/// The registers up to which an assembler reorders instructions to hide latency: as many threads as a
/// multiprocessor can hold have that many each.
const ROOM: u32 = 32;
/// Registers in which the lanes of a warp find out how they share an atomic operation.
const ATOMICS: u32 = 4;
/// The fewest registers of a kernel, and of one that calls functions.
const LEAST: u32 = 8;
const LEAST_WITH_CALLS: u32 = 24;
/// The longest block that is reordered; in longer ones there is enough to fill the room.
const LONGEST: usize = 4096;

/// A function's registers, numbered through: words first.
struct Registers {
    words: u32,
    count: usize,
}

impl Registers {
    fn id(&self, touch: &Touch) -> usize {
        (if touch.is_long { self.words + touch.register } else { touch.register }) as usize
    }

    fn weight(&self, id: usize) -> u32 {
        if id < self.words as usize { 1 } else { 2 }
    }
}

/// A stretch of instructions that is entered at its start alone.
#[derive(Default)]
struct Block {
    /// Its touches.
    touches: std::ops::Range<usize>,
    next: Vec<usize>,
    before: Vec<usize>,
    /// `true` if it has a call, which leaves little to reorder.
    calls: bool,
    /// Registers that are live at its end.
    live: Vec<u64>,
}

/// The registers that a thread of a kernel needs, with all functions that it is known to call.
pub(crate) fn registers(code: &Code, index: usize) -> u32 {
    let (mut reached, mut waiting, mut most) = (vec![false; code.functions.len()], vec![index], LEAST);
    while let Some(index) = waiting.pop() {
        if std::mem::replace(&mut reached[index], true) {
            continue;
        }
        let function = &code.functions[index];
        let mut calls = false;
        for instruction in &code.instructions[function.start as usize..function.end as usize] {
            calls |= matches!(instruction.operation, Operation::Call | Operation::CallIndirect);
            if instruction.operation == Operation::Call {
                let callee = code.calls[instruction.slots[0].value() as usize].function;
                waiting.extend(callee.map(|callee| callee as usize));
            }
        }
        most = most.max(own(code, index));
        if calls {
            most = most.max(LEAST_WITH_CALLS);
        }
    }
    most
}

/// The registers of one function.
fn own(code: &Code, index: usize) -> u32 {
    let function = &code.functions[index];
    let counts = function.counts;
    let registers = Registers { words: counts.words, count: (counts.words + counts.longs) as usize };
    let mut blocks = blocks(code, index, &function.touches);
    spread(&mut blocks, &function.touches, &registers);
    let free = free(code, &function.touches, &registers);
    let (mut kept, mut ordered) = (0, 0);
    for block in &blocks {
        kept = kept.max(most(block, &function.touches, &registers, &free));
        if !block.calls && ordered < ROOM {
            ordered = ordered.max(if block.touches.len() > LONGEST {
                ROOM
            } else {
                schedule::most(code, block, &function.touches, &registers, &free)
            });
        }
    }
    let most = kept.max(ordered.min(ROOM - OVERHEAD)) + OVERHEAD;
    // Larger functions have registers to spare by then.
    if most <= ROOM / 2 && has_results(code, &function.touches) { most + ATOMICS } else { most }
}

/// `true` if the result of an atomic operation is read.
fn has_results(code: &Code, touches: &[Touch]) -> bool {
    use Operation::{Atomic, AtomicPair};
    let is_atomic =
        |touch: &&Touch| matches!(code.instructions[touch.pc as usize].operation, Atomic(_) | AtomicPair(_));
    let mut results = touches.iter().filter(|touch| touch.is_write).filter(is_atomic);
    results.any(|result| {
        let is_same = |touch: &&Touch| touch.register == result.register && touch.is_long == result.is_long;
        touches.iter().filter(|touch| !touch.is_write).any(|touch| is_same(&touch))
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

fn blocks(code: &Code, index: usize, touches: &[Touch]) -> Vec<Block> {
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
        let mut block = Block { touches: at(*first)..at(end as u32), calls, ..Block::default() };
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
    blocks
}

fn has(set: &[u64], id: usize) -> bool {
    set[id / 64] >> (id % 64) & 1 == 1
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

/// The registers whose values can be had again at no cost.
fn free(code: &Code, touches: &[Touch], registers: &Registers) -> Vec<u64> {
    let mut writes = vec![0_u32; registers.count];
    touches.iter().filter(|touch| touch.is_write).for_each(|touch| writes[registers.id(touch)] += 1);
    let mut free = vec![0; registers.count.div_ceil(64)];
    let mut from = 0;
    for (at, touch) in touches.iter().enumerate() {
        if touches[from].pc != touch.pc {
            from = at;
        }
        let id = registers.id(touch);
        if !touch.is_write || writes[id] != 1 {
            continue;
        }
        let sources = touches[from..at].iter().filter(|source| !source.is_write);
        let is_uniform = sources.into_iter().all(|source| has(&free, registers.id(source)));
        let instruction = &code.instructions[touch.pc as usize];
        let is_free = match instruction.operation {
            Operation::Load(form) => matches!(form.space, Space::Argument),
            Operation::Special(special) => !is_own(special),
            Operation::Compute(Compute::Move | Compute::MoveLong) => is_uniform,
            _ => false,
        };
        if is_free {
            free[id / 64] |= 1 << (id % 64);
        }
    }
    free
}

/// `true` for special registers that threads of a warp have values of their own in.
fn is_own(special: Special) -> bool {
    use Special::{
        Clock, Clock64, ClockHigh, Lane, LanesEqual, LanesGreater, LanesGreaterEqual, LanesLess, LanesLessEqual,
        Thread, Timer, TimerHigh, TimerLow,
    };
    matches!(
        special,
        Thread(_)
            | Lane
            | LanesEqual
            | LanesLess
            | LanesLessEqual
            | LanesGreater
            | LanesGreaterEqual
            | Clock
            | ClockHigh
            | Clock64
            | Timer
            | TimerLow
            | TimerHigh
    )
}

/// The most words that are live within a block.
fn most(block: &Block, touches: &[Touch], registers: &Registers, free: &[u64]) -> u32 {
    let mut live = block.live.clone();
    let weight = |id: usize| if has(free, id) { 0 } else { registers.weight(id) };
    let mut now: u32 = (0..registers.count).filter(|id| has(&live, *id)).map(weight).sum();
    let mut most = now;
    for touch in touches[block.touches.clone()].iter().rev() {
        let id = registers.id(touch);
        match (touch.is_write, has(&live, id)) {
            (true, true) => {
                live[id / 64] &= !(1 << (id % 64));
                now -= weight(id);
            }
            // A result that nothing reads has to go somewhere.
            (true, false) => most = most.max(now + weight(id)),
            (false, true) => {}
            (false, false) => {
                live[id / 64] |= 1 << (id % 64);
                now += weight(id);
                most = most.max(now);
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use crate::program::Program;

    fn registers(body: &str) -> u32 {
        let text = format!(
            ".version 8.7 .target sm_90 .address_size 64
             .func (.reg .b32 back) twice(.reg .b32 from) {{ add.u32 back, from, from; ret; }}
             .visible .entry kernel(.param .u64 data) {{
                 .reg .pred %p<3>; .reg .b32 %r<99>; .reg .b64 %rd<9>;
                 ld.param.u64 %rd1, [data];
                 {body}
                 ret;
             }}"
        );
        let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
        program.kernel("kernel").expect("it was just written").registers()
    }

    #[test]
    fn values_that_are_live_together_need_registers_each() {
        let loads: String = (1..80).map(|i| format!("ld.volatile.global.u32 %r{i}, [%rd1+{}];", 4 * i)).collect();
        let stores: String = (1..80).map(|i| format!("st.volatile.global.u32 [%rd1+{}], %r{i};", 4 * i)).collect();
        // The assembler takes 96; 79 values are live.
        assert_eq!(registers(&format!("{loads}{stores}")), 84);
        let one_by_one: String = (1..80)
            .map(|i| format!("ld.volatile.global.u32 %r{i}, [%rd1]; st.volatile.global.u32 [%rd1], %r{i};"))
            .collect();
        assert_eq!(registers(&one_by_one), 8);
    }

    #[test]
    fn values_are_live_around_a_loop() {
        let loads: String = (1..20).map(|i| format!("ld.volatile.global.u32 %r{i}, [%rd1+{}];", 4 * i)).collect();
        let sum: String = (1..20).map(|i| format!("add.u32 %r50, %r50, %r{i};")).collect();
        let text = format!(
            "{loads} mov.u32 %r50, 0; AGAIN: {sum} setp.ne.u32 %p1, %r50, 77; @%p1 bra AGAIN; st.global.u32 [%rd1], %r50;"
        );
        assert_eq!(registers(&text), 25);
    }

    #[test]
    fn calls_take_the_registers_of_an_abi() {
        assert_eq!(registers("mov.u32 %r1, 5; call (%r2), twice, (%r1);"), 24);
        assert_eq!(registers(""), 8);
    }
}
