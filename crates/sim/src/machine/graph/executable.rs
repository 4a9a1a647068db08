//! Executables: instantiated graphs.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;
use warploom_engine::{Known, OpId, QueueId};

use super::index::Index;
use super::plan::{Plan, Step};
use super::work::NewWork;
use super::{Graphs, NodeWork, Outline};
use crate::ffi::handle::{ConditionHandle, ContextHandle, GraphHandle, NodeHandle, UserObjectHandle, kind};
use crate::machine::conditions::Conditions;
use crate::machine::objects::Object;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
pub(crate) const AUTO_FREE: u64 = 1;

/// A graph that has been instantiated.
pub(crate) struct Executable {
    /// The number that `cuGraphExecGetId` shows.
    pub(crate) id: u32,
    /// The graph that it was instantiated from, which may be gone.
    pub(crate) graph: GraphHandle,
    /// The flags of its instantiation.
    pub(crate) flags: u64,
    /// The graphs whose memory nodes it has, of the one that it was instantiated from, or updated by since.
    memory_of: Vec<GraphHandle>,
    outline: Outline,
    /// Shared with the conditional nodes of launches in flight.
    plan: Arc<Plan>,
    index: Index,
    /// Shared with the launches in flight.
    pub(crate) references: Arc<References>,
    /// The values of its conditions, shared with the launches in flight.
    pub(crate) conditions: Arc<Conditions>,
    /// The conditions that a launch sets to their defaults.
    pub(crate) defaults: Arc<[(ConditionHandle, u32)]>,
    /// The addresses of memory that its nodes allocate, sorted.
    pub(crate) allocated: Vec<u64>,
    /// Allocated addresses that none of its nodes frees, sorted.
    pub(crate) unfreed: Vec<u64>,
    /// The addresses that its nodes free and none of them allocates.
    pub(crate) foreign_frees: Vec<u64>,
    /// The end of its newest launch.
    pub(crate) last: Option<OpId>,
    /// The timelines of its chains, for the checks. Launches follow each other, so that all use the same.
    pub(crate) chains: Vec<Known>,
    /// Queues for nodes of other contexts than the launching stream's.
    pub(crate) queues: SmallVec<[(ContextHandle, QueueId); 1]>,
}

/// References to user objects, which the executable and its launches hold together.
#[derive(Default)]
pub(crate) struct References {
    pub(crate) objects: Vec<(UserObjectHandle, u32)>,
    /// The graph of the definition that each of them is of: the root, or the graph inside a child graph node.
    graphs: Vec<GraphHandle>,
}

impl References {
    /// Adds the references of a graph of the definition.
    pub(crate) fn add(&mut self, graph: GraphHandle, objects: impl IntoIterator<Item = (UserObjectHandle, u32)>) {
        self.objects.extend(objects);
        self.graphs.resize(self.objects.len(), graph);
    }

    /// These references, but for those of some graphs.
    fn without(&self, gone: &[GraphHandle]) -> Self {
        let kept = self.objects.iter().zip(&self.graphs).filter(|(_, graph)| !gone.contains(graph));
        let (objects, graphs) = kept.map(|(object, graph)| (*object, *graph)).unzip();
        Self { objects, graphs }
    }
}

impl Object for Executable {
    type Kind = kind::Executable;
}

impl Executable {
    /// An executable of a graph as it is now.
    pub(crate) fn new(graphs: &Graphs, graph: GraphHandle, id: u32, flags: u64) -> Self {
        let plan = Plan::new(graphs, graph);
        let references = Arc::new(graphs.references_of(graph));
        let mut executable = Self {
            id,
            graph,
            flags,
            memory_of: graphs.with_memory_nodes(graph),
            outline: Outline::new(graphs, graph),
            plan: Arc::new(plan),
            index: Index::default(),
            references,
            conditions: Arc::default(),
            defaults: Arc::new([]),
            allocated: Vec::new(),
            unfreed: Vec::new(),
            foreign_frees: Vec::new(),
            last: None,
            chains: Vec::new(),
            queues: SmallVec::new(),
        };
        executable.study(graphs);
        executable
    }

    /// Derives from its plan: the index, the default values of conditions, and the addresses of memory nodes.
    fn study(&mut self, graphs: &Graphs) {
        self.index = Index::new(&self.plan);
        let mut conditions = Vec::new();
        let (mut defaults, mut balance) = (Vec::new(), BTreeMap::<u64, (u32, u32)>::new());
        self.plan.each(&mut |step| match &step.work {
            NodeWork::Conditional(conditional) => {
                conditions.push(conditional.condition.bits());
                let condition = graphs.conditions.get(conditional.condition).filter(|found| found.is_reset_at_launch);
                defaults.extend(condition.map(|found| (conditional.condition, found.default)));
            }
            NodeWork::Alloc(allocation) => balance.entry(allocation.address).or_default().0 += 1,
            NodeWork::Free(address) => balance.entry(*address).or_default().1 += 1,
            _ => {}
        });
        self.conditions = Arc::new(Conditions::new(conditions));
        self.defaults = defaults.into();
        let those = |is_meant: fn(u32, u32) -> bool| {
            let found = balance.iter().filter(|(_, (allocated, freed))| is_meant(*allocated, *freed));
            found.map(|(address, _)| *address).collect()
        };
        self.allocated = those(|allocated, _| allocated > 0);
        self.unfreed = those(|allocated, freed| allocated > freed);
        self.foreign_frees = those(|allocated, freed| allocated < freed);
    }

    /// The addresses of memory that its nodes allocate or free, each once.
    pub(crate) fn addresses(&self) -> Vec<u64> {
        self.allocated.iter().chain(&self.foreign_frees).copied().collect()
    }

    /// `true` if it has the memory nodes of one of these graphs, which then has no other executable.
    pub(crate) fn has_memory_of(&self, graphs: &[GraphHandle]) -> bool {
        graphs.iter().any(|graph| self.memory_of.contains(graph))
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Takes over other work for its nodes, and the rest from an executable of the graph that has this work.
    /// Returns the old references.
    pub(crate) fn renew(&mut self, works: Vec<NewWork>, other: Executable) -> Arc<References> {
        self.take_over(works);
        (self.conditions, self.defaults, self.allocated) = (other.conditions, other.defaults, other.allocated);
        (self.unfreed, self.foreign_frees) = (other.unfreed, other.foreign_frees);
        self.memory_of = other.memory_of;
        std::mem::replace(&mut self.references, other.references)
    }

    /// The references that it has when a child graph node, with these graphs inside, takes over those of another
    /// graph.
    pub(crate) fn references_with(&self, inside: &[GraphHandle], other: References) -> References {
        let mut references = self.references.without(inside);
        if let Some(inner) = inside.first() {
            references.add(*inner, other.objects);
        }
        references
    }

    /// The outline of its definition.
    pub(crate) fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The work of a node of the definition, as it is here.
    pub(crate) fn work(&self, node: NodeHandle) -> Option<&NodeWork> {
        self.step(node).map(|step| &step.work)
    }

    fn step(&self, node: NodeHandle) -> Option<&Step> {
        self.index.step(&self.plan, node)
    }

    /// The work of a node of the definition, to be changed for the launches to come.
    pub(crate) fn work_mut(&mut self, node: NodeHandle) -> Option<&mut NodeWork> {
        self.step_mut(node).map(|step| &mut step.work)
    }

    pub(super) fn step_mut(&mut self, node: NodeHandle) -> Option<&mut Step> {
        self.index.step_mut(Arc::make_mut(&mut self.plan), node)
    }

    /// `true` if a node runs when the executable is launched.
    pub(crate) fn is_enabled(&self, node: NodeHandle) -> Option<bool> {
        self.step(node).map(|step| step.is_enabled)
    }

    /// Lets launches run a node, or pass it over. `false` if the node is not here.
    pub(crate) fn set_enabled(&mut self, node: NodeHandle, is_enabled: bool) -> bool {
        self.step_mut(node).map(|step| step.is_enabled = is_enabled).is_some()
    }
}
