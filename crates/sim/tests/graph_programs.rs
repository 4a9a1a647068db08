//! Random programs that build, change, clone, embed, instantiate, update, launch and destroy graphs, against
//! a model.
//!
//! Every node writes a cell of its own: a fill writes a value, a copy writes what another node's cell holds,
//! a host function counts. A copy depends on the node that it reads from, so that the outcome is that of
//! running the nodes in the order they were added, which is what the model does. After each step edges and
//! bytes are the model's; user objects live as long as the model says, and no finding is reported.
#![expect(unsafe_code, reason = "destructors and host functions have C's type")]

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use warploom_driver::Driver;
use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_sys::types::{
    CUDA_HOST_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUdeviceptr, CUgraph, CUgraphExec,
    CUgraphExecUpdateResult, CUgraphExecUpdateResultInfo, CUgraphNode, CUmemorytype, CUstream, CUuserObject,
};
use warploom_testkit::{Primary, TestResult, assert_sound, call, mode_for, open, random_programs};

/// Cells of memory, of four bytes each; nodes beyond that are not added.
const CELLS: usize = 256;
/// Nodes of a graph, at most.
const NODES: usize = 12;

/// One step of a program; the numbers choose among its graphs, nodes and executables.
type Choice = (u8, u8, u8, u8);

#[derive(Clone, Debug, PartialEq)]
enum Work {
    Empty,
    Fill(u32),
    Copy { from: usize },
    Host,
    Child(Vec<ModelNode>),
}

#[derive(Clone, Debug, PartialEq)]
struct ModelNode {
    raw: usize,
    cell: usize,
    work: Work,
    before: Vec<usize>,
    is_enabled: bool,
}

struct ModelGraph {
    raw: CUgraph,
    /// In the order they were added, by raw handle.
    nodes: Vec<ModelNode>,
    /// A child node, which everything added before it comes before and everything later behind.
    barrier: Option<usize>,
    owners: BTreeMap<usize, u32>,
}

struct ModelExec {
    raw: CUgraphExec,
    /// The nodes of the definition, with their work here.
    nodes: Vec<ModelNode>,
    owners: BTreeMap<usize, u32>,
}

/// A user object: the number of times that its destructor ran.
struct Owner {
    ended: Arc<AtomicU32>,
}

unsafe extern "C" fn end(data: *mut c_void) {
    // SAFETY: the counter of a user object, which was given with one count of its own.
    let ended = unsafe { Arc::from_raw(data.cast::<AtomicU32>()) };
    ended.fetch_add(1, Ordering::SeqCst);
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the counter of the program, which outlives the machine.
    let counter = unsafe { &*data.cast::<AtomicU32>() };
    counter.fetch_add(1, Ordering::SeqCst);
}

struct Program<'d> {
    driver: &'d Driver,
    stream: CUstream,
    memory: CUdeviceptr,
    graphs: Vec<ModelGraph>,
    execs: Vec<ModelExec>,
    owners: Vec<Owner>,
    cells: Vec<u32>,
    next_cell: usize,
    counted: u32,
    counter: Arc<AtomicU32>,
}

fn pick<T>(from: &[T], number: u8) -> Option<usize> {
    (!from.is_empty()).then(|| usize::from(number) % from.len())
}

impl<'d> Program<'d> {
    fn new(driver: &'d Driver) -> TestResult<Self> {
        let (mut stream, mut memory) = (null_mut(), 0);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuMemAlloc_v2(&mut memory, CELLS * 4))?;
        call!(driver.cuMemsetD32Async(memory, 0, CELLS, stream))?;
        Ok(Self {
            driver,
            stream,
            memory,
            graphs: Vec::new(),
            execs: Vec::new(),
            owners: Vec::new(),
            cells: vec![0; CELLS],
            next_cell: 0,
            counted: 0,
            counter: Arc::default(),
        })
    }

    fn address(&self, cell: usize) -> CUdeviceptr {
        self.memory + 4 * cell as u64
    }

    fn fill_params(&self, cell: usize, value: u32) -> CUDA_MEMSET_NODE_PARAMS {
        CUDA_MEMSET_NODE_PARAMS { dst: self.address(cell), pitch: 0, value, elementSize: 4, width: 1, height: 1 }
    }

    fn copy_params(&self, from: usize, to: usize) -> CUDA_MEMCPY3D {
        // SAFETY: numbers and pointers that may all be zero.
        let zeros: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
        CUDA_MEMCPY3D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: self.address(from),
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: self.address(to),
            WidthInBytes: 4,
            Height: 1,
            Depth: 1,
            ..zeros
        }
    }

    fn host_params(&self) -> CUDA_HOST_NODE_PARAMS {
        CUDA_HOST_NODE_PARAMS { fn_: Some(count), userData: Arc::as_ptr(&self.counter).cast_mut().cast() }
    }

    fn step(&mut self, (what, a, b, c): Choice) -> TestResult {
        match what % 14 {
            0 | 1 => self.add_node(a, b, c),
            2 => self.create(),
            3 => self.add_edge(a, b, c),
            4 => self.remove_edge(a, b, c),
            5 => self.destroy_node(a, b),
            6 => self.set_params(a, b, c),
            7 => self.copy_graph(a, b, c),
            8 => self.retain(a),
            9 => self.instantiate(a),
            10 => self.launch(a),
            11 => self.change_exec(a, b, c),
            12 => self.update(a, b),
            _ => self.destroy(a, b),
        }
    }

    fn create(&mut self) -> TestResult {
        let (driver, mut raw) = (self.driver, null_mut());
        if self.graphs.len() < 4 {
            call!(driver.cuGraphCreate(&mut raw, 0))?;
            self.graphs.push(ModelGraph { raw, nodes: Vec::new(), barrier: None, owners: BTreeMap::new() });
        }
        Ok(())
    }

    fn add_node(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return self.create() };
        let graph = &self.graphs[index];
        if graph.nodes.len() == NODES || self.next_cell == CELLS {
            return Ok(());
        }
        let (driver, cell) = (self.driver, self.next_cell);
        let mut before: Vec<usize> =
            graph.nodes.iter().enumerate().filter(|(place, _)| c >> (place % 8) & 1 == 1).map(|(_, n)| n.raw).collect();
        before.extend(graph.barrier);
        let source = pick(&graph.nodes, c).map(|place| &graph.nodes[place]);
        let work = match (b % 4, source) {
            (0, _) => Work::Empty,
            (1, Some(source)) if matches!(source.work, Work::Fill(_) | Work::Copy { .. }) => {
                before.push(source.raw);
                Work::Copy { from: source.cell }
            }
            (2, _) => Work::Host,
            _ => Work::Fill(u32::from(b) << 8 | u32::from(c)),
        };
        before.sort_unstable();
        before.dedup();
        let named: Vec<CUgraphNode> = before.iter().map(|raw| std::ptr::without_provenance_mut(*raw)).collect();
        let (mut node, raw, len) = (null_mut(), graph.raw, named.len());
        match &work {
            Work::Empty | Work::Child(_) => call!(driver.cuGraphAddEmptyNode(&mut node, raw, named.as_ptr(), len))?,
            Work::Fill(value) => {
                let params = self.fill_params(cell, *value);
                call!(driver.cuGraphAddMemsetNode(&mut node, raw, named.as_ptr(), len, &params, null_mut()))?;
            }
            Work::Copy { from } => {
                let params = self.copy_params(*from, cell);
                call!(driver.cuGraphAddMemcpyNode(&mut node, raw, named.as_ptr(), len, &params, null_mut()))?;
            }
            Work::Host => {
                let params = self.host_params();
                call!(driver.cuGraphAddHostNode(&mut node, raw, named.as_ptr(), len, &params))?;
            }
        }
        self.next_cell += 1;
        self.graphs[index].nodes.push(ModelNode { raw: node.addr(), cell, work, before, is_enabled: true });
        Ok(())
    }

    /// Two nodes of a graph, the earlier first.
    fn two(&self, a: u8, b: u8, c: u8) -> Option<(usize, usize, usize)> {
        let index = pick(&self.graphs, a)?;
        let nodes = &self.graphs[index].nodes;
        let (one, other) = (pick(nodes, b)?, pick(nodes, c)?);
        (one != other).then_some((index, one.min(other), one.max(other)))
    }

    fn add_edge(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some((index, from, to)) = self.two(a, b, c) else { return Ok(()) };
        let (driver, graph) = (self.driver, &mut self.graphs[index]);
        let (before, behind) = (graph.nodes[from].raw, graph.nodes[to].raw);
        if !graph.nodes[to].before.contains(&before) {
            let (one, other) = (std::ptr::without_provenance_mut(before), std::ptr::without_provenance_mut(behind));
            call!(driver.cuGraphAddDependencies_v2(graph.raw, &one, &other, null(), 1))?;
            graph.nodes[to].before.push(before);
        }
        Ok(())
    }

    fn remove_edge(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some((index, from, to)) = self.two(a, b, c) else { return Ok(()) };
        let (driver, graph) = (self.driver, &mut self.graphs[index]);
        let (earlier, later) = (&graph.nodes[from], &graph.nodes[to]);
        let is_read = matches!(later.work, Work::Copy { from } if from == earlier.cell);
        let is_child = |node: &ModelNode| matches!(node.work, Work::Child(_));
        if !later.before.contains(&earlier.raw) || is_read || is_child(earlier) || is_child(later) {
            return Ok(());
        }
        let (one, other) = (std::ptr::without_provenance_mut(earlier.raw), std::ptr::without_provenance_mut(later.raw));
        let gone = earlier.raw;
        call!(driver.cuGraphRemoveDependencies_v2(graph.raw, &one, &other, null(), 1))?;
        graph.nodes[to].before.retain(|raw| *raw != gone);
        Ok(())
    }

    fn destroy_node(&mut self, a: u8, b: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let (driver, graph) = (self.driver, &mut self.graphs[index]);
        let Some(place) = pick(&graph.nodes, b) else { return Ok(()) };
        if matches!(graph.nodes[place].work, Work::Child(_)) {
            return Ok(());
        }
        let gone = graph.nodes.remove(place);
        call!(driver.cuGraphDestroyNode(std::ptr::without_provenance_mut(gone.raw)))?;
        graph.nodes.iter_mut().for_each(|node| node.before.retain(|raw| *raw != gone.raw));
        Ok(())
    }

    fn set_params(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let Some(place) = pick(&self.graphs[index].nodes, b) else { return Ok(()) };
        let (driver, node) = (self.driver, &self.graphs[index].nodes[place]);
        if matches!(node.work, Work::Fill(_)) {
            let params = self.fill_params(node.cell, c.into());
            call!(driver.cuGraphMemsetNodeSetParams(std::ptr::without_provenance_mut(node.raw), &params))?;
            self.graphs[index].nodes[place].work = Work::Fill(c.into());
        }
        Ok(())
    }

    /// Clones a graph, or embeds it in another.
    fn copy_graph(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.graphs, a)) else { return Ok(()) };
        let Some(other) = pick(&self.graphs, b).filter(|other| *other != index && c.is_multiple_of(2)) else {
            if self.graphs.len() < 4 {
                let mut raw = null_mut();
                call!(driver.cuGraphClone(&mut raw, self.graphs[index].raw))?;
                let nodes = self.found_in(&self.graphs[index].nodes, raw)?;
                let barrier = self.graphs[index].barrier;
                let place = |raw| self.graphs[index].nodes.iter().position(|node| node.raw == raw);
                let barrier = barrier.and_then(place).map(|place| nodes[place].raw);
                let owners = self.graphs[index].owners.clone();
                self.graphs.push(ModelGraph { raw, nodes, barrier, owners });
            }
            return Ok(());
        };
        // A cell is written by one node at a time, so that a node is in a graph once.
        let cells = |nodes: &[ModelNode]| {
            let mut all: Vec<usize> = Vec::new();
            for node in nodes {
                match &node.work {
                    Work::Child(inner) => all.extend(inner.iter().map(|node| node.cell)),
                    _ => all.push(node.cell),
                }
            }
            all
        };
        let has_child = self.graphs[index].nodes.iter().any(|node| matches!(node.work, Work::Child(_)));
        let there = cells(&self.graphs[other].nodes);
        let is_double = cells(&self.graphs[index].nodes).iter().any(|cell| there.contains(cell));
        if has_child || is_double || self.graphs[other].nodes.len() == NODES {
            return Ok(());
        }
        let before: Vec<usize> = self.graphs[other].nodes.iter().map(|node| node.raw).collect();
        let named: Vec<CUgraphNode> = before.iter().map(|raw| std::ptr::without_provenance_mut(*raw)).collect();
        let (mut node, parent, child) = (null_mut(), self.graphs[other].raw, self.graphs[index].raw);
        call!(driver.cuGraphAddChildGraphNode(&mut node, parent, named.as_ptr(), named.len(), child))?;
        let mut inner = null_mut();
        call!(driver.cuGraphChildGraphNodeGetGraph(node, &mut inner))?;
        let nodes = self.found_in(&self.graphs[index].nodes, inner)?;
        let owners = self.graphs[index].owners.clone();
        let parent = &mut self.graphs[other];
        for (owner, count) in owners {
            *parent.owners.entry(owner).or_default() += count;
        }
        let (raw, work) = (node.addr(), Work::Child(nodes));
        parent.nodes.push(ModelNode { raw, cell: CELLS, work, before, is_enabled: true });
        parent.barrier = Some(raw);
        Ok(())
    }

    /// The copies of nodes in a copy of their graph.
    fn found_in(&self, nodes: &[ModelNode], copy: CUgraph) -> TestResult<Vec<ModelNode>> {
        let driver = self.driver;
        let find = |raw: usize| -> TestResult<usize> {
            let mut found = null_mut();
            call!(driver.cuGraphNodeFindInClone(&mut found, std::ptr::without_provenance_mut(raw), copy))?;
            Ok(found.addr())
        };
        let copied = |node: &ModelNode| -> TestResult<ModelNode> {
            let before = node.before.iter().map(|raw| find(*raw)).collect::<TestResult<_>>()?;
            Ok(ModelNode { raw: find(node.raw)?, before, ..node.clone() })
        };
        nodes.iter().map(copied).collect()
    }

    fn retain(&mut self, a: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.graphs, a)) else { return Ok(()) };
        let ended = Arc::new(AtomicU32::new(0));
        let mut object: CUuserObject = null_mut();
        let data = Arc::into_raw(Arc::clone(&ended)).cast_mut().cast();
        call!(driver.cuUserObjectCreate(&mut object, data, Some(end), 1, 1))?;
        call!(driver.cuGraphRetainUserObject(self.graphs[index].raw, object, 1, 1))?;
        self.graphs[index].owners.insert(self.owners.len(), 1);
        self.owners.push(Owner { ended });
        Ok(())
    }

    fn instantiate(&mut self, a: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.graphs, a)) else { return Ok(()) };
        if self.execs.len() < 4 {
            let (mut raw, graph) = (null_mut(), &self.graphs[index]);
            call!(driver.cuGraphInstantiateWithFlags(&mut raw, graph.raw, 0))?;
            self.execs.push(ModelExec { raw, nodes: graph.nodes.clone(), owners: graph.owners.clone() });
        }
        Ok(())
    }

    fn launch(&mut self, a: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.execs, a)) else { return Ok(()) };
        call!(driver.cuGraphLaunch(self.execs[index].raw, self.stream))?;
        let nodes = self.execs[index].nodes.clone();
        self.run(&nodes);
        Ok(())
    }

    /// The effect of a launch on the model, node by node.
    fn run(&mut self, nodes: &[ModelNode]) {
        for node in nodes.iter().filter(|node| node.is_enabled) {
            match &node.work {
                Work::Empty => {}
                Work::Fill(value) => self.cells[node.cell] = *value,
                Work::Copy { from } => self.cells[node.cell] = self.cells[*from],
                Work::Host => self.counted += 1,
                Work::Child(nodes) => self.run(nodes),
            }
        }
    }

    /// Changes the value of a fill in an executable, or enables or disables one.
    fn change_exec(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let (driver, Some(index)) = (self.driver, pick(&self.execs, a)) else { return Ok(()) };
        let Some(place) = pick(&self.execs[index].nodes, b) else { return Ok(()) };
        let (exec, node) = (self.execs[index].raw, self.execs[index].nodes[place].clone());
        let is_there = self.graphs.iter().any(|graph| graph.nodes.iter().any(|other| other.raw == node.raw));
        if !matches!(node.work, Work::Fill(_)) || !is_there {
            return Ok(());
        }
        let raw = std::ptr::without_provenance_mut(node.raw);
        if c.is_multiple_of(2) {
            call!(driver.cuGraphNodeSetEnabled(exec, raw, u32::from(c.is_multiple_of(4))))?;
            self.execs[index].nodes[place].is_enabled = c.is_multiple_of(4);
        } else {
            let (params, mut context) = (self.fill_params(node.cell, c.into()), null_mut());
            call!(driver.cuCtxGetCurrent(&mut context))?;
            call!(driver.cuGraphExecMemsetNodeSetParams(exec, raw, &params, context))?;
            self.execs[index].nodes[place].work = Work::Fill(c.into());
        }
        Ok(())
    }

    fn update(&mut self, a: u8, b: u8) -> TestResult {
        let (driver, Some(exec), Some(graph)) = (self.driver, pick(&self.execs, a), pick(&self.graphs, b)) else {
            return Ok(());
        };
        // SAFETY: a number and pointers that may be null.
        let mut info: CUgraphExecUpdateResultInfo = unsafe { std::mem::zeroed() };
        let updated = call!(driver.cuGraphExecUpdate_v2(self.execs[exec].raw, self.graphs[graph].raw, &mut info));
        let (old, new) = (&self.execs[exec].nodes, &self.graphs[graph].nodes);
        let is_same_graph = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.raw == new.raw);
        let has_same_edges = old.iter().zip(new).all(|(old, new)| same(&old.before, &new.before));
        if is_same_graph && has_same_edges {
            assert!(updated.is_ok(), "an executable can be updated by its own graph: {info:?}");
        }
        match updated {
            Ok(()) if is_same_graph => {
                assert_eq!(info.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
                for (old, new) in self.execs[exec].nodes.iter_mut().zip(&self.graphs[graph].nodes) {
                    (old.work, old.before) = (new.work.clone(), new.before.clone());
                }
                self.execs[exec].owners = self.graphs[graph].owners.clone();
            }
            // Another graph of the same shape: the model does not pair its nodes, so that the executable is
            // given up.
            Ok(()) => {
                let gone = self.execs.remove(exec);
                call!(driver.cuGraphExecDestroy(gone.raw))?;
            }
            Err(_) => assert_ne!(info.result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS),
        }
        Ok(())
    }

    fn destroy(&mut self, a: u8, b: u8) -> TestResult {
        let driver = self.driver;
        if b.is_multiple_of(2) {
            if let Some(index) = pick(&self.graphs, a) {
                call!(driver.cuGraphDestroy(self.graphs.remove(index).raw))?;
            }
        } else if let Some(index) = pick(&self.execs, a) {
            call!(driver.cuGraphExecDestroy(self.execs.remove(index).raw))?;
        }
        Ok(())
    }

    /// Compares the machine with the model.
    fn check(&self) -> TestResult {
        let driver = self.driver;
        for graph in &self.graphs {
            let mut len = 0;
            call!(driver.cuGraphGetNodes(graph.raw, null_mut(), &mut len))?;
            assert_eq!(len, graph.nodes.len());
            call!(driver.cuGraphGetEdges_v2(graph.raw, null_mut(), null_mut(), null_mut(), &mut len))?;
            let (mut from, mut to) = (vec![null_mut(); len.max(1)], vec![null_mut(); len.max(1)]);
            if len > 0 {
                call!(driver.cuGraphGetEdges_v2(graph.raw, from.as_mut_ptr(), to.as_mut_ptr(), null_mut(), &mut len))?;
            }
            let mut there: Vec<(usize, usize)> =
                from.iter().zip(&to).take(len).map(|(from, to)| (from.addr(), to.addr())).collect();
            let mut expected: Vec<(usize, usize)> =
                graph.nodes.iter().flat_map(|node| node.before.iter().map(|before| (*before, node.raw))).collect();
            there.sort_unstable();
            expected.sort_unstable();
            assert_eq!(there, expected);
        }
        Ok(())
    }

    fn check_bytes(&self) -> TestResult {
        let (driver, mut bytes) = (self.driver, vec![0_u32; CELLS]);
        call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), self.memory, CELLS * 4, self.stream))?;
        call!(driver.cuStreamSynchronize(self.stream))?;
        assert_eq!(bytes, self.cells);
        assert_eq!(self.counter.load(Ordering::SeqCst), self.counted);
        Ok(())
    }

    /// Owners that a graph or an executable refers to are alive; the others end, on a machine with threads
    /// some time later.
    fn check_owners(&self) {
        let deadline = Instant::now() + Duration::from_secs(5);
        for (index, owner) in self.owners.iter().enumerate() {
            let is_held = self.graphs.iter().map(|graph| &graph.owners).any(|owners| owners.contains_key(&index))
                || self.execs.iter().any(|exec| exec.owners.contains_key(&index));
            while !is_held && owner.ended.load(Ordering::SeqCst) == 0 && Instant::now() < deadline {
                std::thread::sleep(Duration::from_micros(200));
            }
            assert_eq!(owner.ended.load(Ordering::SeqCst), u32::from(!is_held), "owner {index}");
        }
    }
}

fn same(one: &[usize], other: &[usize]) -> bool {
    one.len() == other.len() && one.iter().all(|raw| other.contains(raw))
}

fn run(program: &[Choice], mode: Mode) -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, mode)?;
    let primary = Primary::of(&driver, 0)?;
    let mut state = Program::new(&driver)?;
    for (number, choice) in program.iter().enumerate() {
        state.step(*choice)?;
        state.check()?;
        if number % 8 == 7 {
            state.check_bytes()?;
            state.check_owners();
        }
    }
    state.check_bytes()?;
    for graph in std::mem::take(&mut state.graphs) {
        call!(driver.cuGraphDestroy(graph.raw))?;
    }
    for exec in std::mem::take(&mut state.execs) {
        call!(driver.cuGraphExecDestroy(exec.raw))?;
    }
    state.check_owners();
    call!(driver.cuMemFree_v2(state.memory))?;
    call!(driver.cuStreamDestroy_v2(state.stream))?;
    drop(primary);
    assert_sound(&machine);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_programs(2000), ..ProptestConfig::default() })]

    /// S2.5, S2.6, S2.7, S2.9, S2.23: the same edges, the same bytes and the same live owners as the model.
    #[test]
    fn graphs_are_what_a_model_says(program in prop::collection::vec(any::<Choice>(), 1..64), seed in any::<u64>()) {
        let mode = mode_for(seed);
        run(&program, mode).map_err(|error| TestCaseError::fail(format!("{mode:?}: {error}")))?;
    }
}
