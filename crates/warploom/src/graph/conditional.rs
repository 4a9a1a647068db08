//! Conditional nodes, and the graphs inside of them.
#![expect(unsafe_code, reason = "adds raw nodes, and reads the driver's array of bodies")]

use std::mem::zeroed;
use std::ptr::null;

use warploom_driver::sys::types::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUgraphConditionalNodeType, CUgraphNodeParams, CUgraphNodeType,
};

use super::bundle::Bundle;
use super::hierarchy::Conditional;
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use super::{Condition, GraphDef, GraphError, Position};
use crate::{Driver, Result};

/// A node that runs its body if a condition is not 0, added by [`Position::if_then`].
#[derive(Clone)]
pub struct IfNode {
    node: Node,
    then: GraphDef,
}
typed_node!(IfNode);

/// A node that runs one of two bodies, added by [`Position::if_else`].
#[derive(Clone)]
pub struct IfElseNode {
    node: Node,
    then: GraphDef,
    otherwise: GraphDef,
}
typed_node!(IfElseNode);

/// A node that runs its body repeatedly while a condition is not 0, added by
/// [`Position::while_loop`].
#[derive(Clone)]
pub struct WhileNode {
    node: Node,
    body: GraphDef,
}
typed_node!(WhileNode);

/// A node that runs the body of a condition's value, added by [`Position::switch`].
#[derive(Clone)]
pub struct SwitchNode {
    node: Node,
    branches: Box<[GraphDef]>,
}
typed_node!(SwitchNode);

/// Types of conditional nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConditionalKind {
    If,
    IfElse,
    While,
    Switch,
}

impl ConditionalKind {
    /// The type of a node, as the driver is told it, and the number of its bodies.
    fn new(raw: CUgraphConditionalNodeType, size: u32) -> ConditionalKind {
        match raw {
            CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE => ConditionalKind::While,
            CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH => ConditionalKind::Switch,
            _ if size == 1 => ConditionalKind::If,
            _ => ConditionalKind::IfElse,
        }
    }

    /// With its article.
    fn name(self) -> &'static str {
        match self {
            ConditionalKind::If => "an if",
            ConditionalKind::IfElse => "an if-else",
            ConditionalKind::While => "a while",
            ConditionalKind::Switch => "a switch",
        }
    }

    /// The bodies of a node, if it is of this type.
    fn bodies(self, node: &Node) -> Result<Vec<GraphDef>> {
        let locked = node.lock();
        locked.node(node)?;
        let (id, raw) = (node.graph_id(), node.raw());
        let opaque = GraphError::Opaque { kind: NodeKind::Conditional };
        let found = locked.conditional(id, raw).ok_or(opaque)?.kind;
        if found != self {
            return Err(GraphError::OtherConditional { expected: self.name(), found: found.name() }.into());
        }
        Ok(locked.inside(id, raw).iter().map(|body| GraphDef::of(node.hierarchy(), *body)).collect())
    }
}

macro_rules! typed_conditionals {
    ($($name:ident = $kind:ident, |$node:ident, $bodies:ident| $over:expr;)*) => {$(
        impl TypedNode for $name {}
        impl sealed::TypedNode for $name {
            const KIND: NodeKind = NodeKind::Conditional;

            fn over($node: Node) -> Result<$name> {
                let $bodies = ConditionalKind::$kind.bodies(&$node)?;
                $over
            }
        }

        impl $name {
            /// The condition that it reads.
            ///
            /// # Errors
            ///
            /// [`GraphError::NodeDestroyed`].
            pub fn condition(&self) -> Result<Condition> {
                condition_of(&self.node)
            }
        }
    )*};
}
typed_conditionals! {
    IfNode = If, |node, bodies| exactly(bodies).map(|[then]| IfNode { node, then });
    IfElseNode = IfElse, |node, bodies| {
        exactly(bodies).map(|[then, otherwise]| IfElseNode { node, then, otherwise })
    };
    WhileNode = While, |node, bodies| exactly(bodies).map(|[body]| WhileNode { node, body });
    SwitchNode = Switch, |node, bodies| Ok(SwitchNode { node, branches: bodies.into() });
}

/// The condition of a node that this crate has added.
fn condition_of(node: &Node) -> Result<Condition> {
    let locked = node.lock();
    locked.node(node)?;
    let opaque = GraphError::Opaque { kind: NodeKind::Conditional };
    let conditional = locked.conditional(node.graph_id(), node.raw()).ok_or(opaque)?;
    Ok(Condition::over(GraphDef::of(node.hierarchy(), conditional.graph), conditional.condition))
}

impl IfNode {
    /// The graph that runs if the condition is not 0. Empty at first.
    #[must_use]
    pub fn body(&self) -> &GraphDef {
        &self.then
    }
}

impl IfElseNode {
    /// The graph that runs if the condition is not 0. Empty at first.
    #[must_use]
    pub fn then_body(&self) -> &GraphDef {
        &self.then
    }

    /// The graph that runs if the condition is 0. Empty at first.
    #[must_use]
    pub fn else_body(&self) -> &GraphDef {
        &self.otherwise
    }
}

impl WhileNode {
    /// The graph that runs while the condition is not 0. Empty at first.
    #[must_use]
    pub fn body(&self) -> &GraphDef {
        &self.body
    }
}

impl SwitchNode {
    /// The most branches of a switch. `cuda.h` has no limit, but the driver makes a graph for each branch
    /// during the call, which for billions of them ends when the host has no memory left.
    pub const MAX_BRANCHES: u32 = 1 << 16;

    /// The graphs, by the value of the condition for which they run. Empty at first.
    #[must_use]
    pub fn branches(&self) -> &[GraphDef] {
        &self.branches
    }
}

impl Position<'_> {
    /// Adds a node that runs a body if the condition is not 0 at that point.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherGraph`] for a condition of another hierarchy, [`GraphError::ConditionUsed`] for one
    /// that another node reads, [`GraphError::GraphDestroyed`] for one whose graph is gone,
    /// [`GraphError::ConditionContext`] if the position is [in another context](Position::on), and as
    /// [`Position::empty`]; needs driver 12.3. The driver takes a node in the condition's graph or below.
    #[doc(alias = "cuGraphAddNode")]
    pub fn if_then(self, condition: &Condition) -> Result<IfNode> {
        let (node, bodies) = self.conditional(condition, CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF, 1)?;
        let [then] = exactly(bodies)?;
        Ok(IfNode { node, then })
    }

    /// Adds a node that runs one body if the condition is not 0, and another if it is.
    ///
    /// # Errors
    ///
    /// As [`Position::if_then`]; needs driver 12.8.
    pub fn if_else(self, condition: &Condition) -> Result<IfElseNode> {
        let (node, bodies) = self.conditional(condition, CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF, 2)?;
        let [then, otherwise] = exactly(bodies)?;
        Ok(IfElseNode { node, then, otherwise })
    }

    /// Adds a node that runs a body while the condition is not 0; it is read before each time.
    ///
    /// # Errors
    ///
    /// As [`Position::if_then`].
    pub fn while_loop(self, condition: &Condition) -> Result<WhileNode> {
        let (node, bodies) = self.conditional(condition, CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE, 1)?;
        let [body] = exactly(bodies)?;
        Ok(WhileNode { node, body })
    }

    /// Adds a node with so many bodies, of which it runs the one whose number the condition is; none, if
    /// there are not as many.
    ///
    /// # Errors
    ///
    /// [`GraphError::NoBranches`] for none, [`GraphError::TooManyBranches`] for more than
    /// [`SwitchNode::MAX_BRANCHES`], and as [`Position::if_then`]; needs driver 12.8.
    pub fn switch(self, condition: &Condition, branches: u32) -> Result<SwitchNode> {
        check_branches(branches)?;
        let kind = CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH;
        let (node, bodies) = self.conditional(condition, kind, branches)?;
        Ok(SwitchNode { node, branches: bodies.into() })
    }

    /// Adds a conditional node with so many bodies.
    pub(crate) fn conditional(
        self,
        condition: &Condition,
        kind: CUgraphConditionalNodeType,
        size: u32,
    ) -> Result<(Node, Vec<GraphDef>)> {
        if condition.graph().hierarchy().number() != self.graph().hierarchy().number() {
            return Err(GraphError::OtherGraph { what: "condition" }.into());
        }
        self.check_context()?;
        if self.other_context().is_some() {
            return Err(GraphError::ConditionContext.into());
        }
        // SAFETY: all of it are numbers and pointers, for which 0 is a value; the driver wants 0 in the rest.
        let mut params: CUgraphNodeParams = unsafe { zeroed() };
        params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_CONDITIONAL;
        params.__bindgen_anon_1.conditional = CUDA_CONDITIONAL_NODE_PARAMS {
            handle: condition.as_raw(),
            type_: kind,
            size,
            phGraph_out: std::ptr::null_mut(),
            ctx: self.context().as_raw(),
        };
        let graph = self.graph();
        let mut locked = graph.lock();
        locked.check_condition(condition.graph().id(), condition.as_raw())?;
        let add = |driver: &Driver, (node, graph, after, count): Place| {
            // SAFETY: the place is one to add a node at, and the parameters are those of a conditional node whose
            // condition and context are alive.
            unsafe { driver.cuGraphAddNode_v2(node, graph, after, null(), count, &raw mut params) }
        };
        let node = self.node(|position| position.add_to(&mut locked, &mut Bundle::default(), add))?;
        // SAFETY: the parameters are still those of a conditional node.
        let bodies = unsafe { params.__bindgen_anon_1.conditional.phGraph_out };
        let (id, raw) = (graph.id(), node.raw());
        let (kind, graph_of_condition) = (ConditionalKind::new(kind, size), condition.graph().id());
        let conditional = Conditional { kind, graph: graph_of_condition, condition: condition.as_raw() };
        locked.add_conditional(id, raw, conditional);
        let add = |index: u32| {
            // SAFETY: the driver has an array of as many graphs, for as long as the node exists.
            let body = unsafe { *bodies.add(index as usize) };
            let body = locked.add_inside(id, raw, body);
            locked.set_conditional(body);
            GraphDef::of(graph.hierarchy(), body)
        };
        Ok((node, (0..size).map(add).collect()))
    }
}

/// Refuses a switch with no branches, or with more than the host has memory for.
fn check_branches(branches: u32) -> Result<()> {
    let limit = SwitchNode::MAX_BRANCHES;
    match branches {
        0 => Err(GraphError::NoBranches.into()),
        _ if branches > limit => Err(GraphError::TooManyBranches { branches, limit }.into()),
        _ => Ok(()),
    }
}

/// As many bodies as the kind of node has.
fn exactly<const N: usize>(bodies: Vec<GraphDef>) -> Result<[GraphDef; N]> {
    bodies.try_into().map_err(|_| GraphError::GraphDestroyed.into())
}
