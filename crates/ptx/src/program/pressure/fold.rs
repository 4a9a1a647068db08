//! Folded PTX instructions: an assembler makes them part of others, so that their results need no registers.

use std::collections::{HashMap, HashSet};

use crate::program::Code;
use crate::program::compute::Compute;
use crate::program::function::Touch;
use crate::program::operation::{Instruction, Operation};
use crate::program::slot::{Guard, Slot};

/// A register: its number, and `true` for a long.
pub(super) type Register = (u32, bool);

pub(super) fn register(touch: &Touch) -> Register {
    (touch.register, touch.is_long)
}

/// Touches of a function without the instructions that are folded.
pub(super) struct Folded {
    pub(super) touches: Vec<Touch>,
    /// Sums of an address and a scaled index: one instruction, which has a constant for an operand already,
    /// and takes the address from registers.
    pub(super) sums: HashSet<u32>,
    /// Registers that are addresses of accesses.
    pub(super) addresses: HashSet<Register>,
}

/// Where registers of a function are written and read.
#[derive(Default)]
struct Uses {
    writes: HashMap<Register, Vec<u32>>,
    reads: HashMap<Register, Vec<u32>>,
}

impl Uses {
    fn of(touches: &[Touch]) -> Uses {
        let mut uses = Uses::default();
        for touch in touches {
            let pcs = if touch.is_write { &mut uses.writes } else { &mut uses.reads };
            pcs.entry(register(touch)).or_default().push(touch.pc);
        }
        uses
    }

    fn readers(&self, register: Register) -> &[u32] {
        self.reads.get(&register).map_or(&[], Vec::as_slice)
    }

    fn writers(&self, register: Register) -> &[u32] {
        self.writes.get(&register).map_or(&[], Vec::as_slice)
    }
}

/// Folds moves into readers of their results, constants that are added to addresses into accesses, and
/// products by a constant into sums.
pub(super) fn fold(code: &Code, touches: &[Touch]) -> Folded {
    let uses = Uses::of(touches);
    let mut source_of: HashMap<Register, Register> = HashMap::new();
    let (mut dropped, mut sums) = (HashSet::new(), HashSet::new());
    for touches in touches.chunk_by(|one, other| one.pc == other.pc) {
        // Reads are first.
        let [read, write] = touches else { continue };
        let (from, to) = (register(read), register(write));
        if read.is_write || !write.is_write || from == to || uses.writers(to).len() != 1 {
            continue;
        }
        let instruction = &code.instructions[write.pc as usize];
        let Operation::Compute(compute) = instruction.operation else { continue };
        if instruction.guard != Guard::NONE {
            continue;
        }
        let [_, _, constant, ..] = instruction.slots;
        let readers = uses.readers(to);
        let is_kept = |reader: &u32| {
            let is_between = |pc: &u32| (write.pc..*reader).contains(pc);
            *reader > write.pc && !uses.writers(from).iter().any(is_between)
        };
        let is_folded = match compute {
            Compute::Move | Compute::MoveLong => uses.writers(from).len() <= 1,
            Compute::Add(_) if constant.is_constant() => {
                readers.iter().all(|reader| is_kept(reader) && is_address(code, *reader, to))
            }
            Compute::MultiplyWide(_) | Compute::ShiftLeft(_) if constant.is_constant() => {
                readers.iter().all(|reader| is_kept(reader) && is_sum(&code.instructions[*reader as usize]))
            }
            _ => false,
        };
        if is_folded {
            dropped.insert(write.pc);
            source_of.insert(to, source_of.get(&from).copied().unwrap_or(from));
            if matches!(compute, Compute::MultiplyWide(_)) {
                sums.extend(readers);
            }
        }
    }
    let folded = |touch: &Touch| {
        let from = if touch.is_write { None } else { source_of.get(&register(touch)) };
        from.map_or(*touch, |&(register, is_long)| Touch { register, is_long, ..*touch })
    };
    let is_it = |touch: &&Touch| !touch.is_write && is_address(code, touch.pc, register(touch));
    let addresses = touches.iter().filter(is_it).map(|touch| register(&folded(touch))).collect();
    let touches = touches.iter().filter(|touch| !dropped.contains(&touch.pc)).map(folded).collect();
    Folded { touches, sums, addresses }
}

/// `true` if an instruction uses a register as its address alone.
fn is_address(code: &Code, pc: u32, (number, is_long): Register) -> bool {
    let Instruction { operation, slots, .. } = &code.instructions[pc as usize];
    let is_it = |slot: &Slot| *slot == Slot::register(number);
    match operation {
        Operation::Load(form) => form.wide == is_long && is_it(&slots[4]),
        Operation::Store(form) => {
            let is_data = form.long == is_long && slots[..4].iter().any(is_it);
            form.wide == is_long && is_it(&slots[4]) && !is_data
        }
        Operation::Atomic(form) => {
            let is_data = (form.scalar.bytes() == 8) == is_long && slots[3..5].iter().any(is_it);
            form.wide == is_long && is_it(&slots[1]) && !is_data
        }
        _ => false,
    }
}

fn is_sum(instruction: &Instruction) -> bool {
    let is_add = matches!(instruction.operation, Operation::Compute(Compute::Add(_)));
    let [_, a, b, ..] = instruction.slots;
    is_add && instruction.guard == Guard::NONE && a != b && !a.is_constant() && !b.is_constant()
}
