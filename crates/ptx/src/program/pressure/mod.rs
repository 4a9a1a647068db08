//! Registers of a kernel, estimated from the values that are live at the same time.
//!
//! An assembler decides how many registers a kernel has. The estimate counts what it has to keep: the words
//! of all values that are written before and read after an instruction, where the most are. Values that every
//! thread has alike (arguments, constants, most special registers, and integers that are computed from them
//! alone) are left out, since hardware reads them from constant memory or has a file of its own for them.
//!
//! Then it orders instructions as an assembler does to hide latency: with those behind short branches, which
//! run under a predicate, and with several turns of a loop at once. In that order, registers are used again
//! only after a while where instructions read them late, and words that are stored have odd ones.

mod block;
mod diverge;
mod fold;
mod instruction;
mod schedule;
mod taken;
mod value;

use std::collections::{HashMap, HashSet};

use super::Code;
use super::constants::Constants;
use super::function::Touch;
use super::operation::Operation;
use block::Block;
use fold::Folded;
use taken::Kind;

/// Registers beyond those of live values: the stack pointer, two that hardware needs for itself, and one that
/// is lost on average because pairs have to be aligned.
const OVERHEAD: u32 = 4;
/// The registers up to which an assembler reorders instructions to hide latency: as many threads as a
/// multiprocessor can hold have that many each.
const ROOM: u32 = 32;
/// Registers that are lost where four in a row, the first of them a multiple of four, are loaded or stored.
const QUADRUPLES: u32 = 3;
/// The fewest registers of a kernel, and of one that calls functions, which follow a convention in code that
/// can be linked.
const LEAST: u32 = 8;
const LEAST_WITH_CALLS: u32 = 24;
/// Registers that a function may write without restoring them: values that are live across calls are in
/// others.
const WRITTEN_BY_CALLS: u32 = 16;
/// The longest block that is reordered; in longer ones there is enough to fill the room.
const LONGEST: usize = 4096;

/// A function's registers, numbered through: words first.
struct Registers {
    words: u32,
    count: usize,
    kinds: Vec<Kind>,
    /// Operands that all threads have alike, but that some instruction needs in registers of the thread: its
    /// number, and the operand.
    fetched: HashSet<(u32, fold::Register)>,
    /// Constants that an instruction needs in registers.
    immediates: HashMap<u32, Vec<Kind>>,
}

impl Registers {
    fn id(&self, touch: &Touch) -> usize {
        (if touch.is_long { self.words + touch.register } else { touch.register }) as usize
    }

    fn weight(&self, id: usize) -> u32 {
        self.kinds[id].words()
    }

    fn is_fetched(&self, touch: &Touch) -> bool {
        !touch.is_write && self.fetched.contains(&(touch.pc, fold::register(touch)))
    }
}

/// The registers that a thread of a kernel needs, with all functions that it is known to call.
pub(crate) fn registers(code: &Code, constants: &Constants, index: usize) -> u32 {
    let (mut reached, mut waiting, mut most) = (vec![false; code.functions.len()], vec![index], LEAST);
    while let Some(index) = waiting.pop() {
        if std::mem::replace(&mut reached[index], true) {
            continue;
        }
        let function = &code.functions[index];
        let mut calls = false;
        for instruction in &code.instructions[function.start as usize..function.end as usize] {
            calls |= matches!(instruction.operation, Operation::Call | Operation::CallIndirect)
                || instruction::is_call(instruction.operation);
            if instruction.operation == Operation::Call {
                let callee = code.calls[instruction.slots[0].value() as usize].function;
                waiting.extend(callee.map(|callee| callee as usize));
            }
        }
        most = most.max(own(code, constants, index));
        if calls {
            most = most.max(LEAST_WITH_CALLS);
        }
    }
    most
}

/// The registers of one function.
fn own(code: &Code, constants: &Constants, index: usize) -> u32 {
    let function = &code.functions[index];
    let folded = fold::fold(code, &function.touches);
    let registers = value::registers(code, constants, function, &folded);
    let Folded { touches, .. } = folded;
    let blocks = block::blocks(code, index, &touches, &registers);
    let kept = blocks.iter().map(|block| most(code, block, &touches, &registers)).max().unwrap_or(0);
    let mut ordered = 0;
    for (number, block) in block::regions(code, &blocks, &touches).iter().enumerate() {
        if !block.calls && ordered < ROOM {
            ordered = ordered.max(if block.touches.len() > LONGEST {
                ROOM
            } else {
                let copies = block.copies(code, number, &touches);
                schedule::most(code, block, &touches, &registers, copies)
            });
        }
    }
    let most = kept.max(ordered.min(ROOM - OVERHEAD)) + OVERHEAD;
    let quadruples = if most <= ROOM - QUADRUPLES && value::has_quadruples(code, index) { QUADRUPLES } else { 0 };
    most + quadruples
}

fn has(set: &[u64], id: usize) -> bool {
    set[id / 64] >> (id % 64) & 1 == 1
}

/// The most words that are live within a block.
fn most(code: &Code, block: &Block, touches: &[Touch], registers: &Registers) -> u32 {
    let mut live = block.live.clone();
    let weight = |id: usize| registers.weight(id);
    let mut now: u32 = (0..registers.count).filter(|id| has(&live, *id)).map(weight).sum();
    let mut most = now;
    for touches in touches[block.touches.clone()].chunk_by(|one, other| one.pc == other.pc).rev() {
        for touch in touches.iter().rev() {
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
        if instruction::is_call(code.instructions[touches[0].pc as usize].operation) {
            most = most.max(now + WRITTEN_BY_CALLS - OVERHEAD);
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
        assert_eq!(registers(&format!("{loads}{stores}")), 83);
    }

    /// Words that are loaded, changed by some instructions, and stored.
    fn one_by_one(count: u32, changes: usize) -> u32 {
        let one = |i: u32| {
            let changes = format!("xor.b32 %r{i}, %r{i}, 5; add.u32 %r{i}, %r{i}, %r{i};").repeat(changes);
            format!("ld.volatile.global.u32 %r{i}, [%rd1]; {changes} st.volatile.global.u32 [%rd1], %r{i};")
        };
        registers(&(1..=count).map(one).collect::<String>())
    }

    #[test]
    fn registers_that_are_read_late_are_not_written_again_at_once() {
        // The assembler takes 18, too.
        assert_eq!(one_by_one(79, 0), 18);
        assert_eq!(one_by_one(1, 0), 8);
        assert!(one_by_one(79, 4) < one_by_one(79, 1), "{}, {}", one_by_one(79, 4), one_by_one(79, 1));
        assert!(one_by_one(79, 1) < 18, "{}", one_by_one(79, 1));
    }

    #[test]
    fn values_are_live_around_a_loop() {
        let loads: String = (1..20).map(|i| format!("ld.volatile.global.u32 %r{i}, [%rd1+{}];", 4 * i)).collect();
        let sum: String = (1..20).map(|i| format!("add.u32 %r50, %r50, %r{i};")).collect();
        let text = format!(
            "{loads} mov.u32 %r50, 0; AGAIN: {sum} setp.ne.u32 %p1, %r50, 77; @%p1 bra AGAIN; st.global.u32 [%rd1], %r50;"
        );
        // The assembler takes as many.
        assert_eq!(registers(&text), 26);
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
            let stores: String = (2..40).map(|i| format!("st.volatile.shared.u32 [%r{i}], 0;")).collect();
            registers(&format!("mov.u32 %r1, {of}; {values} bar.sync 0; {stores}"))
        };
        assert!(sums("%ctaid.x") <= 12, "{}", sums("%ctaid.x"));
        assert!(sums("%tid.x") > 38, "{}", sums("%tid.x"));
    }

    #[test]
    fn counters_of_loops_that_threads_leave_one_by_one_are_their_own() {
        let counted = |bound: &str| {
            registers(&format!(
                "mov.u32 %r1, {bound}; mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0;
                 AGAIN: add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 2; add.u32 %r4, %r4, 3; add.u32 %r5, %r5, 4;
                 bar.sync 0; setp.lt.u32 %p1, %r2, %r1; @%p1 bra AGAIN;
                 st.shared.v4.u32 [%r5], {{%r2, %r3, %r4, %r5}};"
            ))
        };
        assert!(counted("%tid.x") >= counted("%ctaid.x") + 4, "{}, {}", counted("%tid.x"), counted("%ctaid.x"));
    }

    #[test]
    fn moves_offsets_and_scaled_indexes_take_no_registers() {
        let address = |offset: &str| {
            registers(&format!(
                "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; {offset}
                 ld.volatile.global.u32 %r3, [%rd3]; st.volatile.global.u32 [%rd5], %r3;"
            ))
        };
        assert_eq!(address("add.s64 %rd4, %rd3, 8; mov.b64 %rd5, %rd4;"), address("mov.b64 %rd5, %rd3;"));
    }

    #[test]
    fn instructions_that_hardware_lacks_take_more() {
        let loaded = |body: &str| {
            registers(&format!(
                "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; add.s64 %rd3, %rd1, %rd2;
                 ld.global.u64 %rd4, [%rd3]; ld.global.u32 %r2, [%rd3]; {body}
                 st.global.u64 [%rd3], %rd5; st.global.u32 [%rd3], %r3;"
            ))
        };
        assert_eq!(loaded("div.u64 %rd5, %rd4, 10; mov.u32 %r3, %r2;"), 24);
        let words = ["div", "and"].map(|name| {
            let kind = if name == "div" { "u32" } else { "b32" };
            loaded(&format!("mov.b64 %rd5, %rd4; {name}.{kind} %r3, %r2, %r1;"))
        });
        assert!(words[0] >= words[1] + 3, "{words:?}");
        let atomic = |address: &str| loaded(&format!("mov.b64 %rd5, %rd4; atom.global.add.u32 %r3, [{address}], %r2;"));
        assert!(atomic("%rd1") >= atomic("%rd3") + 4, "{}, {}", atomic("%rd1"), atomic("%rd3"));
    }

    #[test]
    fn calls_take_the_registers_of_an_abi() {
        assert_eq!(registers("mov.u32 %r1, 5; call (%r2), twice, (%r1);"), 24);
        assert_eq!(registers(""), 8);
    }
}
