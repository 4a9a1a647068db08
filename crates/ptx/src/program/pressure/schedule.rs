//! The order that an assembler gives the instructions of a block to hide latency.
//!
//! It works from the end of the block upwards: of all instructions whose results are needed by then, the one
//! that most has to happen before comes next. So each is as late as its readers let it be. Latencies are
//! rough: memory is far, everything else is near.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::instruction::{self, ARITHMETIC, Order, SHARED, SPACES};
use super::taken::{Kind, Step, most_taken};
use super::{Block, Registers, has};
use crate::program::Code;
use crate::program::function::Touch;

/// An instruction of a block.
struct Node {
    step: Step,
    latency: u32,
    /// Those that it waits for, and whether for their results.
    before: Vec<(usize, bool)>,
}

/// The most words that are taken in a block that is ordered for latency, several copies of it behind each
/// other.
pub(super) fn most(code: &Code, block: &Block, touches: &[Touch], registers: &Registers, copies: usize) -> u32 {
    let touches = &touches[block.touches.clone()];
    // Registers that are live at the start, and those that are written.
    let (mut live, mut written) = (block.live.clone(), vec![0; block.live.len()]);
    for touch in touches.iter().rev() {
        let id = registers.id(touch);
        let bit = 1 << (id % 64);
        if touch.is_write {
            live[id / 64] &= !bit;
            written[id / 64] |= bit;
        } else {
            live[id / 64] |= bit;
        }
    }
    // Values that begin in the block are the copy's own; the last copy has the registers of the text.
    let id = |touch: &Touch, copy: usize| {
        let id = registers.id(touch);
        let is_own = has(&written, id) && !has(&live, id);
        if is_own { id + registers.count * (copies - 1 - copy) } else { id }
    };
    let mut kinds = registers.kinds.repeat(copies);
    let nodes = nodes(code, touches, (registers, &mut kinds), copies, id);
    let order = order(&nodes);
    let mut steps: Vec<Step> = nodes.into_iter().map(|node| node.step).collect();
    let steps = order.into_iter().map(|at| std::mem::take(&mut steps[at]));
    most_taken(steps.collect(), &kinds, live, &block.live)
}

/// The instructions of a block, with those that each waits for.
fn nodes(
    code: &Code,
    touches: &[Touch],
    (registers, kinds): (&Registers, &mut Vec<Kind>),
    copies: usize,
    id: impl Fn(&Touch, usize) -> usize,
) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut writer: HashMap<usize, usize> = HashMap::new();
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut stores: [Option<usize>; SPACES] = [None; SPACES];
    let mut loads: [Vec<usize>; SPACES] = Default::default();
    let mut fetched: HashMap<usize, usize> = HashMap::new();
    let mut fence = 0_usize;
    let all = (0..copies).flat_map(|copy| touches.chunk_by(|a, b| a.pc == b.pc).map(move |touches| (copy, touches)));
    for (copy, touches) in all {
        let operation = code.instructions[touches[0].pc as usize].operation;
        let mut step = Step::of(operation);
        let mut is_common = false;
        // Those before, and true for those whose results it waits for.
        let mut before: Vec<(usize, bool)> = Vec::new();
        for touch in touches.iter().filter(|touch| registers.is_fetched(touch)) {
            let new = kinds.len();
            let id = *fetched.entry(registers.id(touch)).or_insert(new);
            if id == new {
                kinds.push(if touch.is_long { Kind::Pair } else { Kind::Odd });
                writer.insert(id, nodes.len());
                let step = Step { writes: vec![id], ..Step::default() };
                // Most lie in constant memory.
                nodes.push(Node { step, latency: SHARED, before: Vec::new() });
            }
            before.extend(writer.get(&id).map(|one| (*one, true)));
            step.reads.push(id);
            is_common |= touch.is_long;
        }
        for kind in registers.immediates.get(&touches[0].pc).into_iter().flatten() {
            before.push((nodes.len(), true));
            step.reads.push(kinds.len());
            let step = Step { writes: vec![kinds.len()], ..Step::default() };
            nodes.push(Node { step, latency: ARITHMETIC, before: Vec::new() });
            kinds.push(*kind);
        }
        let is_alike = |touch: &Touch| touch.is_write || registers.weight(registers.id(touch)) == 0;
        step.scratch = instruction::scratch(operation, is_common, touches.iter().all(is_alike));
        let this = nodes.len();
        let (order, latency) = instruction::order(operation);
        for touch in touches {
            let id = id(touch, copy);
            before.extend(writer.get(&id).map(|one| (*one, !touch.is_write)));
            if touch.is_write {
                before.extend(readers.remove(&id).unwrap_or_default().into_iter().map(|one| (one, false)));
                writer.insert(id, this);
                step.writes.push(id);
            } else {
                readers.entry(id).or_default().push(this);
                step.reads.push(id);
            }
        }
        before.extend(fence.checked_sub(1).map(|one| (one, false)));
        match order {
            Order::None => {}
            Order::Reads(space) => {
                before.extend(stores[space].map(|one| (one, false)));
                loads[space].push(this);
            }
            Order::Writes(space) => {
                before.extend(stores[space].map(|one| (one, false)));
                before.extend(loads[space].drain(..).map(|one| (one, false)));
                stores[space] = Some(this);
            }
            Order::Accesses => {
                before.extend(stores.iter().flatten().map(|one| (*one, false)));
                before.extend(loads.iter_mut().flat_map(|loads| loads.drain(..)).map(|one| (one, false)));
                stores = [Some(this); SPACES];
            }
            Order::All => {
                before.extend((fence..this).map(|one| (one, false)));
                fence = this + 1;
            }
        }
        before.retain(|(one, _)| *one != this);
        before.sort_unstable_by_key(|(one, waits)| (*one, Reverse(*waits)));
        before.dedup_by_key(|(one, _)| *one);
        nodes.push(Node { step, latency, before });
    }
    nodes
}

/// The order of the instructions, by their numbers.
fn order(nodes: &[Node]) -> Vec<usize> {
    // Cycles from the start of the block to the start of an instruction, at least; how many wait for it; and
    // cycles from its start to the end of the block, as far as that is known.
    let (mut depths, mut behind, mut heights) =
        (vec![0; nodes.len()], vec![0_usize; nodes.len()], vec![0; nodes.len()]);
    let time = |one: usize, waits: bool| if waits { nodes[one].latency } else { 1 };
    for (this, node) in nodes.iter().enumerate() {
        for (one, waits) in &node.before {
            depths[this] = depths[this].max(depths[*one] + time(*one, *waits));
            behind[*one] += 1;
        }
    }
    let (mut order, mut now) = (Vec::with_capacity(nodes.len()), 0);
    let mut open: Vec<usize> = (0..nodes.len()).filter(|this| behind[*this] == 0).collect();
    while let Some(earliest) = open.iter().map(|this| heights[*this]).min() {
        now = earliest.max(now);
        let ready = (0..open.len()).filter(|at| heights[open[*at]] <= now);
        let Some(best) = ready.max_by_key(|at| (depths[open[*at]], open[*at])) else { break };
        let this = open.swap_remove(best);
        order.push(this);
        for (one, waits) in &nodes[this].before {
            heights[*one] = heights[*one].max(now + time(*one, *waits));
            behind[*one] -= 1;
            if behind[*one] == 0 {
                open.push(*one);
            }
        }
        now += 1;
    }
    order.reverse();
    order
}
