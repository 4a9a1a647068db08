//! Live values of a block in the order that an assembler gives it to hide latency.
//!
//! Instructions start as soon as their operands are there, one at a time, those with the longest way to the
//! end first. Latencies are rough: memory is far, everything else is near.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::{Block, Registers, has};
use crate::program::Code;
use crate::program::compute::Compute;
use crate::program::function::Touch;
use crate::program::operation::Operation;
use crate::program::space::Space;

/// Cycles until results are there.
const GLOBAL: u32 = 300;
const SHARED: u32 = 30;
const ACROSS_LANES: u32 = 25;
const SPECIAL: u32 = 20;
const ARITHMETIC: u32 = 5;

/// An instruction of a block.
struct Node {
    reads: Vec<usize>,
    writes: Vec<usize>,
    latency: u32,
    /// Those that wait for it, and whether for its results.
    next: Vec<(usize, bool)>,
    /// Instructions that it waits for.
    open: usize,
    /// Cycles from its start to the end of the block, at least.
    height: u32,
    /// The cycle from which on it can start.
    ready: u32,
}

/// The instructions that one may not pass.
enum Order {
    None,
    /// Writes to a space.
    Reads(usize),
    /// All accesses to a space.
    Writes(usize),
    All,
}

/// Spaces that do not overlap.
const SPACES: usize = 4;

fn space(space: Space) -> usize {
    match space {
        Space::Shared => 1,
        Space::Local | Space::Frame => 2,
        Space::Argument | Space::Parameter => 3,
        Space::Global | Space::Generic => 0,
    }
}

/// Order and latency of an operation.
fn order(operation: Operation) -> (Order, u32) {
    let far = |at: Space| if space(at) == 0 { GLOBAL } else { SHARED };
    match operation {
        Operation::Load(form) if form.space == Space::Argument => (Order::None, 1),
        Operation::Load(form) if form.constant => (Order::None, SHARED),
        Operation::Load(form) if form.strong => (Order::Writes(space(form.space)), far(form.space)),
        Operation::Load(form) => (Order::Reads(space(form.space)), far(form.space)),
        Operation::LoadWhole(form) => (Order::Writes(space(form.space)), far(form.space)),
        Operation::Store(form) | Operation::StoreWhole(form) => (Order::Writes(space(form.space)), 1),
        Operation::AtomicPair(form) => (Order::Writes(space(form.space)), far(form.space)),
        Operation::Atomic(form) => (Order::Writes(space(form.space)), far(form.space)),
        Operation::Special(_) | Operation::Compute(Compute::Approximate(..)) => (Order::None, SPECIAL),
        Operation::Compute(_) => (Order::None, ARITHMETIC),
        Operation::Shuffle(_)
        | Operation::Vote(_)
        | Operation::Match { .. }
        | Operation::Reduce(_)
        | Operation::Multiply(_)
        | Operation::MultiplyQuads(_) => (Order::None, ACROSS_LANES),
        Operation::Fragment(_) | Operation::Matrix(_) => (Order::Writes(0), GLOBAL),
        _ => (Order::All, ARITHMETIC),
    }
}

/// The most words that are live in a block that is ordered for latency, several copies of it behind each
/// other.
pub(super) fn most(
    code: &Code,
    block: &Block,
    touches: &[Touch],
    (registers, free): (&Registers, &[u64]),
    copies: usize,
) -> u32 {
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
    let nodes = nodes(code, touches, copies, id);
    run(nodes, block, live, (registers, free), copies)
}

/// The instructions of a block, with those that each waits for.
fn nodes(code: &Code, touches: &[Touch], copies: usize, id: impl Fn(&Touch, usize) -> usize) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut writer: HashMap<usize, usize> = HashMap::new();
    let mut readers: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut stores: [Option<usize>; SPACES] = [None; SPACES];
    let mut loads: [Vec<usize>; SPACES] = Default::default();
    let mut fence = 0_usize;
    let all = (0..copies).flat_map(|copy| touches.chunk_by(|a, b| a.pc == b.pc).map(move |touches| (copy, touches)));
    for (copy, touches) in all {
        let this = nodes.len();
        let (order, latency) = order(code.instructions[touches[0].pc as usize].operation);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        // Those before, and true for those whose results it waits for.
        let mut before: Vec<(usize, bool)> = Vec::new();
        for touch in touches {
            let id = id(touch, copy);
            before.extend(writer.get(&id).map(|one| (*one, !touch.is_write)));
            if touch.is_write {
                before.extend(readers.remove(&id).unwrap_or_default().into_iter().map(|one| (one, false)));
                writer.insert(id, this);
                writes.push(id);
            } else {
                readers.entry(id).or_default().push(this);
                reads.push(id);
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
            Order::All => {
                before.extend((fence..this).map(|one| (one, false)));
                fence = this + 1;
            }
        }
        before.retain(|(one, _)| *one != this);
        before.sort_unstable_by_key(|(one, waits)| (*one, Reverse(*waits)));
        before.dedup_by_key(|(one, _)| *one);
        nodes.push(Node { reads, writes, latency, next: Vec::new(), open: before.len(), height: 0, ready: 0 });
        for (one, waits) in before {
            nodes[one].next.push((this, waits));
        }
    }
    for this in (0..nodes.len()).rev() {
        let latency = nodes[this].latency;
        let below = nodes[this].next.iter().map(|(next, waits)| nodes[*next].height + if *waits { latency } else { 1 });
        nodes[this].height = below.max().unwrap_or(latency);
    }
    nodes
}

/// Starts the instructions, and counts the words that are live meanwhile.
fn run(
    mut nodes: Vec<Node>,
    block: &Block,
    mut live: Vec<u64>,
    (registers, free): (&Registers, &[u64]),
    copies: usize,
) -> u32 {
    let weight = |id: usize| {
        let id = id % registers.count;
        if has(free, id) { 0 } else { registers.weight(id) }
    };
    let mut left: HashMap<usize, u32> = HashMap::new();
    nodes.iter().flat_map(|node| &node.reads).for_each(|id| *left.entry(*id).or_default() += 1);
    live.resize((registers.count * copies).div_ceil(64), 0);
    let mut now: u32 = (0..registers.count).filter(|id| has(&live, *id)).map(weight).sum();
    let (mut most, mut time) = (now, 0);
    let mut open: Vec<usize> = (0..nodes.len()).filter(|this| nodes[*this].open == 0).collect();
    while let Some(earliest) = open.iter().map(|this| nodes[*this].ready).min() {
        time = time.max(earliest);
        let ready = (0..open.len()).filter(|at| nodes[open[*at]].ready <= time);
        let Some(best) = ready.max_by_key(|at| (nodes[open[*at]].height, Reverse(open[*at]))) else { break };
        let this = open.swap_remove(best);
        let (reads, writes) = (std::mem::take(&mut nodes[this].reads), std::mem::take(&mut nodes[this].writes));
        for id in writes.iter().copied().filter(|id| !has(&live, *id)).collect::<Vec<_>>() {
            live[id / 64] |= 1 << (id % 64);
            now += weight(id);
        }
        most = most.max(now);
        for id in &reads {
            left.entry(*id).and_modify(|count| *count -= 1);
        }
        for id in reads.into_iter().chain(writes) {
            let is_kept = id < registers.count && has(&block.live, id);
            let is_over = left.get(&id).is_none_or(|count| *count == 0) && !is_kept;
            if is_over && has(&live, id) {
                live[id / 64] &= !(1 << (id % 64));
                now -= weight(id);
            }
        }
        let latency = nodes[this].latency;
        for (next, waits) in std::mem::take(&mut nodes[this].next) {
            let node = &mut nodes[next];
            node.ready = node.ready.max(time + if waits { latency } else { 1 });
            node.open -= 1;
            if node.open == 0 {
                open.push(next);
            }
        }
        time += 1;
    }
    most
}
