//! Divergent code: PTX instructions that only some threads of a warp run, because a branch depends on values of
//! their own.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::{Registers, has};
use crate::program::Code;
use crate::program::compute::Compute;
use crate::program::function::{Function, Touch};
use crate::program::operation::{Instruction, Operation};
use crate::program::slot::Slot;

/// Reads of registers by instruction.
pub(super) struct Reads(HashMap<u32, Vec<usize>>);

impl Reads {
    pub(super) fn of(touches: &[Touch], registers: &Registers) -> Reads {
        let mut reads: HashMap<u32, Vec<usize>> = HashMap::new();
        for touch in touches.iter().filter(|touch| !touch.is_write) {
            reads.entry(touch.pc).or_default().push(registers.id(touch));
        }
        Reads(reads)
    }

    fn is_own(&self, pc: u32, free: &[u64]) -> bool {
        self.0.get(&pc).is_some_and(|ids| ids.iter().any(|id| !has(free, *id)))
    }
}

/// The predicates that threads have of their own: those of comparisons of values that are not `free`.
fn own_predicates(code: &Code, function: &Function, reads: &Reads, free: &[u64]) -> HashSet<Slot> {
    let mut own = HashSet::new();
    loop {
        let before = own.len();
        for pc in function.start..function.end {
            let Instruction { operation, guard, slots } = &code.instructions[pc as usize];
            let [d, a, b, _, third, _] = *slots;
            let is_guarded = guard.predicate().is_some_and(|predicate| own.contains(&predicate));
            let (results, is_own) = match operation {
                Operation::Compute(Compute::Compare { .. }) => ([d, a], reads.is_own(pc, free) || own.contains(&third)),
                Operation::Compute(Compute::Test { .. }) => ([d, d], reads.is_own(pc, free)),
                Operation::Compute(Compute::PredicateMove | Compute::PredicateNot) => ([d, d], own.contains(&a)),
                Operation::Compute(Compute::PredicateAnd | Compute::PredicateOr | Compute::PredicateXor) => {
                    ([d, d], own.contains(&a) || own.contains(&b))
                }
                Operation::Shuffle(_) | Operation::Match { .. } | Operation::Elect => ([a, a], true),
                _ => continue,
            };
            if is_own || is_guarded {
                own.extend(results);
            }
            own.remove(&Slot::SINK);
        }
        if own.len() == before {
            return own;
        }
    }
}

/// A divergent region: PTX instructions that threads skip or repeat without others of their warp.
pub(super) struct Region {
    /// The branch, which depends on values of the thread's own.
    pub(super) branch: u32,
    /// The PTX instructions between the branch and its target.
    pub(super) between: Range<u32>,
}

/// The divergent regions of a function. Where a branch ends threads, the others go on together.
pub(super) fn regions(code: &Code, function: &Function, reads: &Reads, free: &[u64]) -> Vec<Region> {
    let own = own_predicates(code, function, reads, free);
    let is_end = |pc: u32| matches!(code.instructions[pc as usize].operation, Operation::Return | Operation::Exit);
    let region = |pc: u32| {
        let Instruction { operation, guard, slots } = &code.instructions[pc as usize];
        let is_own = guard.predicate().is_some_and(|predicate| own.contains(&predicate));
        let target = slots[0].value();
        if *operation != Operation::Branch || !is_own || target > pc && is_end(target) {
            return None;
        }
        let between = if target > pc { pc + 1..joined(code, target) } else { target..pc + 1 };
        Some(Region { branch: pc, between })
    };
    (function.start..function.end).filter_map(region).collect()
}

/// `true` for each instruction of the function that is in one of the ranges.
pub(super) fn in_ranges(function: &Function, ranges: impl IntoIterator<Item = Range<u32>>) -> Vec<bool> {
    // Ranges that begin at an instruction, less those that end there.
    let mut changes = vec![0_i32; (function.end - function.start) as usize + 1];
    for range in ranges {
        changes[(range.start - function.start) as usize] += 1;
        changes[(range.end - function.start) as usize] -= 1;
    }
    let mut now = 0;
    let is_inside = |change: i32| {
        now += change;
        now > 0
    };
    changes.into_iter().map(is_inside).collect()
}

/// The first instruction behind a target that all threads of a branch to it come to: each part that is skipped
/// may end with a jump over the next.
fn joined(code: &Code, target: u32) -> u32 {
    let mut end = target;
    loop {
        let Instruction { operation, guard, slots } = &code.instructions[end as usize - 1];
        let is_jump = *operation == Operation::Branch && guard.predicate().is_none();
        if !is_jump || slots[0].value() <= end {
            return end;
        }
        end = slots[0].value();
    }
}
