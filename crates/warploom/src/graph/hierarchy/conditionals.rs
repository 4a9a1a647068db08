//! The conditional nodes of a hierarchy, and the conditions that they read.
//!
//! A condition has one node. A graph keeps those of its conditions that have theirs, so that adding a node costs
//! the same however many there are.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;

use warploom_driver::sys::types::CUgraphConditionalHandle;

use super::{GraphId, Locked};
use crate::Result;
use crate::graph::GraphError;
use crate::graph::conditional::ConditionalKind;
use crate::graph::raw::{HandleHasher, RawNode};

/// The conditions of a graph that nodes read.
pub(super) type ReadConditions = HashSet<CUgraphConditionalHandle, BuildHasherDefault<HandleHasher>>;

/// The parameters of a conditional node that never change.
#[derive(Clone, Copy)]
pub(in crate::graph) struct Conditional {
    pub(in crate::graph) kind: ConditionalKind,
    /// The graph that the condition was made for.
    pub(in crate::graph) graph: GraphId,
    pub(in crate::graph) condition: CUgraphConditionalHandle,
}

impl Locked<'_> {
    /// Refuses a condition whose graph is gone, or that another node reads.
    pub(in crate::graph) fn check_condition(&self, graph: GraphId, condition: CUgraphConditionalHandle) -> Result<()> {
        self.graph(graph)?;
        if self.entry(graph).read.contains(&condition) { Err(GraphError::ConditionUsed.into()) } else { Ok(()) }
    }

    /// A conditional node that was added by this crate.
    pub(in crate::graph) fn conditional(&self, id: GraphId, node: RawNode) -> Option<Conditional> {
        self.entry(id).conditionals.get(&node).copied()
    }

    /// Remembers a conditional node that was added.
    pub(in crate::graph) fn add_conditional(&mut self, id: GraphId, node: RawNode, conditional: Conditional) {
        self.add_uncopyable(id, node, "conditional");
        self.entry_mut(id).conditionals.insert(node, conditional);
        self.entry_mut(conditional.graph).read.insert(conditional.condition);
    }

    /// Forgets a node that is destroyed, if it is a conditional one.
    pub(super) fn forget_conditional(&mut self, id: GraphId, node: RawNode) {
        if let Some(gone) = self.entry_mut(id).conditionals.remove(&node) {
            self.entry_mut(gone.graph).read.remove(&gone.condition);
        }
    }

    /// Forgets all conditional nodes of a graph that is gone.
    pub(super) fn forget_conditionals(&mut self, id: GraphId) {
        for gone in std::mem::take(&mut self.entry_mut(id).conditionals).into_values() {
            self.entry_mut(gone.graph).read.remove(&gone.condition);
        }
    }

    /// Remembers that a graph has a condition or is a body.
    pub(in crate::graph) fn set_conditional(&mut self, id: GraphId) {
        self.entry_mut(id).is_conditional = true;
    }
}
