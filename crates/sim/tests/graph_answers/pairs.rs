//! Random pairs of graphs: the answer of an update of an executable of the first by the second, or by a clone.

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Random, TestResult, call};

use crate::rig::{Rig, code, count, zeroed};

/// A node: its kind, and its dependencies in order. The last ones are added as edges, after all nodes.
#[derive(Clone, Debug)]
struct Node {
    kind: Kind,
    before: Vec<usize>,
    late: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Empty,
    Host,
    Record,
    /// A fill of one row, or of two: neither follows the other.
    Fill,
    Rows,
}

const KINDS: [Kind; 5] = [Kind::Empty, Kind::Host, Kind::Record, Kind::Fill, Kind::Rows];

/// A change of a graph that is built.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// Removes an edge, if there is one.
    Remove(usize, usize),
    /// Adds an edge, if there is none, to a later node.
    Add(usize, usize),
    /// Adds a node behind both and destroys it.
    Destroy(usize, usize),
    /// Is refused to add a node behind the first, the second and again the first.
    Refuse(usize, usize),
}

/// Nodes, and changes behind their addition.
#[derive(Clone, Debug)]
struct Definition {
    nodes: Vec<Node>,
    changes: Vec<Change>,
    is_cloned: bool,
}

/// The answer of the update of one pair, and the pair.
pub(crate) fn answer(rig: &Rig, seed: u64) -> TestResult<String> {
    rig.primary.make_current()?;
    let (mut random, driver) = (Random::new(seed), &rig.driver);
    let len = 1 + random.below(5);
    let first = graph(&mut random, len);
    let second = if random.below(100) < 80 { varied(&mut random, &first) } else { graph(&mut random, len) };
    let (first, second) = (changed(&mut random, first), changed(&mut random, second));
    let (counter, mut event, mut exec) = (Arc::new(AtomicU32::new(0)), null_mut(), null_mut());
    call!(driver.cuEventCreate(&mut event, 2))?;
    let (one, one_nodes) = build(rig, &first, event, &counter)?;
    let (other, other_nodes) = build(rig, &second, event, &counter)?;
    call!(driver.cuGraphInstantiateWithFlags(&mut exec, one, 0))?;
    let mut info: CUgraphExecUpdateResultInfo = zeroed();
    let code = code!(driver.cuGraphExecUpdate_v2(exec, other, &mut info));
    let named = [info.errorNode, info.errorFromNode].map(|node| {
        let place = |nodes: &[CUgraphNode]| nodes.iter().position(|other| *other == node);
        (place(&one_nodes), place(&other_nodes))
    });
    call!(driver.cuGraphExecDestroy(exec))?;
    call!(driver.cuGraphDestroy(one))?;
    call!(driver.cuGraphDestroy(other))?;
    call!(driver.cuEventDestroy_v2(event))?;
    Ok(format!("{code} {} {named:?} of {first:?} by {second:?}", info.result.0))
}

/// A definition with up to four changes.
fn changed(random: &mut Random, nodes: Vec<Node>) -> Definition {
    let (mut changes, len) = (Vec::new(), nodes.len());
    for _ in 0..random.pick(&[0, 0, 1, 2, 4]) {
        let (one, other) = (random.below(len), random.below(len));
        let (from, to) = (one.min(other), one.max(other));
        changes.push(match random.below(6) {
            0..3 => Change::Remove(from, to),
            3 => Change::Add(from, to),
            4 => Change::Destroy(one, other),
            _ => Change::Refuse(one, other),
        });
    }
    Definition { nodes, changes, is_cloned: random.below(100) < 20 }
}

/// Makes a change. Its outcome depends on the graph alone.
fn change(driver: &Driver, graph: CUgraph, raws: &[CUgraphNode], change: Change) -> TestResult {
    let add = |after: &[CUgraphNode]| {
        let mut added = null_mut();
        let code = code!(driver.cuGraphAddEmptyNode(&mut added, graph, after.as_ptr(), after.len()));
        (code == 0).then_some(added)
    };
    match change {
        Change::Remove(from, to) => {
            code!(driver.cuGraphRemoveDependencies(graph, &raws[from], &raws[to], 1));
        }
        Change::Add(from, to) => {
            code!(driver.cuGraphAddDependencies(graph, &raws[from], &raws[to], 1));
        }
        Change::Destroy(one, other) => {
            if let Some(added) = add(&[raws[one], raws[other]]) {
                call!(driver.cuGraphDestroyNode(added))?;
            }
        }
        Change::Refuse(one, other) => assert_eq!(add(&[raws[one], raws[other], raws[one]]), None),
    }
    Ok(())
}

fn build(
    rig: &Rig,
    definition: &Definition,
    event: CUevent,
    counter: &Arc<AtomicU32>,
) -> TestResult<(CUgraph, Vec<CUgraphNode>)> {
    let (driver, mut graph, mut raws) = (&rig.driver, null_mut(), Vec::new());
    let nodes = &definition.nodes;
    let host = CUDA_HOST_NODE_PARAMS { fn_: Some(count), userData: Arc::as_ptr(counter).cast_mut().cast() };
    call!(driver.cuGraphCreate(&mut graph, 0))?;
    for node in nodes {
        let after: Vec<CUgraphNode> = node.before.iter().map(|index| raws[*index]).collect();
        let (list, len, mut raw) = (after.as_ptr(), after.len(), null_mut());
        match node.kind {
            Kind::Empty => call!(driver.cuGraphAddEmptyNode(&mut raw, graph, list, len))?,
            Kind::Host => call!(driver.cuGraphAddHostNode(&mut raw, graph, list, len, &host))?,
            Kind::Record => call!(driver.cuGraphAddEventRecordNode(&mut raw, graph, list, len, event))?,
            Kind::Fill | Kind::Rows => {
                let (height, dst) = (if matches!(node.kind, Kind::Fill) { 1 } else { 2 }, rig.scratch);
                let fill = CUDA_MEMSET_NODE_PARAMS { dst, pitch: 8, value: 1, elementSize: 4, width: 1, height };
                let context = rig.primary.context;
                call!(driver.cuGraphAddMemsetNode(&mut raw, graph, list, len, &fill, context))?;
            }
        }
        raws.push(raw);
    }
    for (to, node) in nodes.iter().enumerate() {
        for from in &node.late {
            call!(driver.cuGraphAddDependencies(graph, &raws[*from], &raws[to], 1))?;
        }
    }
    definition.changes.iter().try_for_each(|wanted| change(driver, graph, &raws, *wanted))?;
    if definition.is_cloned {
        let mut clone = null_mut();
        call!(driver.cuGraphClone(&mut clone, graph))?;
        for raw in &mut raws {
            call!(driver.cuGraphNodeFindInClone(raw, *raw, clone))?;
        }
        call!(driver.cuGraphDestroy(graph))?;
        graph = clone;
    }
    Ok((graph, raws))
}

fn shuffle<T>(random: &mut Random, list: &mut [T]) {
    for last in (1..list.len()).rev() {
        list.swap(last, random.below(last + 1));
    }
}

fn graph(random: &mut Random, len: usize) -> Vec<Node> {
    let mut nodes = Vec::new();
    for index in 0..len {
        let mut all: Vec<usize> = (0..index).filter(|_| random.below(100) < 40).collect();
        shuffle(random, &mut all);
        let (late, before) = all.into_iter().partition(|_| random.below(100) < 30);
        nodes.push(Node { kind: random.pick(&[Kind::Empty, Kind::Empty, Kind::Host, Kind::Fill]), before, late });
    }
    nodes
}

/// The same graph with up to two changes.
fn varied(random: &mut Random, nodes: &[Node]) -> Vec<Node> {
    let joined = |node: &Node| [&node.before[..], &node.late[..]].concat();
    let mut nodes: Vec<Node> =
        nodes.iter().map(|node| Node { before: joined(node), late: Vec::new(), ..*node }).collect();
    for _ in 0..random.pick(&[0, 1, 1, 2]) {
        let index = random.below(nodes.len());
        let absent: Vec<usize> = (0..index).filter(|other| !nodes[index].before.contains(other)).collect();
        let count = nodes[index].before.len();
        match random.below(6) {
            0 => nodes[index].kind = random.pick(&KINDS),
            1 => shuffle(random, &mut nodes[index].before),
            2 if count > 0 => {
                nodes[index].before.remove(random.below(count));
            }
            3 if !absent.is_empty() => nodes[index].before.push(random.pick(&absent)),
            4 if count > 0 && !absent.is_empty() => {
                nodes[index].before[random.below(count)] = random.pick(&absent);
            }
            5 => nodes = reordered(random, &nodes),
            _ => {}
        }
    }
    nodes
}

/// The same graph, its nodes added in another order.
fn reordered(random: &mut Random, nodes: &[Node]) -> Vec<Node> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < nodes.len() {
        let is_next =
            |index: &usize| !order.contains(index) && nodes[*index].before.iter().all(|before| order.contains(before));
        let next: Vec<usize> = (0..nodes.len()).filter(is_next).collect();
        order.push(random.pick(&next));
    }
    let place = |index: &usize| order.iter().position(|other| other == index).expect("every node is in the order");
    let moved =
        |index: &usize| Node { before: nodes[*index].before.iter().map(place).collect(), ..nodes[*index].clone() };
    order.iter().map(moved).collect()
}
