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
//!
//! All of a program is assembled at once, as a driver does it: a function uses the registers that its callers
//! leave, unless it can only be called by the convention.

mod block;
mod diverge;
mod fold;
mod hoist;
mod instruction;
mod schedule;
mod taken;
mod value;

use std::collections::{HashMap, HashSet};

use super::Code;
use super::constants::Constants;
use super::function::{Passed, Touch};
use super::operation::Instruction;
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
/// The fewest registers of a kernel, and of one with calls that follow a convention: of functions that are
/// not known, not in the program, or call themselves.
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

    /// The live words that are not in registers of the thread. Across a call they are: a function may use the
    /// others.
    fn shared_words(&self, live: &[u64]) -> u32 {
        (0..self.words as usize).filter(|id| has(live, *id) && self.weight(*id) == 0).count() as u32
    }

    fn is_fetched(&self, touch: &Touch) -> bool {
        !touch.is_write && self.fetched.contains(&(touch.pc, fold::register(touch)))
    }
}

/// The registers that a thread of a kernel needs, with all functions that it is known to call.
pub(crate) fn registers(code: &Code, constants: &Constants, index: usize) -> u32 {
    Estimate { code, constants, live: HashMap::new() }.with_calls(index)
}

/// Registers of functions, as far as they are estimated.
struct Estimate<'c> {
    code: &'c Code,
    constants: &'c Constants,
    /// Words that are live at most, by function.
    live: HashMap<usize, u32>,
}

impl Estimate<'_> {
    fn with_calls(&mut self, index: usize) -> u32 {
        let mut reached = vec![false; self.code.functions.len()];
        let (mut most, mut calls) = (LEAST, false);
        // A function comes behind those that it calls; with a list, because chains of calls may be long.
        let mut waiting = vec![(index, false)];
        while let Some((index, is_next)) = waiting.pop() {
            if is_next {
                most = most.max(self.own(index));
            } else if !std::mem::replace(&mut reached[index], true) {
                calls |=
                    callees(self.code, index).any(|callee| callee.is_none_or(|callee| is_apart(self.code, callee)));
                waiting.push((index, true));
                waiting.extend(callees(self.code, index).flatten().map(|callee| (callee, false)));
            }
        }
        if calls { most.max(LEAST_WITH_CALLS) } else { most }
    }

    /// The registers of one function, with the functions that are assembled with it.
    fn own(&mut self, index: usize) -> u32 {
        let Self { code, constants, .. } = *self;
        let function = &code.functions[index];
        let folded = fold::fold(code, &function.touches);
        let registers = value::registers(code, constants, function, &folded);
        let Folded { mut touches, .. } = folded;
        hoist::hoist(code, function, &registers, &mut touches);
        let blocks = block::blocks(code, index, &touches, &registers);
        let kept = blocks.iter().map(|block| self.most(block, &touches, &registers)).max().unwrap_or(0);
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
        self.live.insert(index, kept);
        most + quadruples
    }

    /// The most words that are live within a block.
    fn most(&self, block: &Block, touches: &[Touch], registers: &Registers) -> u32 {
        let mut live = block.live.clone();
        let weight = |id: usize| registers.weight(id);
        let mut now: u32 = (0..registers.count).filter(|id| has(&live, *id)).map(weight).sum();
        let mut most = now;
        let mut calls = self.parts(block);
        for touches in touches[block.touches.clone()].chunk_by(|one, other| one.pc == other.pc).rev() {
            while let Some((_, callee)) = calls.pop_if(|(pc, _)| *pc >= touches[0].pc) {
                let shared = registers.shared_words(&live);
                let inside = self.live.get(&callee).copied().unwrap_or(0);
                most = most.max(now + shared + inside.max(words_passed(self.code, callee)));
            }
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
            if instruction::is_call(self.code.instructions[touches[0].pc as usize].operation) {
                most = most.max(now + WRITTEN_BY_CALLS - OVERHEAD);
            }
        }
        most
    }

    /// The calls in a block of functions that are assembled with it.
    fn parts(&self, block: &Block) -> Vec<(u32, usize)> {
        let at = |pc| Some((pc, callee(self.code, &self.code.instructions[pc as usize])??));
        block.instructions.clone().filter_map(at).filter(|(_, callee)| !is_apart(self.code, *callee)).collect()
    }
}

/// The function that an instruction calls, if it calls one; `Some(None)` if that is not known, or has no body
/// in the program.
fn callee(code: &Code, instruction: &Instruction) -> Option<Option<usize>> {
    Some(code.callee(instruction)?.function().filter(|callee| code.functions[*callee].end > 0))
}

fn callees(code: &Code, index: usize) -> impl Iterator<Item = Option<usize>> {
    let function = &code.functions[index];
    let instructions = &code.instructions[function.start as usize..function.end as usize];
    instructions.iter().filter_map(|instruction| callee(code, instruction))
}

/// `true` if calls of a function follow the convention: if it may be called again while it runs, and in code
/// for a debugger. Other functions are assembled with their callers, and use the registers that these leave.
fn is_apart(code: &Code, index: usize) -> bool {
    !code.functions[index].ends || code.header.target.debug
}

/// The words of a function's arguments, all of which are in registers when it is called.
fn words_passed(code: &Code, index: usize) -> u32 {
    let words = |passed: &Passed| match passed {
        Passed::Frame { size, .. } => size.div_ceil(4),
        Passed::Word(_) => 1,
        Passed::Long(_) => 2,
        Passed::Pair(_) => 4,
        Passed::Predicate(_) => 0,
    };
    code.functions[index].parameters.iter().map(words).sum()
}

fn has(set: &[u64], id: usize) -> bool {
    set[id / 64] >> (id % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use crate::program::Program;

    fn registers(body: &str) -> u32 {
        let text = format!(
            ".version 8.7 .target sm_90 .address_size 64
             .func (.reg .b32 back) twice(.reg .b32 from) {{ add.u32 back, from, from; ret; }}
             .func (.reg .b32 back) again(.reg .b32 from) {{ call (back), again, (from); ret; }}
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
    fn addresses_of_shared_variables_are_live_in_loops_that_only_some_threads_come_to() {
        let walk = |address: fn(u32) -> String, branch: &str| {
            let variables: String = (10..18).map(|i| format!(".shared .b32 v{i}; ")).collect();
            let one = |i: u32| {
                let address = address(i);
                format!("mov.u32 %r{i}, {address}; add.u32 %r2, %r{i}, %r1; ld.volatile.shared.u32 %r1, [%r2];")
            };
            let steps: String = (10..18).map(one).collect();
            registers(&format!(
                "{variables} mov.u32 %r1, %tid.x; setp.gt.u32 %p2, %r1, 255; {branch}
                 AGAIN: {steps} setp.lt.u32 %p1, %r1, 1000; @%p1 bra AGAIN;
                 DONE: st.global.u32 [%rd1], %r1;"
            ))
        };
        // The assembler takes 8, 10, 8 and 20.
        assert_eq!(walk(|i| (4 * i).to_string(), ""), 8);
        assert_eq!(walk(|i| (4 * i).to_string(), "@%p2 bra DONE;"), 8);
        assert_eq!(walk(|i| format!("v{i}"), ""), 8);
        assert_eq!(walk(|i| format!("v{i}"), "@%p2 bra DONE;"), 14);
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
        // The assembler calls a function of its own, and takes 18.
        assert_eq!(loaded("div.u64 %rd5, %rd4, 10; mov.u32 %r3, %r2;"), 21);
        let words = ["div", "and"].map(|name| {
            let kind = if name == "div" { "u32" } else { "b32" };
            loaded(&format!("mov.b64 %rd5, %rd4; {name}.{kind} %r3, %r2, %r1;"))
        });
        assert!(words[0] >= words[1] + 3, "{words:?}");
        let atomic = |address: &str| loaded(&format!("mov.b64 %rd5, %rd4; atom.global.add.u32 %r3, [{address}], %r2;"));
        assert!(atomic("%rd1") >= atomic("%rd3") + 4, "{}, {}", atomic("%rd1"), atomic("%rd3"));
    }

    #[test]
    fn calls_of_functions_that_call_themselves_follow_a_convention() {
        assert_eq!(registers("mov.u32 %r1, 5; call (%r2), again, (%r1);"), 24);
        assert_eq!(registers("mov.u32 %r1, 5; call (%r2), twice, (%r1);"), 8);
        assert_eq!(registers(""), 8);
    }

    #[test]
    fn chains_of_calls_may_be_long() {
        let link = |i: u32| format!(".func (.reg .b32 a) f{}(.reg .b32 b) {{ call (a), f{i}, (b); ret; }}\n", i + 1);
        let chain: String = (0..4000).map(link).collect();
        let text = format!(
            ".version 8.7 .target sm_90 .address_size 64
             .func (.reg .b32 a) f0(.reg .b32 b) {{ add.u32 a, b, b; ret; }}
             {chain}
             .visible .entry kernel() {{ .reg .b32 %r<3>; mov.u32 %r1, 5; call (%r2), f4000, (%r1); ret; }}"
        );
        let program = Program::from_text(&text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(program.kernel("kernel").expect("it was just written").registers(), 8);
    }
}
