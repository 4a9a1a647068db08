//! Updates of executables: which changes of a node's work an executable can take over.

use warploom_sys::types::{CUgraphExecUpdateResult, CUmemorytype};

use super::work::NewWork;
use super::{Difference, Executable, Given, Graphs, MemoryNode, NodeWork, Outline, Pairs};
use crate::ffi::handle::{GraphHandle, NodeHandle};
use crate::memory::{MemoryOp, Side};

type Change = CUgraphExecUpdateResult;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`.
const USE_NODE_PRIORITY: u64 = 8;

impl MemoryNode {
    /// The elements of a row, if it consists of one row.
    fn row(&self) -> Option<usize> {
        match (&self.given, &self.op) {
            (Some(Given::Copy(given)), _) => (given.Height == 1 && given.Depth == 1).then_some(given.WidthInBytes),
            (Some(Given::Fill(given)), _) => (given.height == 1).then_some(given.width),
            (None, MemoryOp::Copy { bytes, .. }) => Some(*bytes as usize),
            (None, MemoryOp::Fill { count, .. }) => Some(*count as usize),
            (None, _) => None,
        }
    }

    /// The memories that it reads and writes.
    fn sides(&self) -> (Option<Side>, Option<Side>) {
        let transfer = self.op.transfer();
        (transfer.and_then(|transfer| transfer.from), transfer.map(|transfer| transfer.to))
    }

    /// `true` if an executable can take it over in the place of another copy or fill.
    fn can_follow(&self, old: &MemoryNode) -> bool {
        let same_shape = match (old.row(), self.row()) {
            (Some(_), Some(_)) => true,
            (None, None) => is_same_block(&old.op, &self.op),
            _ => false,
        };
        let same_kinds = old.kinds().zip(self.kinds()).is_none_or(|(old, new)| old == new);
        same_shape && same_kinds && old.sides() == self.sides()
    }

    /// The kinds of memory that a copy was given.
    fn kinds(&self) -> Option<(CUmemorytype, CUmemorytype)> {
        match &self.given {
            Some(Given::Copy(given)) => Some((given.srcMemoryType, given.dstMemoryType)),
            _ => None,
        }
    }
}

/// `true` if two operations of several rows differ in their addresses and values only.
fn is_same_block(old: &MemoryOp, new: &MemoryOp) -> bool {
    match (old, new) {
        (MemoryOp::CopyBlock(old), MemoryOp::CopyBlock(new)) => {
            (old.width, old.height, old.depth) == (new.width, new.height, new.depth)
        }
        (MemoryOp::FillRows(old), MemoryOp::FillRows(new)) => {
            (old.columns, old.rows, old.element, old.pitch) == (new.columns, new.rows, new.element, new.pitch)
        }
        (MemoryOp::Copy { bytes: old, .. }, MemoryOp::Copy { bytes: new, .. }) => old == new,
        (MemoryOp::Fill { count: old, .. }, MemoryOp::Fill { count: new, .. }) => old == new,
        _ => false,
    }
}

/// `true` if two batches consist of the same kinds of operations.
fn are_same_kinds(old: &[MemoryOp], new: &[MemoryOp]) -> bool {
    let same = |(old, new): (&MemoryOp, &MemoryOp)| match (old, new) {
        (MemoryOp::WaitValue { wide: old, .. }, MemoryOp::WaitValue { wide: new, .. })
        | (MemoryOp::WriteValue { wide: old, .. }, MemoryOp::WriteValue { wide: new, .. }) => old == new,
        _ => false,
    };
    old.len() == new.len() && old.iter().zip(new).all(same)
}

impl NodeWork {
    /// As [`Graphs::obstacle`], as far as the two works tell.
    fn obstacle(&self, old: &NodeWork, flags: u64) -> Option<Change> {
        match (old, self) {
            (NodeWork::Kernel(old), NodeWork::Kernel(new)) => {
                let [before, now] = [old, new].map(|kernel| kernel.attributes.priority.unwrap_or_default());
                let priority = flags & USE_NODE_PRIORITY != 0 && before != now;
                if old.call.context != new.call.context {
                    Some(Change::CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE)
                } else if old.call.shape.cooperative != new.call.shape.cooperative || priority {
                    Some(Change::CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED)
                } else {
                    None
                }
            }
            (NodeWork::Memory(old), NodeWork::Memory(new)) => {
                (!new.can_follow(old)).then_some(Change::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
            }
            (NodeWork::Values(old), NodeWork::Values(new)) => {
                let same = old.context == new.context && are_same_kinds(&old.ops, &new.ops);
                (!same).then_some(Change::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED)
            }
            (NodeWork::Conditional(old), NodeWork::Conditional(new)) => {
                (old.kind != new.kind).then_some(Change::CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED)
            }
            _ => None,
        }
    }
}

impl Graphs {
    /// The reason why an executable cannot take work over in the place of other work of the same kind. `flags` are
    /// those of its instantiation.
    pub(crate) fn obstacle(&self, old: &NodeWork, new: &NodeWork, flags: u64) -> Option<Change> {
        let changes_memory = self.are_in_graph_memory(old) != self.are_in_graph_memory(new);
        let refused = || changes_memory.then_some(Change::CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED);
        new.obstacle(old, flags).or_else(refused)
    }

    /// Which ends of a copy are in memory that graphs allocate.
    fn are_in_graph_memory(&self, work: &NodeWork) -> Option<[bool; 2]> {
        let NodeWork::Memory(memory) = work else { return None };
        match memory.op.addresses() {
            [Some(to), Some(from)] => Some([to, from].map(|address| self.memory.has(address))),
            _ => None,
        }
    }

    /// The address of memory that a new copy or fill uses, and that a graph allocates and frees: no nodes are added for
    /// it any more.
    pub(crate) fn use_of_temporary(&self, work: &NodeWork) -> Option<u64> {
        let NodeWork::Memory(memory) = work else { return None };
        let used = memory.op.addresses().into_iter().flatten();
        used.into_iter().find(|address| self.memory.owner_of_temporary(*address).is_some())
    }

    /// The address of memory that a fill of an executable uses, and that another graph than its own allocates and
    /// frees.
    pub(crate) fn foreign_fill(&self, work: &NodeWork, graph: GraphHandle) -> Option<u64> {
        let NodeWork::Memory(memory) = work else { return None };
        let [to, None] = memory.op.addresses() else { return None };
        let owner = self.memory.owner_of_temporary(to?)?;
        if self.root_of(owner) == self.root_of(graph) { None } else { to }
    }

    /// The work that an executable takes over from paired nodes.
    pub(crate) fn works_of(&self, pairs: &Pairs) -> Vec<NewWork> {
        let found = pairs.iter().filter_map(|(old, new)| Some((*old, self.nodes.get(*new)?)));
        found.map(|(node, new)| NewWork { node, work: new.work.clone(), site: new.site.clone() }).collect()
    }
}

impl Executable {
    /// The nodes of a graph that can update the executable, paired with its own.
    pub(crate) fn pair(&self, graphs: &Graphs, graph: GraphHandle) -> Result<Pairs, Difference> {
        self.outline().pair(graphs, graph, |old, new| self.check_pair(graphs, old, new))
    }

    /// The nodes of a graph that can update a child graph of the executable, paired with those of its outline.
    pub(crate) fn pair_child(&self, child: &Outline, graphs: &Graphs, graph: GraphHandle) -> Result<Pairs, Difference> {
        child.pair_by_id(graphs, graph, &|old, new| self.check_pair(graphs, old, new))
    }

    /// Refuses a node whose work differs from its own in a way that the executable cannot take over.
    fn check_pair(&self, graphs: &Graphs, old: NodeHandle, new: NodeHandle) -> Result<(), Difference> {
        let (Some(old), Some(node)) = (self.work(old), graphs.nodes.get(new)) else { return Ok(()) };
        let foreign = || graphs.foreign_fill(&node.work, self.graph);
        let refused = || foreign().map(|_| Change::CU_GRAPH_EXEC_UPDATE_ERROR);
        match graphs.obstacle(old, &node.work, self.flags).or_else(refused) {
            Some(change) => Err(Difference::new(change, Some(new))),
            None => Ok(()),
        }
    }

    /// Gives nodes the work of others. Reports name the other nodes from now on.
    pub(crate) fn take_over(&mut self, works: Vec<NewWork>) {
        for NewWork { node, work, site } in works {
            if let Some(step) = self.step_mut(node) {
                (step.work, step.site) = (work, site);
            }
        }
    }
}
