//! Values that need no register, or fewer than their bits, and instructions that need more than their values.

use super::{Registers, has};
use crate::program::Code;
use crate::program::compute::{Cast, Compute};
use crate::program::function::Touch;
use crate::program::operation::{Operation, Special};
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

/// The registers whose values can be had again at no cost.
pub(super) fn free(code: &Code, touches: &[Touch], registers: &Registers) -> Vec<u64> {
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
            Operation::Load(form) => form.space == Space::Argument || form.constant && is_uniform,
            Operation::Special(special) => is_shared(special),
            Operation::Compute(Compute::Move | Compute::MoveLong) => is_uniform,
            _ => false,
        };
        if is_free {
            free[id / 64] |= 1 << (id % 64);
        }
    }
    free
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
