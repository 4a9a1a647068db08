//! Random programs that build, change, copy, embed, instantiate, update, launch and drop graphs, against a
//! model.
//!
//! Every node has an owner: fills and copies write a buffer of their own, host functions and values that a
//! graph is told to keep hold a value that is watched. A copy depends on the node that it reads from, so that
//! the outcome is that of running the nodes in the order they were added, which is what the model does. After
//! each step the edges are the model's, and the program, the graphs and the executables together keep exactly
//! the owners that the model says; every few steps the bytes are compared.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use warploom::graph::{ChildNode, CopyNode, EmptyNode, FillNode, HostNode, Node, Owner, reclaim};
use warploom::leaks::Leaks;
use warploom::{Buffer, Context, DevicePool, GraphDef, GraphExec, LiveSet as _, Stream};
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode};
use warploom_testkit::{TestResult, assert_sound, mode_for, random_programs};

/// Nodes of a graph, at most.
const NODES: usize = 12;
/// Graphs and executables at a time, at most.
const GRAPHS: usize = 4;

/// One step of a program; the numbers choose among its graphs, nodes and executables.
type Choice = (u8, u8, u8, u8);

/// An owner: the buffer or the value with this number.
type OwnerId = usize;

#[derive(Clone)]
enum Handle {
    Empty(EmptyNode),
    Fill(FillNode),
    Copy(CopyNode),
    Host(HostNode),
    /// A host node of a copied graph, which has no type of its own.
    HostCopy(Node),
    Child(ChildNode),
}

impl Handle {
    fn node(&self) -> &Node {
        match self {
            Handle::Empty(node) => node,
            Handle::Fill(node) => node,
            Handle::Copy(node) => node,
            Handle::Host(node) => node,
            Handle::HostCopy(node) => node,
            Handle::Child(node) => node,
        }
    }
}

#[derive(Clone)]
enum Work {
    Empty,
    Fill { to: OwnerId, value: u32 },
    Copy { from: OwnerId, to: OwnerId },
    Host { value: OwnerId },
    Child(Vec<ModelNode>),
}

impl Work {
    /// The owners of the parameters.
    fn owners(&self) -> BTreeSet<OwnerId> {
        match self {
            Work::Empty => BTreeSet::new(),
            Work::Fill { to, .. } => [*to].into(),
            Work::Copy { from, to } => [*from, *to].into(),
            Work::Host { value } => [*value].into(),
            Work::Child(nodes) => nodes.iter().flat_map(|node| node.work.owners()).collect(),
        }
    }

    /// The buffers that are written.
    fn written(&self) -> Vec<OwnerId> {
        match self {
            Work::Empty | Work::Host { .. } => Vec::new(),
            Work::Fill { to, .. } | Work::Copy { to, .. } => vec![*to],
            Work::Child(nodes) => nodes.iter().flat_map(|node| node.work.written()).collect(),
        }
    }

    fn is_child(&self) -> bool {
        matches!(self, Work::Child(_))
    }
}

#[derive(Clone)]
struct ModelNode {
    handle: Handle,
    work: Work,
    before: Vec<Node>,
    is_enabled: bool,
}

struct ModelGraph {
    graph: GraphDef,
    /// In the order they were added.
    nodes: Vec<ModelNode>,
    /// Owners of no node.
    kept: BTreeSet<OwnerId>,
    /// The number of edges that were removed: a driver pairs nodes by the order of the calls that made them
    /// and their edges.
    removed: u32,
}

impl ModelGraph {
    fn owners(&self) -> BTreeSet<OwnerId> {
        self.nodes.iter().flat_map(|node| node.work.owners()).chain(self.kept.iter().copied()).collect()
    }

    /// The child node that was added last: the nodes before it come before it, and later ones behind.
    fn barrier(&self) -> Option<&ModelNode> {
        self.nodes.iter().rfind(|node| node.work.is_child())
    }
}

struct ModelExec {
    exec: GraphExec,
    /// The nodes of the definition, with their work here.
    nodes: Vec<ModelNode>,
    /// Those of the definition when it was instantiated or updated, and of every change since.
    owners: BTreeSet<OwnerId>,
    /// The edges that had been removed from the definition then.
    removed: u32,
}

/// A buffer of one value, or a value that is watched.
enum ModelOwner {
    /// `None` when the program has dropped it.
    Memory {
        buffer: Option<Buffer<u32>>,
        value: u32,
    },
    Value(Weak<AtomicU32>),
}

struct Program {
    context: Context,
    stream: Stream,
    pool: DevicePool,
    leaks: Leaks,
    graphs: Vec<ModelGraph>,
    execs: Vec<ModelExec>,
    owners: Vec<ModelOwner>,
    /// Calls of host functions, by the model and by themselves.
    calls: (u32, Arc<AtomicU32>),
    /// A node of no graph of the program, in place of one whose graph was dropped.
    nowhere: EmptyNode,
}

fn pick<T>(from: &[T], number: u8) -> Option<usize> {
    (!from.is_empty()).then(|| usize::from(number) % from.len())
}

impl Program {
    fn new(driver: &warploom::Driver) -> TestResult<Program> {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let (leaks, calls) = (Leaks::track(driver), (0, Arc::default()));
        let nowhere = GraphDef::new(&context)?.empty()?;
        Ok(Program {
            context,
            stream,
            pool,
            leaks,
            graphs: Vec::new(),
            execs: Vec::new(),
            owners: Vec::new(),
            calls,
            nowhere,
        })
    }

    fn step(&mut self, (what, a, b, c): Choice) -> TestResult {
        match what % 16 {
            0..=2 => self.add_node(a, b, c),
            3 => self.create(),
            4 => self.add_edge(a, b, c),
            5 => self.remove_edge(a, b, c),
            6 => self.destroy_node(a, b),
            7 => self.set_parameters(a, b, c),
            8 => self.copy_graph(a),
            9 => self.embed(a, b),
            10 => self.keep_alive(a),
            11 => self.instantiate(a),
            12 => self.launch(a),
            13 => self.change_exec(a, b, c),
            14 => self.update(a, b),
            _ => self.end(a, b),
        }
    }

    fn create(&mut self) -> TestResult {
        if self.graphs.len() < GRAPHS {
            let graph = GraphDef::new(&self.context)?;
            self.graphs.push(ModelGraph { graph, nodes: Vec::new(), kept: BTreeSet::new(), removed: 0 });
        }
        Ok(())
    }

    /// A buffer that the program holds.
    fn memory(&mut self) -> TestResult<OwnerId> {
        let buffer = self.pool.zeroed(1, &self.stream)?;
        self.owners.push(ModelOwner::Memory { buffer: Some(buffer), value: 0 });
        Ok(self.owners.len() - 1)
    }

    /// A value that counts, and nothing but its function holds.
    fn value(&mut self) -> (OwnerId, impl Fn() + Send + Sync + 'static) {
        let (value, calls) = (Arc::new(AtomicU32::new(0)), Arc::clone(&self.calls.1));
        self.owners.push(ModelOwner::Value(Arc::downgrade(&value)));
        let function = move || {
            value.fetch_add(1, Ordering::SeqCst);
            calls.fetch_add(1, Ordering::SeqCst);
        };
        (self.owners.len() - 1, function)
    }

    /// The buffer, taken out for a call; the program has it back by [`Program::put`].
    fn take(&mut self, owner: OwnerId) -> Option<Buffer<u32>> {
        match &mut self.owners[owner] {
            ModelOwner::Memory { buffer, .. } => buffer.take(),
            ModelOwner::Value(_) => None,
        }
    }

    fn put(&mut self, owner: OwnerId, buffer: Buffer<u32>) {
        if let ModelOwner::Memory { buffer: place, .. } = &mut self.owners[owner] {
            *place = Some(buffer);
        }
    }

    fn add_node(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return self.create() };
        let here = &self.graphs[index];
        if here.nodes.len() == NODES {
            return Ok(());
        }
        let chosen = here.nodes.iter().enumerate().filter(|(place, _)| c >> (place % 8) & 1 == 1);
        let mut before: Vec<Node> = chosen.map(|(_, node)| node.handle.node().clone()).collect();
        before.extend(here.barrier().map(|node| node.handle.node().clone()));
        let source = pick(&here.nodes, c).map(|place| here.nodes[place].clone());
        let read = source.and_then(|node| Some((node.handle.node().clone(), *node.work.written().first()?)));
        let read = read.filter(|_| b % 4 == 1).and_then(|(node, from)| Some((node, from, self.take(from)?)));
        if let Some((node, ..)) = &read {
            before.push(node.clone());
        }
        before.sort_unstable();
        before.dedup();
        let graph = self.graphs[index].graph.clone();
        let position = graph.after(before.iter().cloned());
        let (handle, work) = match (b % 4, read) {
            (_, Some((_, from, source))) => {
                let to = self.memory()?;
                let Some(mut buffer) = self.take(to) else { return Ok(()) };
                let node = position.copy(&source, &mut buffer)?;
                self.put(from, source);
                self.put(to, buffer);
                (Handle::Copy(node), Work::Copy { from, to })
            }
            (0, _) => (Handle::Empty(position.empty()?), Work::Empty),
            (2, _) => {
                let (value, function) = self.value();
                (Handle::Host(position.host(function)?), Work::Host { value })
            }
            _ => {
                let (to, value) = (self.memory()?, u32::from(b) << 8 | u32::from(c));
                let Some(mut buffer) = self.take(to) else { return Ok(()) };
                let node = position.fill(&mut buffer, value)?;
                self.put(to, buffer);
                (Handle::Fill(node), Work::Fill { to, value })
            }
        };
        self.graphs[index].nodes.push(ModelNode { handle, work, before, is_enabled: true });
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
        let nodes = &mut self.graphs[index].nodes;
        let earlier = nodes[from].handle.node().clone();
        let is_new = nodes[to].handle.node().predecessors().insert(&earlier)?;
        assert_eq!(is_new, !nodes[to].before.contains(&earlier));
        if is_new {
            nodes[to].before.push(earlier);
        }
        Ok(())
    }

    fn remove_edge(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some((index, from, to)) = self.two(a, b, c) else { return Ok(()) };
        let nodes = &mut self.graphs[index].nodes;
        let read = match nodes[to].work {
            Work::Copy { from, .. } => Some(from),
            _ => None,
        };
        let is_read = read.is_some_and(|read| nodes[from].work.written().contains(&read));
        if is_read || nodes[from].work.is_child() || nodes[to].work.is_child() {
            return Ok(());
        }
        let earlier = nodes[from].handle.node().clone();
        let was_there = nodes[to].handle.node().predecessors().remove(&earlier)?;
        assert_eq!(was_there, nodes[to].before.contains(&earlier));
        nodes[to].before.retain(|node| *node != earlier);
        self.graphs[index].removed += u32::from(was_there);
        Ok(())
    }

    fn destroy_node(&mut self, a: u8, b: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let nodes = &mut self.graphs[index].nodes;
        let Some(place) = pick(nodes, b).filter(|place| !nodes[*place].work.is_child()) else { return Ok(()) };
        let gone = nodes.remove(place).handle.node().clone();
        gone.destroy()?;
        assert!(gone.is_destroyed());
        nodes.iter_mut().for_each(|node| node.before.retain(|before| *before != gone));
        Ok(())
    }

    /// Gives a fill another value, or a host node another function.
    fn set_parameters(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let Some(place) = pick(&self.graphs[index].nodes, b) else { return Ok(()) };
        match self.graphs[index].nodes[place].clone() {
            ModelNode { handle: Handle::Fill(node), work: Work::Fill { to, .. }, .. } => {
                node.set_value(u32::from(c))?;
                self.graphs[index].nodes[place].work = Work::Fill { to, value: c.into() };
            }
            ModelNode { handle: Handle::Host(mut node), .. } => {
                let (value, function) = self.value();
                node.set_function(function)?;
                self.graphs[index].nodes[place].work = Work::Host { value };
            }
            _ => {}
        }
        Ok(())
    }

    /// The model of a copy that the driver has made of some nodes.
    fn copied(nodes: &[ModelNode], copy: &GraphDef) -> TestResult<Vec<ModelNode>> {
        let new = copy.nodes()?;
        assert_eq!(new.len(), nodes.len());
        let twin = |node: &Node| nodes.iter().position(|old| old.handle.node() == node).map(|place| new[place].clone());
        let pairs = nodes.iter().zip(&new);
        pairs
            .map(|(old, node)| {
                let (handle, work) = match &old.handle {
                    Handle::Empty(_) => (Handle::Empty(node.downcast()?), old.work.clone()),
                    Handle::Fill(_) => (Handle::Fill(node.downcast()?), old.work.clone()),
                    Handle::Copy(_) => (Handle::Copy(node.downcast()?), old.work.clone()),
                    Handle::Host(_) | Handle::HostCopy(_) => (Handle::HostCopy(node.clone()), old.work.clone()),
                    Handle::Child(_) => {
                        let child: ChildNode = node.downcast()?;
                        let Work::Child(inner) = &old.work else { return Err("a child node has a child graph".into()) };
                        let inner = Program::copied(inner, &child.child()?)?;
                        (Handle::Child(child), Work::Child(inner))
                    }
                };
                let before = old.before.iter().filter_map(twin).collect();
                Ok(ModelNode { handle, work, before, is_enabled: true })
            })
            .collect()
    }

    fn copy_graph(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a).filter(|_| self.graphs.len() < GRAPHS) else { return Ok(()) };
        let original = &self.graphs[index];
        let graph = original.graph.try_clone()?;
        let (nodes, kept) = (Program::copied(&original.nodes, &graph)?, original.kept.clone());
        self.graphs.push(ModelGraph { graph, nodes, kept, removed: 0 });
        Ok(())
    }

    /// Embeds a graph in another, behind all of its nodes. A buffer is written by one node of a graph.
    fn embed(&mut self, a: u8, b: u8) -> TestResult {
        let (Some(from), Some(to)) = (pick(&self.graphs, a), pick(&self.graphs, b)) else { return Ok(()) };
        let (source, target) = (&self.graphs[from], &self.graphs[to]);
        let written: Vec<OwnerId> = target.nodes.iter().flat_map(|node| node.work.written()).collect();
        let is_double = source.nodes.iter().flat_map(|node| node.work.written()).any(|owner| written.contains(&owner));
        let has_child = source.nodes.iter().any(|node| node.work.is_child());
        if from == to || has_child || is_double || target.nodes.len() == NODES {
            return Ok(());
        }
        let before: Vec<Node> = target.nodes.iter().map(|node| node.handle.node().clone()).collect();
        let node = target.graph.after(before.iter().cloned()).embed(&source.graph)?;
        let inner = Program::copied(&source.nodes, &node.child()?)?;
        let kept = source.kept.clone();
        let target = &mut self.graphs[to];
        target.kept.extend(kept); // no node of this kind is ever destroyed here
        target.nodes.push(ModelNode {
            handle: Handle::Child(node),
            work: Work::Child(inner),
            before,
            is_enabled: true,
        });
        Ok(())
    }

    fn keep_alive(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
        let value = Arc::new(AtomicU32::new(0));
        self.owners.push(ModelOwner::Value(Arc::downgrade(&value)));
        self.graphs[index].kept.insert(self.owners.len() - 1);
        Ok(self.graphs[index].graph.keep_alive(Owner::shared(value))?)
    }

    fn instantiate(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.graphs, a).filter(|_| self.execs.len() < GRAPHS) else { return Ok(()) };
        let graph = &self.graphs[index];
        let (exec, nodes) = (graph.graph.instantiate()?, graph.nodes.clone());
        self.execs.push(ModelExec { exec, nodes, owners: graph.owners(), removed: graph.removed });
        Ok(())
    }

    fn launch(&mut self, a: u8) -> TestResult {
        let Some(index) = pick(&self.execs, a) else { return Ok(()) };
        self.execs[index].exec.launch(&self.stream)?;
        let nodes = self.execs[index].nodes.clone();
        self.run(&nodes);
        Ok(())
    }

    /// The effect of a launch on the model, node by node.
    fn run(&mut self, nodes: &[ModelNode]) {
        for node in nodes.iter().filter(|node| node.is_enabled) {
            match &node.work {
                Work::Empty => {}
                Work::Fill { to, value } => self.write(*to, *value),
                Work::Copy { from, to } => {
                    let ModelOwner::Memory { value, .. } = self.owners[*from] else { continue };
                    self.write(*to, value);
                }
                Work::Host { .. } => self.calls.0 += 1,
                Work::Child(nodes) => self.run(nodes),
            }
        }
    }

    fn write(&mut self, owner: OwnerId, new: u32) {
        if let ModelOwner::Memory { value, .. } = &mut self.owners[owner] {
            *value = new;
        }
    }

    /// Gives a node of an executable other parameters, or enables or disables it.
    fn change_exec(&mut self, a: u8, b: u8, c: u8) -> TestResult {
        let Some(index) = pick(&self.execs, a) else { return Ok(()) };
        let Some(place) = pick(&self.execs[index].nodes, b) else { return Ok(()) };
        let node = self.execs[index].nodes[place].clone();
        if node.handle.node().is_destroyed() {
            return Ok(());
        }
        match (&node.handle, &node.work) {
            (Handle::Fill(fill), _) if c % 4 < 2 => {
                self.execs[index].exec.node(fill).set_enabled(c % 4 == 1)?;
                assert_eq!(self.execs[index].exec.node(fill).is_enabled()?, c % 4 == 1);
                self.execs[index].nodes[place].is_enabled = c % 4 == 1;
            }
            (Handle::Fill(fill), Work::Fill { to, .. }) => {
                let (to, value) = (*to, u32::from(c));
                let Some(mut buffer) = self.take(to) else { return Ok(()) };
                self.execs[index].exec.node(fill).set(&mut buffer, value)?;
                self.put(to, buffer);
                self.execs[index].nodes[place].work = Work::Fill { to, value };
                self.execs[index].owners.insert(to);
            }
            (Handle::Host(host), _) => {
                let (value, function) = self.value();
                self.execs[index].exec.node(host).set_function(function)?;
                self.execs[index].nodes[place].work = Work::Host { value };
                self.execs[index].owners.insert(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn update(&mut self, a: u8, b: u8) -> TestResult {
        let (Some(exec), Some(graph)) = (pick(&self.execs, a), pick(&self.graphs, b)) else { return Ok(()) };
        let updated = self.execs[exec].exec.update(&self.graphs[graph].graph);
        let (old, new) = (&self.execs[exec].nodes, &self.graphs[graph].nodes);
        let has_same_nodes =
            old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.handle.node() == new.handle.node());
        let has_same_edges = self.execs[exec].removed == self.graphs[graph].removed
            && old.iter().zip(new).all(|(old, new)| old.before == new.before);
        match updated {
            Ok(()) if has_same_nodes => {
                let owners = self.graphs[graph].owners();
                for (old, new) in self.execs[exec].nodes.iter_mut().zip(&self.graphs[graph].nodes) {
                    (old.work, old.before) = (new.work.clone(), new.before.clone());
                }
                self.execs[exec].owners = owners;
                self.execs[exec].removed = self.graphs[graph].removed;
            }
            // Another graph of the same shape: the model does not pair its nodes, so that the executable is
            // given up.
            Ok(()) => self.execs.remove(exec).exec.close()?,
            Err(error) => {
                assert!(!(has_same_nodes && has_same_edges), "an executable can be updated by its own graph: {error}");
            }
        }
        Ok(())
    }

    /// Drops a graph, an executable or a buffer.
    fn end(&mut self, a: u8, b: u8) -> TestResult {
        match b % 3 {
            0 => {
                let Some(index) = pick(&self.graphs, a) else { return Ok(()) };
                let gone = self.graphs.remove(index);
                // A handle to a node keeps its graph.
                for exec in &mut self.execs {
                    if exec.nodes.iter().any(|node| *node.handle.node().graph() == gone.graph) {
                        forget(&mut exec.nodes, &self.nowhere);
                    }
                }
            }
            1 => {
                let Some(index) = pick(&self.execs, a) else { return Ok(()) };
                self.execs.remove(index).exec.close()?;
            }
            _ => {
                let Some(owner) = pick(&self.owners, a) else { return Ok(()) };
                drop(self.take(owner));
            }
        }
        Ok(())
    }

    fn check_edges(&self) -> TestResult {
        for ModelGraph { graph, nodes, .. } in &self.graphs {
            assert_eq!(graph.node_count()?, nodes.len());
            let mut there = graph.edges()?;
            let of = |node: &ModelNode| {
                let node = node.clone();
                node.before.into_iter().map(move |before| (before, node.handle.node().clone()))
            };
            let mut expected: Vec<(Node, Node)> = nodes.iter().flat_map(of).collect();
            there.sort_unstable();
            expected.sort_unstable();
            assert_eq!(there, expected);
        }
        Ok(())
    }

    fn check_bytes(&self) -> TestResult {
        for owner in &self.owners {
            if let ModelOwner::Memory { buffer: Some(buffer), value } = owner {
                assert_eq!(buffer.download(&self.stream)?, [*value]);
            }
        }
        self.stream.synchronize()?;
        assert_eq!(self.calls.1.load(Ordering::SeqCst), self.calls.0);
        Ok(())
    }

    /// Owners that the program, a graph or an executable holds are alive; the others go.
    fn check_owners(&self) -> TestResult {
        self.stream.synchronize()?;
        let graphs = self.graphs.iter().flat_map(ModelGraph::owners);
        let held: BTreeSet<OwnerId> = graphs.chain(self.execs.iter().flat_map(|exec| exec.owners.clone())).collect();
        let (mut memory, mut values) = (0, BTreeSet::new());
        for (index, owner) in self.owners.iter().enumerate() {
            match owner {
                ModelOwner::Memory { buffer, .. } => memory += usize::from(buffer.is_some() || held.contains(&index)),
                ModelOwner::Value(_) if held.contains(&index) => _ = values.insert(index),
                ModelOwner::Value(_) => {}
            }
        }
        let alive = || {
            let is_alive = |owner: &ModelOwner| matches!(owner, ModelOwner::Value(value) if value.strong_count() > 0);
            let values = self.owners.iter().enumerate().filter(|(_, owner)| is_alive(owner)).map(|(index, _)| index);
            (self.leaks.report().count(|kind| kind.is_memory()), values.collect::<BTreeSet<OwnerId>>())
        };
        // On a machine with threads, the driver lets go some time after a launch has ended.
        let deadline = Instant::now() + Duration::from_secs(5);
        let expected = (memory, values);
        reclaim();
        while alive() != expected && Instant::now() < deadline {
            std::thread::sleep(Duration::from_micros(200));
            reclaim();
        }
        assert_eq!(alive(), expected, "buffers, and values by number");
        Ok(())
    }
}

/// Takes the handles to nodes of a graph out of the model of an executable.
fn forget(nodes: &mut [ModelNode], nowhere: &EmptyNode) {
    for node in nodes {
        (node.handle, node.before) = (Handle::Empty(nowhere.clone()), Vec::new());
        if let Work::Child(inner) = &mut node.work {
            forget(inner, nowhere);
        }
    }
}

fn run(program: &[Choice], mode: Mode) -> TestResult {
    let machine = Machine::builder().topology(Topology::preset("h200")?).mode(mode).start()?;
    let driver = warploom::Driver::open(&machine)?;
    let mut state = Program::new(&driver)?;
    for (number, choice) in program.iter().enumerate() {
        state.step(*choice)?;
        state.check_edges()?;
        state.check_owners()?;
        if number % 8 == 7 {
            state.check_bytes()?;
        }
    }
    state.check_bytes()?;
    (state.graphs, state.execs) = (Vec::new(), Vec::new());
    state.check_owners()?;
    drop(state);
    assert_sound(&machine);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: random_programs(1000), ..ProptestConfig::default() })]

    /// S2.5, S2.6, S2.7, S2.9, S2.18, S2.23: the same edges, the same bytes and the same live owners as the
    /// model.
    #[test]
    fn graphs_keep_what_a_model_says(program in prop::collection::vec(any::<Choice>(), 1..64), seed in any::<u64>()) {
        let mode = mode_for(seed);
        run(&program, mode).map_err(|error| TestCaseError::fail(format!("{mode:?}: {error}")))?;
    }
}
