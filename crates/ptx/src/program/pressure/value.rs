//! Values that need no register, or fewer than their bits, and those that need certain ones.

use std::collections::{HashMap, HashSet};

use super::diverge;
use super::fold::{self, Folded, Register};
use super::instruction::is_global;
use super::taken::Kind;
use super::{Registers, has};
use crate::program::Code;
use crate::program::atomic::Change;
use crate::program::compute::{Cast, Compute};
use crate::program::constants::Constants;
use crate::program::function::{Function, Touch};
use crate::program::operation::{Instruction, Operation, Special};
use crate::program::slot::{Guard, Slot};
use crate::program::space::Space;

/// The registers of a function.
pub(super) fn registers(code: &Code, constants: &Constants, function: &Function, folded: &Folded) -> Registers {
    let counts = function.counts;
    let touches = &folded.touches[..];
    let count = (counts.words + counts.longs) as usize;
    let mut registers = Registers {
        words: counts.words,
        count,
        kinds: Vec::new(),
        fetched: HashSet::new(),
        immediates: HashMap::new(),
    };
    let mut halves = halves(code, touches, &registers);
    let lower = lower(code, constants, touches, &registers);
    halves.iter_mut().zip(lower).for_each(|(halves, lower)| *halves |= lower);
    let free = free(code, function, touches, &registers);
    let odd = odd(code, folded, &registers);
    let kind = |id: usize| {
        if has(&free, id) {
            Kind::Free
        } else if id >= counts.words as usize && !has(&halves, id) {
            Kind::Pair
        } else if has(&odd, id) {
            Kind::Odd
        } else {
            Kind::Word
        }
    };
    registers.kinds = (0..count).map(kind).collect();
    registers.fetched = fetched(code, constants, folded, &registers);
    registers.immediates = immediates(code, constants, touches);
    registers
}

/// `true` for the constant 0.
fn is_zero(constants: &Constants, slot: Slot, is_long: bool) -> bool {
    let word = || constants.words.get(slot.index()).map(|row| u64::from(row.0[0]));
    let long = || constants.longs.get(slot.index()).map(|row| row.0[0]);
    slot.is_constant() && (if is_long { long() } else { word() }) == Some(0)
}

/// Constants that instructions take from registers: values, beside zero, of accesses to global memory.
fn immediates(code: &Code, constants: &Constants, touches: &[Touch]) -> HashMap<u32, Vec<Kind>> {
    let mut immediates: HashMap<u32, Vec<Kind>> = HashMap::new();
    for pc in touches.chunk_by(|one, other| one.pc == other.pc).map(|touches| touches[0].pc) {
        let Instruction { operation, slots, .. } = &code.instructions[pc as usize];
        let (values, is_long) = match operation {
            Operation::Store(form) => (&slots[..usize::from(form.count)], form.long),
            Operation::Atomic(form) if form.change == Change::CompareAndSwap => {
                (&slots[3..5], form.scalar.bytes() == 8)
            }
            Operation::Atomic(form) => (&slots[3..4], form.scalar.bytes() == 8),
            _ => continue,
        };
        if !is_global(*operation) {
            continue;
        }
        for slot in values.iter().filter(|slot| slot.is_constant()) {
            if !is_zero(constants, *slot, is_long) {
                immediates.entry(pc).or_default().push(if is_long { Kind::Pair } else { Kind::Odd });
            }
        }
    }
    immediates
}

/// The longs that only ever get values of 32 bits without a sign.
fn halves(code: &Code, touches: &[Touch], registers: &Registers) -> Vec<u64> {
    let row = registers.count.div_ceil(64);
    let (mut halves, mut others) = (vec![0; row], vec![0_u64; row]);
    for touch in touches.iter().filter(|touch| touch.is_write && touch.is_long) {
        let id = registers.id(touch);
        let is_half = match code.instructions[touch.pc as usize].operation {
            Operation::Compute(Compute::Cast(Cast::ExtendLong { signed, .. })) => !signed,
            Operation::Load(form) => form.long && form.bytes < 8 && !form.signed,
            _ => false,
        };
        let set = if is_half { &mut halves } else { &mut others };
        set[id / 64] |= 1 << (id % 64);
    }
    halves.iter().zip(others).map(|(halves, others)| halves & !others).collect()
}

/// The longs of which nothing reads the upper words, so that nothing computes them.
fn lower(code: &Code, constants: &Constants, touches: &[Touch], registers: &Registers) -> Vec<u64> {
    use Compute::{Add, AndLong, Multiply, NotLong, OrLong, ShiftLeft, Subtract, XorLong};
    let mut lower = vec![0; registers.count.div_ceil(64)];
    let written: HashMap<u32, usize> =
        touches.iter().filter(|touch| touch.is_write).map(|touch| (touch.pc, registers.id(touch))).collect();
    for touch in touches.iter().filter(|touch| touch.is_write && touch.is_long) {
        let id = registers.id(touch);
        if !matches!(code.instructions[touch.pc as usize].operation, Operation::Load(_) | Operation::Atomic(_)) {
            lower[id / 64] |= 1 << (id % 64);
        }
    }
    // Until no value is left of which something reads more; backwards, because values are read behind their
    // writes.
    loop {
        let before = lower.clone();
        for touch in touches.iter().rev().filter(|touch| !touch.is_write && touch.is_long) {
            let instruction = &code.instructions[touch.pc as usize];
            let Operation::Compute(compute) = instruction.operation else {
                let id = registers.id(touch);
                lower[id / 64] &= !(1 << (id % 64));
                continue;
            };
            let mask = instruction.slots[1..3].iter().find(|slot| slot.is_constant());
            let mask = mask.and_then(|slot| constants.longs.get(slot.index())).map(|row| row.0[0]);
            let is_lower = match compute {
                Compute::Cast(Cast::Cut { .. }) => true,
                AndLong if mask.is_some_and(|mask| mask <= u64::from(u32::MAX)) => true,
                Add(_) | Subtract(_) | Multiply(_) | ShiftLeft(_) | AndLong | OrLong | XorLong | NotLong => {
                    written.get(&touch.pc).is_some_and(|id| has(&lower, *id))
                }
                _ => false,
            };
            if !is_lower {
                let id = registers.id(touch);
                lower[id / 64] &= !(1 << (id % 64));
            }
        }
        if lower == before {
            return lower;
        }
    }
}

/// Words that are read together with a pair: they are stored in global memory, alone, or scaled and added to
/// an address. The pair begins with an even register, and the word has an odd one.
fn odd(code: &Code, Folded { touches, sums, .. }: &Folded, registers: &Registers) -> Vec<u64> {
    let mut odd = vec![0; registers.count.div_ceil(64)];
    for touch in touches.iter().filter(|touch| !touch.is_write && !touch.is_long) {
        let operation = code.instructions[touch.pc as usize].operation;
        let is_alone = match operation {
            Operation::Store(form) => form.wide && form.count == 1,
            Operation::Atomic(form) => form.wide,
            _ => false,
        };
        if is_alone && is_global(operation) || sums.contains(&touch.pc) {
            let id = registers.id(touch);
            odd[id / 64] |= 1 << (id % 64);
        }
    }
    // Those that come with others are in a row with these.
    for touches in touches.chunk_by(|one, other| one.pc == other.pc) {
        if touches.iter().filter(|touch| touch.is_write).count() > 1 {
            let ids = touches.iter().filter(|touch| touch.is_write).map(|touch| registers.id(touch));
            ids.for_each(|id| odd[id / 64] &= !(1 << (id % 64)));
        }
    }
    odd
}

/// Operands that all threads have alike, where an instruction takes them from registers of the thread alone:
/// addresses and values of accesses to global memory, and addresses to which a scaled index is added.
fn fetched(code: &Code, constants: &Constants, folded: &Folded, registers: &Registers) -> HashSet<(u32, Register)> {
    let Folded { touches, sums, addresses } = folded;
    let is_free = |touch: &Touch| registers.kinds[registers.id(touch)] == Kind::Free;
    let mut zeros = HashSet::new();
    for touch in touches.iter().filter(|touch| touch.is_write) {
        let instruction = &code.instructions[touch.pc as usize];
        let is_move = matches!(instruction.operation, Operation::Compute(Compute::Move | Compute::MoveLong));
        if is_move && is_zero(constants, instruction.slots[1], touch.is_long) {
            zeros.insert(fold::register(touch));
        }
    }
    let mut fetched = HashSet::new();
    for touches in touches.chunk_by(|one, other| one.pc == other.pc) {
        let pc = touches[0].pc;
        let is_sum = sums.contains(&pc) && touches.iter().any(|touch| !touch.is_write && !is_free(touch));
        let is_access = is_global(code.instructions[pc as usize].operation);
        for touch in touches.iter().filter(|touch| !touch.is_write && is_free(touch)) {
            let register = fold::register(touch);
            // There is a register for zero; addresses of variables are not known yet.
            let is_zero = zeros.contains(&register) && !addresses.contains(&register);
            if is_sum || is_access && !is_zero {
                fetched.insert((pc, register));
            }
        }
    }
    fetched
}

/// The registers whose values can be had again at no cost, or are the same for all threads of a block:
/// hardware has a file of its own for those.
fn free(code: &Code, function: &Function, touches: &[Touch], registers: &Registers) -> Vec<u64> {
    let mut free = vec![0; registers.count.div_ceil(64)];
    let of_one = |touches: &[Touch]| touches.iter().partition::<Vec<_>, _>(|touch| touch.is_write);
    let instructions: Vec<_> = touches.chunk_by(|one, other| one.pc == other.pc).map(of_one).collect();
    let mut others = vec![0_u64; free.len()];
    for (writes, _) in &instructions {
        for touch in writes {
            let id = registers.id(touch);
            let set = if is_uniform(code, touch.pc) { &mut free } else { &mut others };
            set[id / 64] |= 1 << (id % 64);
        }
    }
    free.iter_mut().zip(others).for_each(|(free, others)| *free &= !others);
    let reads = diverge::Reads::of(touches, registers);
    // Until no value is left that comes from one of the threads' own.
    loop {
        let before = free.clone();
        // Hardware computes for a whole warp only where all of its threads are together.
        let regions = diverge::regions(code, function, &reads, &free);
        let divergent = diverge::in_ranges(function, regions.into_iter().map(|region| region.between));
        for touch in instructions.iter().flat_map(|(writes, _)| writes) {
            let id = registers.id(touch);
            if divergent[(touch.pc - function.start) as usize] {
                free[id / 64] &= !(1 << (id % 64));
            }
        }
        // Both ways: in a loop, values may go from an instruction to those before.
        for (writes, reads) in instructions.iter().chain(instructions.iter().rev()) {
            if reads.iter().any(|touch| !has(&free, registers.id(touch))) {
                writes.iter().map(|touch| registers.id(touch)).for_each(|id| free[id / 64] &= !(1 << (id % 64)));
            }
        }
        if free == before {
            return free;
        }
    }
}

/// `true` for an instruction that gives all threads the same if its sources do, and that a warp can carry out
/// for all of them.
fn is_uniform(code: &Code, pc: u32) -> bool {
    use Compute::{
        Add, And, AndLong, Cast as Casts, Move, MoveLong, Multiply, MultiplyAdd, MultiplyWide, Negate, Not, Or, OrLong,
        ShiftLeft, ShiftRight, Subtract, Table, Xor,
    };
    let instruction = &code.instructions[pc as usize];
    let is_guarded = instruction.guard != Guard::NONE;
    match instruction.operation {
        Operation::Load(form) => form.space == Space::Argument || form.constant,
        Operation::Special(special) => is_shared(special),
        Operation::Compute(compute) => {
            let is_integer = matches!(
                compute,
                Add(_)
                    | Subtract(_)
                    | Multiply(_)
                    | MultiplyWide(_)
                    | MultiplyAdd(_)
                    | Negate(_)
                    | ShiftLeft(_)
                    | ShiftRight(_)
                    | And
                    | AndLong
                    | Or
                    | OrLong
                    | Xor
                    | Not
                    | Table(_)
                    | Move
                    | MoveLong
                    | Casts(Cast::ExtendLong { .. } | Cast::Cut { .. } | Cast::Extend { .. })
            );
            is_integer && !is_guarded
        }
        _ => false,
    }
}

/// `true` for special registers that lie in constant memory, or that a warp can read for all its threads.
fn is_shared(special: Special) -> bool {
    use Special::{Block, BlockSize, DynamicBase, DynamicShared, Environment, GridSize, TotalShared, WarpSize};
    matches!(
        special,
        Block(_) | BlockSize(_) | GridSize(_) | WarpSize | DynamicBase | DynamicShared | TotalShared | Environment(_)
    )
}

/// `true` if 16 bytes are loaded or stored at once.
pub(super) fn has_quadruples(code: &Code, index: usize) -> bool {
    let function = &code.functions[index];
    code.instructions[function.start as usize..function.end as usize].iter().any(|instruction| {
        matches!(instruction.operation, Operation::Load(form) | Operation::Store(form)
            if form.space != Space::Argument && form.bytes * form.count == 16)
    })
}
