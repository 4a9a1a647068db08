//! Registers of a kernel, estimated from the values that are live at the same time.
//!
//! An assembler decides how many registers a kernel has. The estimate counts what it has to keep: the words
//! of all values that are written before and read after an instruction, where the most are. Values that every
//! thread has alike (arguments, constants, most special registers, and integers that are computed from them
//! alone) are left out, since hardware reads them from constant memory or has a file of its own for them.
//!
//! Then it orders instructions as an assembler does to hide latency: with those behind short branches, which
//! run under a predicate, and with several turns of a loop at once.

mod block;
mod schedule;
mod value;

use super::Code;
use super::function::Touch;
use super::operation::Operation;
use block::Block;

/// Registers beyond those of live values: the stack pointer, pairs and quadruples that have to be aligned,
/// results of instructions that have not ended.
const OVERHEAD: u32 = 5;
/// The registers up to which an assembler reorders instructions to hide latency: as many threads as a
/// multiprocessor can hold have that many each.
const ROOM: u32 = 32;
/// Registers that are lost where four in a row, the first of them a multiple of four, are loaded or stored.
const QUADRUPLES: u32 = 4;
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
    /// Longs whose upper words are always zero, which no register has to hold.
    halves: Vec<u64>,
}

impl Registers {
    fn id(&self, touch: &Touch) -> usize {
        (if touch.is_long { self.words + touch.register } else { touch.register }) as usize
    }

    fn weight(&self, id: usize) -> u32 {
        if id < self.words as usize || has(&self.halves, id) { 1 } else { 2 }
    }
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
    let touches = &function.touches;
    let mut registers =
        Registers { words: counts.words, count: (counts.words + counts.longs) as usize, halves: Vec::new() };
    registers.halves = value::halves(code, touches, &registers);
    let free = value::free(code, touches, &registers);
    let blocks = block::blocks(code, index, touches, &registers);
    let kept = blocks.iter().map(|block| most(block, touches, &registers, &free)).max().unwrap_or(0);
    let mut ordered = 0;
    for (number, block) in block::regions(&blocks, touches).iter().enumerate() {
        if !block.calls && ordered < ROOM {
            ordered = ordered.max(if block.touches.len() > LONGEST {
                ROOM
            } else {
                let copies = block.copies(code, number, touches);
                schedule::most(code, block, touches, (&registers, &free), copies)
            });
        }
    }
    let most = kept.max(ordered.min(ROOM - OVERHEAD)) + OVERHEAD;
    let quadruples = if most <= ROOM - QUADRUPLES && value::has_quadruples(code, index) { QUADRUPLES } else { 0 };
    // Larger functions have registers to spare by then.
    let atomics = if most <= ROOM / 2 && value::has_results(code, touches) { ATOMICS } else { 0 };
    most + quadruples + atomics
}

fn has(set: &[u64], id: usize) -> bool {
    set[id / 64] >> (id % 64) & 1 == 1
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

    /// A loop that adds up numbers, with something in it and a step.
    fn sum(inside: &str, step: &str) -> u32 {
        registers(&format!(
            "ld.param.u32 %r9, [data]; mov.u32 %r1, %tid.x; mov.u32 %r2, 0; AGAIN: {inside} mul.wide.u32 %rd2, %r1, 4;
             add.s64 %rd3, %rd1, %rd2; ld.global.u32 %r3, [%rd3]; add.u32 %r2, %r2, %r3; add.u32 %r1, %r1, {step};
             setp.lt.u32 %p1, %r1, 1000; @%p1 bra AGAIN; st.global.u32 [%rd1], %r2;"
        ))
    }

    #[test]
    fn turns_of_a_loop_that_can_be_counted_are_live_together() {
        assert!(sum("", "32") > sum("", "%r9"));
        assert_eq!(sum(".pragma \"nounroll\";", "32"), sum("", "%r9"));
    }

    #[test]
    fn instructions_behind_short_branches_are_ordered_with_the_others() {
        let part = |i: u32, tail: &str| {
            format!(
                "@%p{} bra L{i}; ld.global.u32 %r{i}, [%rd1+{i}]; {tail} st.shared.u32 [%r50+{i}], %r{i}; L{i}:",
                i % 2
            )
        };
        let long: String = (60..70).map(|i| format!("xor.b32 %r{i}, %r50, {i}; ")).collect();
        let [short, long] = ["", &long].map(|tail| {
            let parts: String = (1..9).map(|i| part(i, tail)).collect();
            registers(&format!("mov.u32 %r50, %tid.x; {parts}"))
        });
        assert!(short > long, "{short} {long}");
    }

    #[test]
    fn zeros_above_32_bits_take_no_register_and_16_bytes_take_more() {
        let wide = |cast: &str| {
            let values: String =
                (2..9).map(|i| format!("ld.volatile.global.{cast} %rd{i}, [%rd1+{}];", 8 * i)).collect();
            let stores: String = (2..9).map(|i| format!("st.volatile.global.u64 [%rd1+{}], %rd{i};", 8 * i)).collect();
            registers(&format!("{values}{stores}"))
        };
        assert_eq!(wide("u64"), wide("u32") + 7);
        let vector = |kind: &str| registers(&format!("ld.global.{kind} [%rd1]; st.global.u32 [%rd1], %r1;"));
        assert!(vector("v4.u32 {%r1, %r2, %r3, %r4},") >= vector("v2.u32 {%r1, %r2},") + 4);
    }

    #[test]
    fn integers_that_all_threads_have_alike_are_in_a_file_of_their_own() {
        let sums = |of: &str| {
            let values: String = (2..40).map(|i| format!("mad.lo.u32 %r{i}, %r1, {i}, {i};")).collect();
            let stores: String = (2..40).map(|i| format!("st.volatile.global.u32 [%rd1], %r{i};")).collect();
            registers(&format!("mov.u32 %r1, {of}; {values} bar.sync 0; {stores}"))
        };
        assert!(sums("%ctaid.x") <= 12, "{}", sums("%ctaid.x"));
        assert!(sums("%tid.x") > 38, "{}", sums("%tid.x"));
    }

    #[test]
    fn calls_take_the_registers_of_an_abi() {
        assert_eq!(registers("mov.u32 %r1, 5; call (%r2), twice, (%r1);"), 24);
        assert_eq!(registers(""), 8);
    }
}
