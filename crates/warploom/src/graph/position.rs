//! Positions in a graph, at which nodes are added.
#![expect(unsafe_code, reason = "adds raw nodes")]

use std::ptr::{null, null_mut};

use warploom_driver::sys::types::{CUgraph, CUgraphNode};

use super::bundle::Bundle;
use super::empty_node::EmptyNode;
use super::hierarchy::{GraphId, Locked};
use super::late_report::report_late;
use super::node::NodeId;
use super::owners::Prepared;
use super::raw::RawNode;
use super::{GraphDef, Node};
use crate::diagnostics::Subject;
use crate::{Context, Driver, Result};

/// A place in a graph where a node can be added: at the [beginning](GraphDef::entry), [after a
/// node](Node::then), or [after several](GraphDef::after).
///
/// Each call adds one node and returns it. If it fails, the graph has no new node, and the values that it
/// would have kept are released.
#[derive(Debug)]
#[must_use = "a position adds nothing by itself"]
pub struct Position<'a> {
    graph: &'a GraphDef,
    context: &'a Context,
    after: After<'a>,
}

/// The nodes that are waited for.
#[derive(Debug)]
enum After<'a> {
    Nothing,
    Node(&'a Node),
    Several(Vec<Dependency>),
}

/// One of several nodes that are waited for.
#[derive(Debug)]
pub(super) enum Dependency {
    Node(Node),
    /// A node that the driver has named.
    Raw(RawNode),
}

/// The call that adds a node: where its handle is written, its graph, its dependencies and their number.
pub(super) type Place = (*mut CUgraphNode, CUgraph, *const CUgraphNode, usize);

impl<'a> Position<'a> {
    #[inline]
    pub(super) fn entry(graph: &'a GraphDef) -> Position<'a> {
        Position { graph, context: graph.context(), after: After::Nothing }
    }

    #[inline]
    pub(super) fn then(node: &'a Node) -> Position<'a> {
        Position { graph: node.graph(), context: node.graph().context(), after: After::Node(node) }
    }

    pub(super) fn after(graph: &'a GraphDef, nodes: Vec<Node>) -> Position<'a> {
        let nodes = nodes.into_iter().map(Dependency::Node).collect();
        Position { graph, context: graph.context(), after: After::Several(nodes) }
    }

    /// The position after nodes that the driver has named, such as the end of a capture.
    pub(crate) fn after_raw(graph: &'a GraphDef, nodes: &[CUgraphNode]) -> Position<'a> {
        let nodes = nodes.iter().map(|node| Dependency::Raw(RawNode::new(*node))).collect();
        Position { graph, context: graph.context(), after: After::Several(nodes) }
    }

    /// Has the node run in another context than the graph's. Conditional nodes cannot. The node is refused if
    /// the context is of another driver ([`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch))
    /// or was reset.
    ///
    /// ```
    /// # use warploom::{DeviceMemory, Driver, GraphDef};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("dgx-h100")?)?;
    /// let (one, two) = (driver.device(0)?.context()?, driver.device(1)?.context()?);
    /// let mut far = DeviceMemory::new(&two).allocate::<u32>(16)?;
    /// let graph = GraphDef::new(&one)?;
    /// graph.entry().on(&two).fill(&mut far, 7)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn on(self, context: &'a Context) -> Position<'a> {
        Position { context, ..self }
    }

    #[inline]
    pub(super) fn graph(&self) -> &'a GraphDef {
        self.graph
    }

    /// The context that the node runs in.
    #[inline]
    pub(super) fn context(&self) -> &'a Context {
        self.context
    }

    /// `true` if no other context was asked for.
    #[inline]
    pub(super) fn is_in_context_of_graph(&self) -> bool {
        std::ptr::eq(self.context, self.graph.context())
    }

    /// The context that the node runs in, if it is not the graph's.
    #[inline]
    pub(super) fn other_context(&self) -> Option<Context> {
        if self.is_in_context_of_graph() { None } else { self.other_context_of_two() }
    }

    #[cold]
    fn other_context_of_two(&self) -> Option<Context> {
        (self.context != self.graph.context()).then(|| self.context.clone())
    }

    /// Refuses a context of another driver, or one that was reset.
    #[inline]
    pub(super) fn check_context(&self) -> Result<()> {
        if !self.is_in_context_of_graph() {
            self.graph.same_driver(self.context.driver())?;
        }
        self.context.check_generation()
    }

    /// Adds an empty node, which only orders others.
    ///
    /// # Errors
    ///
    /// [`OtherGraph`](super::GraphError::OtherGraph) and [`NodeDestroyed`](super::GraphError::NodeDestroyed) if a
    /// node of the position is not in the graph, [`GraphDestroyed`](super::GraphError::GraphDestroyed), and the
    /// driver's error.
    #[doc(alias = "cuGraphAddEmptyNode")]
    #[inline]
    pub fn empty(self) -> Result<EmptyNode> {
        self.node(Position::add_empty).map(EmptyNode::over)
    }

    fn add_empty(&self) -> Result<NodeId> {
        self.add(&mut Bundle::default(), |driver: &Driver, (node, graph, after, count): Place| {
            // SAFETY: the place is one to add a node at.
            unsafe { driver.cuGraphAddEmptyNode(node, graph, after, count) }
        })
    }

    /// The node that is added.
    #[inline]
    pub(super) fn node(&self, add: impl FnOnce(&Self) -> Result<NodeId>) -> Result<Node> {
        if !self.is_in_context_of_graph() {
            self.check_context()?;
        }
        Ok(Node::new(self.graph.clone(), add(self)?))
    }

    /// Adds a node that keeps owners, which are taken. If the call fails, the graph is as before.
    #[inline]
    pub(super) fn add(
        &self,
        bundle: &mut Bundle,
        call: impl FnOnce(&Driver, Place) -> warploom_driver::Result<()>,
    ) -> Result<NodeId> {
        self.add_to(&mut self.graph.lock(), bundle, call)
    }

    /// As [`Position::add`], to the graph's hierarchy, which is locked.
    pub(super) fn add_to(
        &self,
        locked: &mut Locked<'a>,
        bundle: &mut Bundle,
        call: impl FnOnce(&Driver, Place) -> warploom_driver::Result<()>,
    ) -> Result<NodeId> {
        let id = self.graph.id();
        let graph = locked.graph(id)?;
        let (one, several);
        let (after, count) = match &self.after {
            // The driver takes longer over a list that is empty than over none.
            After::Nothing => (null(), 0),
            After::Node(node) => {
                one = locked.node(node)?;
                (&raw const one, 1)
            }
            After::Several(nodes) => {
                several = locked.nodes_of(id, nodes)?;
                (several.as_ptr(), several.len())
            }
        };
        let prepared = locked.prepare(id, bundle)?;
        let mut raw = null_mut();
        if let Err(error) = call(locked.driver(), (&raw mut raw, graph, after, count)) {
            not_added(locked, id, raw, prepared);
            return Err(error.into());
        }
        let raw = RawNode::new(raw);
        locked.publish_new(id, raw, prepared);
        Ok(locked.node_id(id, raw))
    }
}

/// Releases the owners of a node that was not added, and takes back the node if the driver added it and then
/// reported an error.
#[cold]
fn not_added(locked: &mut Locked<'_>, id: GraphId, raw: CUgraphNode, prepared: Prepared) {
    if raw.is_null() {
        return locked.withdraw(id, prepared);
    }
    let raw = RawNode::new(raw);
    locked.publish_new(id, raw, prepared);
    report_late(|| Subject::GraphOwners, locked.take_back(id, raw));
}
