//! Executables: graphs that have been instantiated, with what their launches need.

use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;
use warploom_engine::{Known, OpId, QueueId};

use super::plan::{Plan, Step};
use super::{Graphs, NodeWork};
use crate::ffi::handle::{
    ConditionHandle, ContextHandle, ExecutableHandle, GraphHandle, NodeHandle, UserObjectHandle, kind,
};
use crate::machine::objects::Object;
use crate::machine::world::World;

/// A graph that has been instantiated.
pub(crate) struct Executable {
    /// The number that `cuGraphExecGetId` shows.
    pub(crate) id: u32,
    /// The flags of its instantiation.
    pub(crate) flags: u64,
    /// Shared with the conditional nodes of launches in flight.
    plan: Arc<Plan>,
    /// The steps of the nodes, but for those in bodies of conditional nodes.
    index: HashMap<NodeHandle, u32>,
    /// Shared with the launches in flight.
    pub(crate) references: Arc<References>,
    /// The conditions that a launch sets to their defaults.
    pub(crate) defaults: Arc<[(ConditionHandle, u32)]>,
    /// The addresses of memory that its nodes allocate and none of them frees.
    pub(crate) unfreed: Vec<u64>,
    /// The end of its newest launch.
    pub(crate) last: Option<OpId>,
    /// The timelines of its chains, for the checks. Launches follow each other, so that all use the same.
    pub(crate) chains: Vec<Known>,
    /// Queues for nodes of other contexts than the launching stream's.
    pub(crate) queues: SmallVec<[(ContextHandle, QueueId); 1]>,
}

/// References to user objects, which the executable and its launches hold together.
#[derive(Default)]
pub(crate) struct References(pub(crate) Vec<(UserObjectHandle, u32)>);

impl Object for Executable {
    type Kind = kind::Executable;
}

impl Executable {
    /// An executable of a graph as it is now.
    pub(crate) fn new(graphs: &Graphs, graph: GraphHandle, id: u32, flags: u64) -> Self {
        let plan = Plan::new(graphs, graph);
        let references = Arc::new(References(graphs.references_of(graph)));
        let mut executable = Self {
            id,
            flags,
            plan: Arc::new(plan),
            index: HashMap::new(),
            references,
            defaults: Arc::new([]),
            unfreed: Vec::new(),
            last: None,
            chains: Vec::new(),
            queues: SmallVec::new(),
        };
        executable.study(graphs);
        executable
    }

    /// Finds what follows from its plan: the index, the conditions, and the memory that stays.
    fn study(&mut self, graphs: &Graphs) {
        let steps = self.plan.steps.iter().enumerate();
        self.index = steps.filter_map(|(index, step)| Some((step.node?, index as u32))).collect();
        let (mut defaults, mut unfreed) = (Vec::new(), Vec::new());
        self.plan.each(&mut |step| match &step.work {
            NodeWork::Conditional(conditional) => {
                let condition = graphs.conditions.get(conditional.condition).filter(|found| found.is_reset_at_launch);
                defaults.extend(condition.map(|found| (conditional.condition, found.default)));
            }
            NodeWork::Alloc(allocation) => unfreed.push(allocation.address),
            _ => {}
        });
        self.plan.each(&mut |step| {
            if let NodeWork::Free(address) = &step.work {
                unfreed.retain(|other| other != address);
            }
        });
        (self.defaults, self.unfreed) = (defaults.into(), unfreed);
    }

    pub(crate) fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Takes over the work and the references of another executable with the same shape. Returns the old references.
    fn renew(&mut self, other: Executable) -> Arc<References> {
        let mut plan = other.plan;
        // The nodes of the first definition stay the names of the executable's.
        Arc::make_mut(&mut plan).name_like(&self.plan);
        self.plan = plan;
        (self.defaults, self.unfreed) = (other.defaults, other.unfreed);
        std::mem::replace(&mut self.references, other.references)
    }

    /// The work of a node of the definition, as it is here.
    pub(crate) fn work(&self, node: NodeHandle) -> Option<&NodeWork> {
        self.step(node).map(|step| &step.work)
    }

    fn step(&self, node: NodeHandle) -> Option<&Step> {
        match self.index.get(&node) {
            Some(index) => self.plan.steps.get(*index as usize),
            None => self.plan.step_of(node),
        }
    }

    /// The work of a node of the definition, to be changed for the launches to come.
    pub(crate) fn work_mut(&mut self, node: NodeHandle) -> Option<&mut NodeWork> {
        self.step_mut(node).map(|step| &mut step.work)
    }

    fn step_mut(&mut self, node: NodeHandle) -> Option<&mut Step> {
        let index = self.index.get(&node).copied();
        let plan = Arc::make_mut(&mut self.plan);
        match index {
            Some(index) => plan.steps.get_mut(index as usize),
            None => plan.step_of_mut(node),
        }
    }

    /// True if a node runs when the executable is launched.
    pub(crate) fn is_enabled(&self, node: NodeHandle) -> Option<bool> {
        self.step(node).map(|step| step.is_enabled)
    }

    /// Lets launches run a node, or pass it over. `false` if the node is not here.
    pub(crate) fn set_enabled(&mut self, node: NodeHandle, is_enabled: bool) -> bool {
        self.step_mut(node).map(|step| step.is_enabled = is_enabled).is_some()
    }
}

impl World {
    /// An executable of a graph as it is now; `None` if all handles are used.
    pub(crate) fn instantiate(&mut self, graph: GraphHandle, flags: u64) -> Option<ExecutableHandle> {
        let id = self.graphs.next_id();
        let executable = Executable::new(&self.graphs, graph, id, flags);
        let references = Arc::clone(&executable.references);
        let handle = self.graphs.executables.insert(executable)?;
        self.graphs.retain_references(&references.0);
        Some(handle)
    }

    /// Destroys an executable. Its launches in flight go on, and release what they use when they end.
    pub(crate) fn destroy_executable(&mut self, handle: ExecutableHandle) {
        let Some(executable) = self.graphs.executables.remove(handle) else { return };
        executable.queues.iter().for_each(|(_, queue)| self.engine.retire_queue(*queue));
        executable.chains.iter().for_each(|chain| self.engine.timelines.end(chain));
        self.drop_references(executable.references);
    }

    /// Replaces the work of an executable by that of a graph with the same shape.
    pub(crate) fn renew_executable(&mut self, handle: ExecutableHandle, graph: GraphHandle) {
        let Some(found) = self.graphs.executables.get(handle) else { return };
        let renewal = Executable::new(&self.graphs, graph, found.id, found.flags);
        self.graphs.retain_references(&renewal.references.0);
        let found = self.graphs.executables.get_mut(handle);
        if let Some(old) = found.map(|found| found.renew(renewal)) {
            self.drop_references(old);
        }
    }

    /// Lets go of references, which are released when no launch in flight holds them.
    fn drop_references(&mut self, references: Arc<References>) {
        if let Some(references) = Arc::into_inner(references) {
            let ended = self.graphs.release_references(&references.0);
            self.graphs.ended.extend(ended);
        }
    }
}
