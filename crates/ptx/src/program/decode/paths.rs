//! Dominators: instructions that lie on every path to another.

use super::super::operation::{Instruction, Operation};
use super::super::slot::{Guard, Slot};

/// Steps for each stretch of code after which the question is given up: texts may be written so that it takes
/// long.
const PATIENCE: usize = 256;

/// None, or not yet.
const NONE: u32 = u32::MAX;

/// The code of a function as stretches that are entered at their start alone, and those that every path goes
/// through.
#[derive(Debug)]
pub(super) struct Paths {
    /// The stretch of each instruction.
    stretches: Vec<u32>,
    /// Of each stretch, its number and the one behind the last that it lies before on every path; none where
    /// no path leads.
    spans: Vec<Option<(u32, u32)>>,
}

impl Paths {
    /// Looks at a function's code, which starts at `start` of the program's, or gives up.
    pub(super) fn of(code: &[Instruction], start: u32, lists: &[Slot]) -> Option<Paths> {
        let targets = |instruction: &Instruction| -> Vec<usize> {
            let [first, second, third, ..] = instruction.slots;
            let all = match instruction.operation {
                Operation::Branch => vec![first],
                Operation::BranchIndexed => {
                    lists.iter().skip(second.value() as usize).take(third.value() as usize).copied().collect()
                }
                _ => Vec::new(),
            };
            all.into_iter().map(|target| target.value().wrapping_sub(start) as usize).collect()
        };
        let mut is_first = vec![false; code.len() + 1];
        is_first[0] = true;
        for (at, instruction) in code.iter().enumerate().filter(|(_, instruction)| leaves(instruction)) {
            is_first[at + 1] = true;
            for target in targets(instruction) {
                *is_first.get_mut(target)? = true;
            }
        }
        let mut count = 0;
        let number = |is_first: &bool| {
            count += u32::from(*is_first);
            count - 1
        };
        let stretches: Vec<u32> = is_first[..code.len()].iter().map(number).collect();
        let mut next = vec![Vec::new(); count as usize];
        for (at, instruction) in code.iter().enumerate().filter(|(at, _)| is_first[at + 1]) {
            let into: &mut Vec<u32> = &mut next[stretches[at] as usize];
            into.extend(targets(instruction).iter().filter_map(|target| stretches.get(*target)));
            if !leaves(instruction) || instruction.guard != Guard::NONE {
                into.extend(stretches.get(at + 1));
            }
        }
        let spans = spans(&next)?;
        Some(Paths { stretches, spans })
    }

    /// `true` if every path to `after`, up to it, goes through `before`. Both are counted from the function's
    /// start.
    pub(super) fn leads_through(&self, before: u32, after: u32) -> bool {
        let stretch = |at: u32| self.stretches.get(at as usize).copied().unwrap_or(NONE);
        let (first, second) = (stretch(before), stretch(after));
        if first == second {
            return before < after;
        }
        let span = |stretch: u32| self.spans.get(stretch as usize).copied().flatten();
        match (span(first), span(second)) {
            (Some((start, end)), Some((inside, _))) => (start..end).contains(&inside),
            // Where no path leads, all paths lead through everything.
            (_, None) => true,
            (None, _) => false,
        }
    }
}

/// `true` if a thread may go on elsewhere than at the next instruction.
fn leaves(instruction: &Instruction) -> bool {
    use Operation::{Branch, BranchIndexed, Exit, Return, Trap};
    matches!(instruction.operation, Branch | BranchIndexed | Return | Exit | Trap)
}

/// Stretches in an order in which each comes after one that leads to it, backwards.
fn backwards(next: &[Vec<u32>]) -> Vec<u32> {
    let (mut order, mut seen, mut stack) = (Vec::new(), vec![false; next.len()], vec![(0, 0)]);
    seen[0] = true;
    while let Some((stretch, taken)) = stack.last_mut() {
        match next[*stretch as usize].get(*taken).copied() {
            Some(target) => {
                *taken += 1;
                if !std::mem::replace(&mut seen[target as usize], true) {
                    stack.push((target, 0));
                }
            }
            None => {
                order.push(*stretch);
                stack.pop();
            }
        }
    }
    order
}

/// The tree of those that all paths go through, as the span of everything below each.
fn spans(next: &[Vec<u32>]) -> Option<Vec<Option<(u32, u32)>>> {
    let mut order = backwards(next);
    order.reverse();
    let mut place = vec![NONE; next.len()];
    for (index, stretch) in order.iter().enumerate() {
        place[*stretch as usize] = index as u32;
    }
    // From here on, stretches are known by their place in the order.
    let mut before = vec![Vec::new(); order.len()];
    for (from, stretch) in order.iter().enumerate() {
        for target in &next[*stretch as usize] {
            before[place[*target as usize] as usize].push(from as u32);
        }
    }
    let mut above = vec![NONE; order.len()];
    above[0] = 0;
    let mut left = PATIENCE * order.len();
    let mut is_settled = false;
    while !is_settled {
        is_settled = true;
        for this in 1..order.len() {
            let mut common = NONE;
            for other in &before[this] {
                let (mut a, mut b) = (common, *other);
                if above[b as usize] == NONE {
                    continue;
                }
                if a == NONE {
                    a = b;
                }
                while a != b {
                    left = left.checked_sub(1)?;
                    if a > b { a = above[a as usize] } else { b = above[b as usize] }
                }
                common = a;
            }
            left = left.checked_sub(1 + before[this].len())?;
            if above[this] != common {
                (above[this], is_settled) = (common, false);
            }
        }
    }
    let mut sizes = vec![1; order.len()];
    for this in (1..order.len()).rev() {
        sizes[above[this] as usize] += sizes[this];
    }
    let (mut starts, mut free) = (vec![0; order.len()], vec![1; order.len()]);
    for this in 1..order.len() {
        let parent = above[this] as usize;
        starts[this] = free[parent];
        free[parent] += sizes[this];
        free[this] = starts[this] + 1;
    }
    let span = |place: &u32| {
        (*place != NONE).then(|| (starts[*place as usize], starts[*place as usize] + sizes[*place as usize]))
    };
    Some(place.iter().map(span).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &[(Operation, bool, u32)]) -> Vec<Instruction> {
        let one = |&(operation, guarded, target): &(Operation, bool, u32)| {
            let guard = if guarded { Guard::new(Slot::register(2), false) } else { Guard::NONE };
            let mut slots = [Slot::SINK; 6];
            slots[0] = Slot::raw(target);
            Instruction { operation, guard, slots }
        };
        text.iter().map(one).collect()
    }

    #[test]
    fn an_instruction_before_a_fork_dominates_and_a_side_of_it_does_not() {
        use Operation::{Branch, Nothing, Return};
        // 0; @p bra 4; 2; bra 5; 4:; 5: @q bra 1 (of 100); ret; 7: unreachable
        let code = code(&[
            (Nothing, false, 0),
            (Branch, true, 104),
            (Nothing, false, 0),
            (Branch, false, 105),
            (Nothing, false, 0),
            (Branch, true, 101),
            (Return, false, 0),
            (Nothing, false, 0),
        ]);
        let paths = Paths::of(&code, 100, &[]).unwrap();
        let through = |before| (0..8).filter(|after| paths.leads_through(before, *after)).collect::<Vec<_>>();
        assert_eq!(through(0), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(through(1), [2, 3, 4, 5, 6, 7]);
        assert_eq!(through(2), [3, 7]);
        assert_eq!(through(4), [7]);
        assert_eq!(through(5), [6, 7]);
        assert_eq!(through(7), []);
    }

    #[test]
    fn a_tangle_is_given_up() {
        use Operation::{Branch, Return};
        // Forward to the end from everywhere: paths to it have less and less in common.
        let mut text = vec![(Branch, true, 4000); 4000];
        text.push((Return, false, 0));
        assert!(Paths::of(&code(&text), 0, &[]).is_none());
        assert!(Paths::of(&code(&text[3900..]), 3900, &[]).is_some());
    }
}
