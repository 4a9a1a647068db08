//! Values that need no register, or fewer than their bits, and instructions that need more than their values.

use super::{Registers, has};
use crate::program::Code;
use crate::program::compute::{Cast, Compute};
use crate::program::function::Touch;
use crate::program::operation::{Operation, Special};
use crate::program::slot::Guard;
use crate::program::space::Space;

/// The longs that only ever get values of 32 bits without a sign.
pub(super) fn halves(code: &Code, touches: &[Touch], registers: &Registers) -> Vec<u64> {
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

/// The registers whose values can be had again at no cost, or are the same for all threads of a block:
/// hardware has a file of its own for those.
pub(super) fn free(code: &Code, touches: &[Touch], registers: &Registers) -> Vec<u64> {
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
    // Until no value is left that comes from one of the threads' own.
    loop {
        let before = free.clone();
        for (writes, reads) in &instructions {
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

/// `true` if the result of an atomic operation is read.
pub(super) fn has_results(code: &Code, touches: &[Touch]) -> bool {
    use Operation::{Atomic, AtomicPair};
    let is_atomic =
        |touch: &&Touch| matches!(code.instructions[touch.pc as usize].operation, Atomic(_) | AtomicPair(_));
    let mut results = touches.iter().filter(|touch| touch.is_write).filter(is_atomic);
    results.any(|result| {
        let is_same = |touch: &&Touch| touch.register == result.register && touch.is_long == result.is_long;
        touches.iter().filter(|touch| !touch.is_write).any(|touch| is_same(&touch))
    })
}
