//! Conditional nodes, and the values that they depend on.

use crate::ffi::handle::{ConditionHandle, ContextHandle, GraphHandle, NodeHandle, kind};
use crate::machine::objects::Object;

/// A value that kernels of a graph set, and on which a conditional node depends.
pub(crate) struct Condition {
    /// The graph that it was created for.
    pub(crate) graph: GraphHandle,
    /// Its node runs there.
    pub(crate) context: ContextHandle,
    pub(crate) default: u32,
    /// Each launch of the graph begins with the default.
    pub(crate) is_reset_at_launch: bool,
    /// The conditional node that depends on it; a condition is for one node.
    pub(crate) node: Option<NodeHandle>,
}

impl Object for Condition {
    type Kind = kind::Condition;
}

/// The kind of a conditional node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionalKind {
    /// Runs the first body if the value is not 0, otherwise the second, if there is one.
    If,
    /// Runs the body repeatedly while the value is not 0.
    While,
    /// Runs the body whose index is the value, if there is one.
    Switch,
}

/// The work of a conditional node.
pub(crate) struct ConditionalNode {
    pub(crate) condition: ConditionHandle,
    pub(crate) kind: ConditionalKind,
    /// The graphs that it chooses from.
    pub(crate) bodies: Box<[GraphHandle]>,
    /// The same as numbers, in an array that C may read.
    pub(crate) shown: Box<[u64]>,
    pub(crate) context: ContextHandle,
}

impl ConditionalNode {
    pub(crate) fn new(
        condition: ConditionHandle,
        kind: ConditionalKind,
        bodies: Vec<GraphHandle>,
        context: ContextHandle,
    ) -> Self {
        let shown = bodies.iter().map(|body| body.bits()).collect();
        Self { condition, kind, bodies: bodies.into(), shown, context }
    }
}
