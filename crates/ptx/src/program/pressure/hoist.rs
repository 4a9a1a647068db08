//! Hoisted PTX instructions: an assembler carries them out before the loop that they are in, so that their
//! results are live in all of it.

use std::collections::HashSet;

use super::taken::Kind;
use super::{Registers, diverge};
use crate::program::Code;
use crate::program::compute::Compute;
use crate::program::function::{Function, Touch};
use crate::program::operation::Operation;

/// The first architecture whose addresses of shared variables are computed: the number of the block in its
/// cluster is a part of them.
const WITH_CLUSTERS: u32 = 90;

/// Removes writes of shared variables' addresses in loops that only some threads of a warp come to, so that
/// they are live from the start on. Before other loops, a warp computes them for all of its threads.
pub(super) fn hoist(code: &Code, function: &Function, registers: &Registers, touches: &mut Vec<Touch>) {
    let own = code.shared_addresses.iter().copied().filter(|pc| (function.start..function.end).contains(pc));
    let is_move = |pc: &u32| matches!(code.instructions[*pc as usize].operation, Operation::Compute(Compute::Move));
    let mut hoisted: HashSet<u32> = own.filter(is_move).collect();
    if hoisted.is_empty() || code.header.target.architecture < WITH_CLUSTERS {
        return;
    }
    let in_loop = in_divergent_loop(code, function, registers, touches);
    hoisted.retain(|pc| in_loop[(pc - function.start) as usize]);
    touches.retain(|touch| !hoisted.contains(&touch.pc) || registers.kinds[registers.id(touch)] == Kind::Free);
}

/// `true` for each instruction of loops in divergent code. A loop that threads leave one by one is not enough.
fn in_divergent_loop(code: &Code, function: &Function, registers: &Registers, touches: &[Touch]) -> Vec<bool> {
    let mut free = vec![0_u64; registers.count.div_ceil(64)];
    for (id, _) in registers.kinds.iter().enumerate().filter(|(_, kind)| **kind == Kind::Free) {
        free[id / 64] |= 1 << (id % 64);
    }
    let divergent = diverge::regions(code, function, &diverge::Reads::of(touches, registers), &free);
    let divergent_loop = |pc: u32| {
        let instruction = &code.instructions[pc as usize];
        let target = instruction.slots[0].value();
        let is_loop = instruction.operation == Operation::Branch && (function.start..=pc).contains(&target);
        let is_divergent = || divergent.iter().any(|other| other.branch != pc && other.between.contains(&target));
        (is_loop && is_divergent()).then_some(target..pc + 1)
    };
    diverge::in_ranges(function, (function.start..function.end).filter_map(divergent_loop))
}
