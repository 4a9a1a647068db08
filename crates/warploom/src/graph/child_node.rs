//! Child nodes: a copy of a graph inside of another.
#![expect(unsafe_code, reason = "adds raw nodes, and asks the driver for their graphs")]

use std::mem::zeroed;
use std::ptr::null_mut;

use warploom_driver::sys::types::{CUgraph, CUgraphNode, CUgraphNodeParams, CUgraphNodeType};

use super::copy_index::{copy_index, lock_both};
use super::hierarchy::{GraphId, Locked};
use super::late_report::report_late;
use super::node::{Node, NodeKind, TypedNode, sealed, typed_node};
use super::position::Place;
use super::raw::RawNode;
use super::{GraphDef, GraphError, Position};
use crate::diagnostics::Subject;
use crate::{Driver, Result};

/// A node that runs a graph of its own, added by [`Position::embed`].
#[derive(Clone)]
pub struct ChildNode {
    node: Node,
}
typed_node!(ChildNode);

impl TypedNode for ChildNode {}
impl sealed::TypedNode for ChildNode {
    const KIND: NodeKind = NodeKind::Child;

    fn over(node: Node) -> Result<ChildNode> {
        Ok(ChildNode { node })
    }
}

impl Position<'_> {
    /// Adds a node that runs a copy of a graph, as it is now. The copy keeps what the graph keeps; each of
    /// its nodes can be changed and destroyed for itself.
    ///
    /// ```
    /// # use warploom::{Driver, GraphDef};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// # let context = driver.device(0)?.context()?;
    /// let step = GraphDef::new(&context)?;
    /// step.entry().host(|| ())?;
    /// let twice = GraphDef::new(&context)?;
    /// let first = twice.entry().embed(&step)?;
    /// first.then().embed(&step)?;
    /// assert_eq!((twice.node_count()?, first.child()?.node_count()?), (2, 1));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`GraphError::SameHierarchy`] if it is part of the graph, [`GraphError::NotCopyable`] if it has memory
    /// or conditional nodes, [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch), and as
    /// [`Position::empty`].
    #[doc(alias = "cuGraphAddChildGraphNode")]
    pub fn embed(self, source: &GraphDef) -> Result<ChildNode> {
        let graph = self.graph();
        graph.same_driver(source.driver())?;
        graph.independent_of(source)?;
        let (mut locked, mut from) = lock_both(graph, source);
        let child = copyable(&from, source)?;
        let mut contexts = from.contexts_besides(graph.context(), source.id());
        let add = |driver: &Driver, (node, graph, after, count): Place| {
            from.without_user_objects(source.id(), || {
                // SAFETY: the place is one to add a node at, and the source is alive and locked.
                unsafe { driver.cuGraphAddChildGraphNode(node, graph, after, count, child) }
            })
        };
        let node = self.node(|position| position.add_to(&mut locked, &mut contexts, add))?;
        if let Err(error) = adopt_child(&mut locked, &node, &from, source.id()) {
            let taken_back = locked.take_back(graph.id(), node.raw());
            if taken_back.is_err() {
                locked.set_child_unknown(graph.id(), node.raw());
            }
            report_late(|| Subject::GraphOwners, taken_back);
            return Err(error);
        }
        Ok(ChildNode { node })
    }
}

impl ChildNode {
    /// The graph inside of it.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphChildGraphNodeGetGraph")]
    pub fn child(&self) -> Result<GraphDef> {
        let (graph, raw) = (self.node.graph(), self.node.raw());
        let mut locked = self.node.lock();
        let node = locked.node(&self.node)?;
        let id = match locked.inside(graph.id(), raw).first() {
            Some(known) => *known,
            None => {
                let child = child_of(graph.driver(), node)?;
                locked.add_inside(graph.id(), raw, child)
            }
        };
        Ok(GraphDef::of(graph.hierarchy(), id))
    }

    /// Replaces the graph inside by a copy of another. All handles to the graph before, and to its nodes, are
    /// refused from then on. Executables keep what they have.
    ///
    /// # Errors
    ///
    /// As [`Position::embed`], with the graph as before; needs driver 12.2. If the driver fails to name the
    /// nodes of the copy, its error. The node has the new graph then, and
    /// [`GraphError::ChildUnknown`] is the error of all instantiations, updates and copies until it has another
    /// one or is destroyed.
    #[doc(alias = "cuGraphNodeSetParams")]
    pub fn set_child(&self, source: &GraphDef) -> Result<GraphDef> {
        let (graph, raw) = (self.node.graph(), self.node.raw());
        graph.same_driver(source.driver())?;
        graph.independent_of(source)?;
        let (mut locked, mut from) = lock_both(graph, source);
        let node = locked.node(&self.node)?;
        let mut params = child_params(copyable(&from, source)?);
        let mut contexts = from.contexts_besides(graph.context(), source.id());
        let prepared = locked.prepare(graph.id(), &mut contexts)?;
        let set = from.without_user_objects(source.id(), || {
            // SAFETY: the node is alive and has a graph, and the parameters are those of such a node.
            unsafe { graph.driver().cuGraphNodeSetParams(node, &raw mut params) }
        });
        if let Err(error) = set {
            locked.withdraw(graph.id(), prepared);
            return Err(error.into());
        }
        locked.replace_inside(graph.id(), raw);
        locked.publish(graph.id(), raw, prepared);
        let id = adopt_child(&mut locked, &self.node, &from, source.id()).inspect_err(|_| {
            locked.set_child_unknown(graph.id(), raw);
        })?;
        Ok(GraphDef::of(graph.hierarchy(), id))
    }
}

/// The parameters of a node that runs a graph.
pub(super) fn child_params(child: CUgraph) -> CUgraphNodeParams {
    // SAFETY: all of it are numbers and pointers, for which 0 is a value; the driver wants 0 in the rest.
    let mut params: CUgraphNodeParams = unsafe { zeroed() };
    params.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH;
    params.__bindgen_anon_1.graph.graph = child;
    params
}

/// The handle of a graph that can be copied.
pub(super) fn copyable(locked: &Locked<'_>, source: &GraphDef) -> Result<CUgraph> {
    let raw = locked.graph(source.id())?;
    locked.check_settled(source.id())?;
    match locked.uncopyable(source.id()) {
        Some(kind) => Err(GraphError::NotCopyable { kind }.into()),
        None => Ok(raw),
    }
}

/// Takes the graph of a child node into its hierarchy, with clones of its owners.
fn adopt_child(locked: &mut Locked<'_>, node: &Node, from: &Locked<'_>, source: GraphId) -> Result<GraphId> {
    let raw: RawNode = node.raw();
    let child = child_of(locked.driver(), raw.raw())?;
    let id = locked.add_inside(node.graph_id(), raw, child);
    copy_index((locked, id), (from, source))?;
    Ok(id)
}

/// The graph of a child node.
pub(super) fn child_of(driver: &Driver, node: CUgraphNode) -> Result<CUgraph> {
    let mut child = null_mut();
    // SAFETY: the callers' node is alive, and `child` is writable.
    unsafe { driver.cuGraphChildGraphNodeGetGraph(node, &raw mut child) }?;
    Ok(child)
}
