//! Register use of PTX instructions in their final order.

use std::collections::HashMap;

use super::has;
use super::instruction;
use crate::program::operation::Operation;

/// The instructions behind one that reads its operands late, before which their registers are not written: a
/// write would have to wait for the read.
const HELD: usize = 10;

/// The registers that a value takes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// None.
    Free,
    Word,
    /// A word that instructions read beside a pair: it has an odd number.
    Odd,
    Pair,
}

impl Kind {
    pub(super) fn words(self) -> u32 {
        match self {
            Kind::Free => 0,
            Kind::Word | Kind::Odd => 1,
            Kind::Pair => 2,
        }
    }
}

/// An instruction, as far as registers are concerned.
#[derive(Default)]
pub(super) struct Step {
    pub(super) operation: Option<Operation>,
    pub(super) reads: Vec<usize>,
    pub(super) writes: Vec<usize>,
    /// Words that it needs beside those, if anything reads its results.
    pub(super) scratch: u32,
}

impl Step {
    pub(super) fn of(operation: Operation) -> Step {
        Step { operation: Some(operation), ..Step::default() }
    }
}

/// Words that are taken at a time.
#[derive(Default)]
struct Taken {
    pairs: u32,
    odd: u32,
    words: u32,
}

impl Taken {
    fn change(&mut self, kind: Kind, change: impl Fn(&mut u32)) {
        match kind {
            Kind::Free => {}
            Kind::Word => change(&mut self.words),
            Kind::Odd => change(&mut self.odd),
            Kind::Pair => change(&mut self.pairs),
        }
    }

    fn take(&mut self, kind: Kind) {
        self.change(kind, |count| *count += 1);
    }

    fn give(&mut self, kind: Kind) {
        self.change(kind, |count| *count -= 1);
    }

    /// Below each odd register there is room for another word.
    fn all(&self) -> u32 {
        2 * self.pairs + (2 * self.odd).max(self.odd + self.words)
    }
}

/// The most words that are taken by instructions in their order, if some registers are live before and others
/// after them.
pub(super) fn most_taken(steps: Vec<Step>, kinds: &[Kind], mut live: Vec<u64>, kept: &[u64]) -> u32 {
    let mut left: HashMap<usize, u32> = HashMap::new();
    steps.iter().flat_map(|step| &step.reads).for_each(|id| *left.entry(*id).or_default() += 1);
    let mut taken = Taken::default();
    (0..kinds.len().min(live.len() * 64)).filter(|id| has(&live, *id)).for_each(|id| taken.take(kinds[id]));
    live.resize(kinds.len().div_ceil(64), 0);
    let mut most = taken.all();
    // The instruction from which on a register that was read late can be written again, and the registers
    // that nothing else holds until then.
    let mut until: HashMap<usize, usize> = HashMap::new();
    let mut held: Vec<Vec<Kind>> = vec![Vec::new(); steps.len() + 1 + HELD];
    for (at, step) in steps.into_iter().enumerate() {
        std::mem::take(&mut held[at]).into_iter().for_each(|kind| taken.give(kind));
        let Step { operation, reads, writes, scratch } = step;
        reads.iter().for_each(|id| {
            left.entry(*id).and_modify(|count| *count -= 1);
        });
        let is_over = |id: usize| {
            let is_kept = id < kept.len() * 64 && has(kept, id);
            left.get(&id).is_none_or(|count| *count == 0) && !is_kept
        };
        let new: Vec<usize> = writes.iter().copied().filter(|id| !has(&live, *id)).collect();
        let results = new.iter().filter(|id| left.contains_key(*id)).map(|id| kinds[*id].words()).sum::<u32>();
        if operation.is_some_and(instruction::is_late) {
            until.extend(reads.iter().map(|id| (*id, at + 1 + HELD)));
        }
        // Words of operands that results may take; four in a row have to be elsewhere.
        let mut room = if results <= 2 && operation.is_some_and(instruction::is_answered) { results } else { 0 };
        for id in reads.into_iter().filter(|id| !writes.contains(id)) {
            if !is_over(id) || !has(&live, id) {
                continue;
            }
            live[id / 64] &= !(1 << (id % 64));
            let words = kinds[id].words();
            match until.get(&id).filter(|until| **until > at) {
                Some(until) if words > room => held[*until].push(kinds[id]),
                _ => {
                    room = room.saturating_sub(words);
                    taken.give(kinds[id]);
                }
            }
        }
        for id in new {
            live[id / 64] |= 1 << (id % 64);
            taken.take(kinds[id]);
        }
        if !writes.is_empty() {
            most = most.max(taken.all() + if results > 0 { scratch } else { 0 });
        }
        for id in writes {
            if is_over(id) && has(&live, id) {
                live[id / 64] &= !(1 << (id % 64));
                taken.give(kinds[id]);
            }
        }
    }
    most
}
