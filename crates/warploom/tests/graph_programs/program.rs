//! A random program: its state, and the choice of each step.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom::graph::EmptyNode;
use warploom::leaks::Leaks;
use warploom::{Buffer, Context, DevicePool, GraphDef, Stream};
use warploom_testkit::TestResult;

use crate::model::{ModelExec, ModelGraph, ModelOwner, OwnerId};

/// Nodes of a graph, at most.
pub(crate) const NODES: usize = 12;
/// Graphs and executables at a time, at most.
pub(crate) const GRAPHS: usize = 4;

/// One step of a program; the numbers choose among its graphs, nodes and executables.
pub(crate) type Choice = (u8, u8, u8, u8);

pub(crate) struct Program {
    pub(crate) context: Context,
    pub(crate) stream: Stream,
    pub(crate) pool: DevicePool,
    pub(crate) leaks: Leaks,
    pub(crate) graphs: Vec<ModelGraph>,
    pub(crate) execs: Vec<ModelExec>,
    pub(crate) owners: Vec<ModelOwner>,
    /// Calls of host functions, by the model and by themselves.
    pub(crate) calls: (u32, Arc<AtomicU32>),
    /// A node of no graph of the program, in place of one whose graph was dropped.
    pub(crate) nowhere: EmptyNode,
}

pub(crate) fn pick<T>(from: &[T], number: u8) -> Option<usize> {
    (!from.is_empty()).then(|| usize::from(number) % from.len())
}

impl Program {
    pub(crate) fn new(driver: &warploom::Driver) -> TestResult<Program> {
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

    pub(crate) fn step(&mut self, (what, a, b, c): Choice) -> TestResult {
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

    pub(crate) fn create(&mut self) -> TestResult {
        if self.graphs.len() < GRAPHS {
            let graph = GraphDef::new(&self.context)?;
            self.graphs.push(ModelGraph { graph, nodes: Vec::new(), kept: BTreeSet::new(), removed: 0, destroyed: 0 });
        }
        Ok(())
    }

    /// A buffer that the program holds.
    pub(crate) fn memory(&mut self) -> TestResult<OwnerId> {
        let buffer = self.pool.zeroed(1, &self.stream)?;
        self.owners.push(ModelOwner::Memory { buffer: Some(buffer), value: 0 });
        Ok(self.owners.len() - 1)
    }

    /// A value that counts, and nothing but its function holds.
    pub(crate) fn value(&mut self) -> (OwnerId, impl Fn() + Send + Sync + 'static) {
        let (value, calls) = (Arc::new(AtomicU32::new(0)), Arc::clone(&self.calls.1));
        self.owners.push(ModelOwner::Value(Arc::downgrade(&value)));
        let function = move || {
            value.fetch_add(1, Ordering::SeqCst);
            calls.fetch_add(1, Ordering::SeqCst);
        };
        (self.owners.len() - 1, function)
    }

    /// The buffer, taken out for a call; the program has it back by [`Program::put`].
    pub(crate) fn take(&mut self, owner: OwnerId) -> Option<Buffer<u32>> {
        match &mut self.owners[owner] {
            ModelOwner::Memory { buffer, .. } => buffer.take(),
            ModelOwner::Value(_) => None,
        }
    }

    pub(crate) fn put(&mut self, owner: OwnerId, buffer: Buffer<u32>) {
        if let ModelOwner::Memory { buffer: place, .. } = &mut self.owners[owner] {
            *place = Some(buffer);
        }
    }
}
