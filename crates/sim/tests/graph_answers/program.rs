//! A random program: its graphs and executables, and the answers of its steps.
//!
//! Choices depend on the seed and on answers alone, so that two drivers take the same steps as long as they
//! agree. Answers hold codes, counts, kinds, indices and bytes, never handles or addresses.
//!
//! Some steps are left out, because a driver does not decide them or may end the process:
//!
//! - Memory of a graph is used by nodes of that graph alone, behind its allocation and before its free node.
//! - A refused allocation, free or conditional node leaves a mark in the graph that changes later answers of
//!   the real driver. Such a graph is neither instantiated nor is anything updated from it.
//! - A condition without a default has any value when a graph is launched for the first time, so that such a graph
//!   is not launched.
//! - A graph that was cloned or embedded, or has an executable, is not moved: when it comes to be in a graph with a
//!   condition, the real driver crashes at the instantiation.
//! - Nothing is captured to the body of a conditional node: a capture that fails destroys the body, and the
//!   real driver may crash when it comes across it later.

use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::*;
use warploom_testkit::{Random, TestResult, call};

use crate::rig::{Rig, code};

/// Cells of memory, of eight bytes each. Every node writes to its own.
pub(crate) const CELLS: usize = 1024;
/// The bytes of the first cell, which all copies read.
const SOURCE: u32 = 0x0403_0201;

/// The answer of a step, and the graphs that it concerns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) graphs: Vec<usize>,
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Kernel,
    Copy,
    Fill,
    Host,
    Child,
    Empty,
    Wait,
    Record,
    Alloc,
    Free,
    Conditional,
    Other(u32),
}

impl From<CUgraphNodeType> for Kind {
    fn from(kind: CUgraphNodeType) -> Self {
        match kind {
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL => Kind::Kernel,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMCPY => Kind::Copy,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET => Kind::Fill,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_HOST => Kind::Host,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH => Kind::Child,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY => Kind::Empty,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_WAIT_EVENT => Kind::Wait,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_EVENT_RECORD => Kind::Record,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_ALLOC => Kind::Alloc,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEM_FREE => Kind::Free,
            CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL => Kind::Conditional,
            other => Kind::Other(other.0),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Node {
    /// Unlike the handle, never used again for another node.
    pub(crate) id: usize,
    pub(crate) raw: CUgraphNode,
    pub(crate) kind: Kind,
}

pub(crate) struct Graph {
    pub(crate) raw: CUgraph,
    pub(crate) nodes: Vec<Node>,
    pub(crate) is_alive: bool,
    /// The graph whose conditional node has this as a body, or whose child node it was moved into.
    pub(crate) inside: Option<usize>,
    /// The graph that this was cloned from.
    pub(crate) original: Option<usize>,
    /// `true` after a refusal that changes later answers of the real driver.
    pub(crate) is_marked: bool,
    /// `true` if a condition of it has no default.
    pub(crate) is_undecided: bool,
    /// `true` if it was cloned or embedded, or is a clone itself.
    pub(crate) is_copied: bool,
}

pub(crate) struct Exec {
    pub(crate) raw: CUgraphExec,
    pub(crate) graph: usize,
    /// The nodes of the graph when it was instantiated.
    pub(crate) nodes: Vec<usize>,
    pub(crate) is_alive: bool,
    /// `true` if a condition of it has no default.
    pub(crate) is_undecided: bool,
}

/// Memory of a graph.
pub(crate) struct Block {
    pub(crate) address: CUdeviceptr,
    pub(crate) graph: usize,
    /// The last node that uses it.
    pub(crate) last: CUgraphNode,
    /// Free nodes that were asked for.
    pub(crate) frees: u32,
}

pub(crate) struct Program<'r> {
    pub(crate) rig: &'r Rig,
    pub(crate) driver: &'r Driver,
    pub(crate) random: Random,
    pub(crate) memory: CUdeviceptr,
    next_cell: usize,
    next_id: usize,
    pub(crate) streams: Vec<CUstream>,
    pub(crate) events: Vec<CUevent>,
    pub(crate) graphs: Vec<Graph>,
    pub(crate) execs: Vec<Exec>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) counter: Arc<AtomicU32>,
    answers: Vec<Answer>,
    expected: Option<&'r [Answer]>,
    pub(crate) is_over: bool,
}

/// Takes a step with a graph.
type Operation<'r> = fn(&mut Program<'r>, usize);

/// Runs the program of a seed and returns its answers; ends behind the first that is not the expected one.
pub(crate) fn run(rig: &Rig, seed: u64, steps: usize, expected: Option<&[Answer]>) -> TestResult<Vec<Answer>> {
    let (driver, mut memory) = (&rig.driver, 0);
    rig.primary.make_current()?;
    call!(driver.cuMemAlloc_v2(&mut memory, CELLS * 8))?;
    call!(driver.cuMemsetD8_v2(memory, 0, CELLS * 8))?;
    call!(driver.cuMemsetD32_v2(memory, SOURCE, 1))?;
    // The streams do not wait for fills of the default stream.
    call!(driver.cuCtxSynchronize())?;
    let mut streams = Vec::new();
    for _ in 0..3 {
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        streams.push(stream);
    }
    let mut program = Program {
        rig,
        driver,
        random: Random::new(seed),
        memory,
        next_cell: 0,
        next_id: 0,
        streams,
        events: Vec::new(),
        graphs: Vec::new(),
        execs: Vec::new(),
        blocks: Vec::new(),
        counter: Arc::default(),
        answers: Vec::new(),
        expected,
        is_over: false,
    };
    program.create_events()?;
    program.create_graph(0);
    let operations = Program::operations();
    let weights: usize = operations.iter().map(|(_, weight)| weight).sum();
    for _ in 0..steps {
        let mut left = program.random.below(weights);
        let chosen = operations.iter().find(|(_, weight)| {
            let is_here = left < *weight;
            left = left.saturating_sub(*weight);
            is_here
        });
        let graph = program.any_graph();
        if let Some((operation, _)) = chosen {
            operation(&mut program, graph);
        }
        if program.is_over {
            break;
        }
    }
    if !program.is_over {
        program.read_memory(0);
    }
    program.close()
}

impl<'r> Program<'r> {
    /// The steps that there are, and how often each is taken.
    fn operations() -> [(Operation<'r>, usize); 39] {
        [
            (Self::add_empty, 6),
            (Self::add_fill, 8),
            (Self::add_copy, 8),
            (Self::add_kernel, 10),
            (Self::add_host, 3),
            (Self::add_child, 5),
            (Self::move_child, 3),
            (Self::add_record, 3),
            (Self::add_wait, 3),
            (Self::add_conditional, 3),
            (Self::allocate, 4),
            (Self::free, 4),
            (Self::add_edge, 6),
            (Self::remove_edge, 5),
            (Self::destroy_node, 3),
            (Self::set_node, 6),
            (Self::create_graph, 3),
            (Self::clone_graph, 3),
            (Self::destroy_graph, 3),
            (Self::find_in_clone, 3),
            (Self::list_nodes, 3),
            (Self::list_edges, 3),
            (Self::count_roots, 3),
            (Self::count_neighbours, 3),
            (Self::look_inside, 3),
            (Self::parameters, 3),
            (Self::other_parameters, 3),
            (Self::read_memory, 3),
            (Self::instantiate, 8),
            (Self::launch, 10),
            (Self::update, 8),
            (Self::set_exec, 10),
            (Self::set_child, 3),
            (Self::enable, 3),
            (Self::is_enabled, 3),
            (Self::destroy_exec, 3),
            (Self::capture, 3),
            (Self::capture_into, 1),
            (Self::capture_all, 1),
        ]
    }

    /// Keeps the answer of a step about some graphs.
    pub(crate) fn answer(&mut self, graphs: &[usize], text: impl Display) {
        let answer = Answer { graphs: graphs.to_vec(), text: format!("g{}: {text}", graphs[0]) };
        if self.expected.is_some_and(|expected| expected.get(self.answers.len()) != Some(&answer)) {
            self.is_over = true;
        }
        self.answers.push(answer);
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.random.below(100) < percent
    }

    /// The address of a cell that no node has used.
    pub(crate) fn cell(&mut self) -> CUdeviceptr {
        self.next_cell = self.next_cell % (CELLS - 1) + 1;
        self.memory + 8 * self.next_cell as u64
    }

    /// New events, which the last capture has not recorded. Nodes use the earlier ones.
    pub(crate) fn create_events(&mut self) -> TestResult {
        let driver = self.driver;
        for _ in 0..3 {
            let mut event = null_mut();
            call!(driver.cuEventCreate(&mut event, 2))?;
            self.events.push(event);
        }
        Ok(())
    }

    pub(crate) fn any_event(&mut self) -> CUevent {
        let newest = self.events.len() - 3;
        self.events[newest + self.random.below(3)]
    }

    /// A graph that is alive: there is always one.
    pub(crate) fn any_graph(&mut self) -> usize {
        let alive: Vec<usize> = (0..self.graphs.len()).filter(|graph| self.graphs[*graph].is_alive).collect();
        if alive.is_empty() {
            self.create_graph(0);
            return self.graphs.len() - 1;
        }
        self.random.pick(&alive)
    }

    /// A graph, which is mostly a clone of another if that has one.
    pub(crate) fn any_clone(&mut self, of: usize) -> usize {
        let is_clone = |graph: &Graph| graph.is_alive && graph.original == Some(of);
        let clones: Vec<usize> = (0..self.graphs.len()).filter(|graph| is_clone(&self.graphs[*graph])).collect();
        if clones.is_empty() || self.chance(30) { self.any_graph() } else { self.random.pick(&clones) }
    }

    pub(crate) fn any_node(&mut self, graph: usize) -> Option<Node> {
        let nodes = &self.graphs[graph].nodes;
        (!nodes.is_empty()).then(|| self.random.pick(nodes))
    }

    /// An executable that can be launched.
    pub(crate) fn any_launchable(&mut self) -> Option<usize> {
        self.any_exec().filter(|exec| !self.execs[*exec].is_undecided)
    }

    pub(crate) fn any_exec(&mut self) -> Option<usize> {
        let alive: Vec<usize> = (0..self.execs.len()).filter(|exec| self.execs[*exec].is_alive).collect();
        (!alive.is_empty()).then(|| self.random.pick(&alive))
    }

    /// The index of a node in its graph.
    pub(crate) fn index(&self, graph: usize, node: CUgraphNode) -> Option<usize> {
        self.graphs[graph].nodes.iter().position(|other| other.raw == node)
    }

    pub(crate) fn new_node(&mut self, graph: usize, raw: CUgraphNode, kind: Kind) {
        self.next_id += 1;
        self.graphs[graph].nodes.push(Node { id: self.next_id, raw, kind });
    }

    pub(crate) fn new_graph(&mut self, raw: CUgraph, inside: Option<usize>, original: Option<usize>) -> usize {
        let is_marked = original.is_some_and(|original| self.is_marked(original));
        let (nodes, is_alive, is_undecided, is_copied) = (Vec::new(), true, false, original.is_some());
        self.graphs.push(Graph { raw, nodes, is_alive, inside, original, is_marked, is_undecided, is_copied });
        self.graphs.len() - 1
    }

    /// The graph and those whose nodes it is inside.
    pub(crate) fn outwards(&self, graph: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(graph), |graph| self.graphs[*graph].inside)
    }

    pub(crate) fn mark(&mut self, graph: usize) {
        let all: Vec<usize> = self.outwards(graph).collect();
        for graph in all {
            self.graphs[graph].is_marked = true;
        }
    }

    pub(crate) fn is_marked(&self, graph: usize) -> bool {
        self.outwards(graph).any(|graph| self.graphs[graph].is_marked)
    }

    /// A graph is gone, and its bodies with it.
    pub(crate) fn lose(&mut self, graph: usize) {
        for other in 0..self.graphs.len() {
            if self.outwards(other).any(|outer| outer == graph) {
                self.graphs[other].is_alive = false;
            }
        }
    }

    /// Learns the nodes of a graph from the driver; the answer has their kinds.
    pub(crate) fn learn(&mut self, graph: usize) -> (u32, Vec<Kind>) {
        let (driver, raw, mut count) = (self.driver, self.graphs[graph].raw, 0);
        let answer = code!(driver.cuGraphGetNodes(raw, null_mut(), &mut count));
        let mut list = vec![null_mut(); count];
        if count > 0 && code!(driver.cuGraphGetNodes(raw, list.as_mut_ptr(), &mut count)) != 0 {
            return (answer, Vec::new());
        }
        let known = std::mem::take(&mut self.graphs[graph].nodes);
        let mut kinds = Vec::new();
        for raw in list {
            let mut kind = CUgraphNodeType(99);
            code!(driver.cuGraphNodeGetType(raw, &mut kind));
            kinds.push(kind.into());
            match known.iter().find(|node| node.raw == raw) {
                Some(node) => self.graphs[graph].nodes.push(*node),
                None => self.new_node(graph, raw, kind.into()),
            }
        }
        (answer, kinds)
    }

    /// Destroys all objects of the program and returns its answers.
    ///
    /// All of that succeeds, unless the program was ended by an error or a capture that goes on.
    fn close(self) -> TestResult<Vec<Answer>> {
        let driver = self.driver;
        let mut results = vec![call!(driver.cuCtxSynchronize())];
        for exec in self.execs.iter().filter(|exec| exec.is_alive) {
            results.push(call!(driver.cuGraphExecDestroy(exec.raw)));
        }
        for graph in self.graphs.iter().filter(|graph| graph.is_alive && graph.inside.is_none()) {
            results.push(call!(driver.cuGraphDestroy(graph.raw)));
        }
        for event in &self.events {
            results.push(call!(driver.cuEventDestroy_v2(*event)));
        }
        for stream in &self.streams {
            results.push(call!(driver.cuStreamDestroy_v2(*stream)));
        }
        results.push(call!(driver.cuMemFree_v2(self.memory)));
        results.push(call!(driver.cuDeviceGraphMemTrim(0)));
        if !self.is_over {
            results.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(self.answers)
    }
}
