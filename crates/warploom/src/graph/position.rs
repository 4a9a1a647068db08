//! Positions in a graph, at which nodes are added.
#![expect(unsafe_code, reason = "adds raw nodes")]

use std::ptr::{null, null_mut};

use warploom_driver::sys::types::{CUgraph, CUgraphNode};

use super::attachments::Prepared;
use super::bundle::Bundle;
use super::empty_node::EmptyNode;
use super::hierarchy::{GraphId, Locked};
use super::raw::RawNode;
use super::{GraphDef, GraphError, Node};
use crate::diagnostics::{Subject, report};
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
    Nodes(Vec<Node>),
    /// Nodes that the driver has named.
    Raw(Vec<RawNode>),
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
        Position { graph, context: graph.context(), after: After::Nodes(nodes) }
    }

    /// The position after nodes that the driver has named, such as the end of a capture.
    pub(crate) fn after_raw(graph: &'a GraphDef, nodes: &[CUgraphNode]) -> Position<'a> {
        let nodes = nodes.iter().map(|node| RawNode::new(*node)).collect();
        Position { graph, context: graph.context(), after: After::Raw(nodes) }
    }

    /// Has the node run in another context than the graph's.
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

    /// Refuses a context of another driver, or one that was reset.
    #[inline]
    pub(super) fn check_context(&self) -> Result<()> {
        if !std::ptr::eq(self.context, self.graph.context()) {
            self.graph.same_driver(self.context.driver())?;
        }
        self.context.check_generation()
    }

    /// Adds an empty node, which only orders others.
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherGraph`] and [`GraphError::NodeDestroyed`] if a node of the position is not in the
    /// graph, [`GraphError::GraphDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphAddEmptyNode")]
    pub fn empty(self) -> Result<EmptyNode> {
        // SAFETY: the place is one to add a node at.
        let add = |driver: &Driver, (node, graph, after, count): Place| unsafe {
            driver.cuGraphAddEmptyNode(node, graph, after, count)
        };
        self.add(&mut Bundle::default(), add).map(EmptyNode::over)
    }

    /// Adds a node that keeps owners, which are taken. If the call fails, the graph is as before.
    #[inline]
    pub(super) fn add(
        &self,
        bundle: &mut Bundle,
        call: impl FnOnce(&Driver, Place) -> warploom_driver::Result<()>,
    ) -> Result<Node> {
        self.add_to(&mut self.graph.lock(), bundle, call)
    }

    /// As [`Position::add`], to the graph's hierarchy, which is locked.
    #[inline]
    pub(super) fn add_to(
        &self,
        locked: &mut Locked<'a>,
        bundle: &mut Bundle,
        call: impl FnOnce(&Driver, Place) -> warploom_driver::Result<()>,
    ) -> Result<Node> {
        let (graph, id) = (self.graph, self.graph.id());
        let raw_graph = locked.graph(id)?;
        let (one, many);
        let (after, count) = match &self.after {
            // The driver takes longer over a list that is empty than over none.
            After::Nothing => (null(), 0),
            After::Node(node) => {
                one = locked.node(node)?;
                (&raw const one, 1)
            }
            After::Nodes(nodes) => {
                many = self.own(locked, nodes)?;
                (many.as_ptr(), many.len())
            }
            After::Raw(nodes) => (nodes.as_ptr().cast(), nodes.len()),
        };
        let prepared = locked.prepare(id, bundle)?;
        // Counted before the call: right after it, an atomic operation waits for all that the driver wrote.
        let (graph, mut raw) = (graph.clone(), null_mut());
        if let Err(error) = call(graph.driver(), (&raw mut raw, raw_graph, after, count)) {
            not_added(locked, id, raw, prepared);
            return Err(error.into());
        }
        let raw = RawNode::new(raw);
        locked.publish_new(id, raw, prepared);
        Ok(Node::new(graph, raw, locked.incarnation(id, raw)))
    }

    /// The handles of nodes that have to be in this graph.
    #[inline(never)]
    fn own(&self, locked: &Locked<'_>, nodes: &[Node]) -> Result<Vec<CUgraphNode>> {
        let own = |node: &Node| {
            if node.graph() == self.graph {
                locked.node(node)
            } else {
                Err(GraphError::OtherGraph { what: "node" }.into())
            }
        };
        nodes.iter().map(own).collect()
    }
}

/// Releases the owners of a node that was not added, and takes back the node if the call failed when it was
/// done.
#[cold]
fn not_added(locked: &mut Locked<'_>, id: GraphId, raw: CUgraphNode, prepared: Prepared) {
    if raw.is_null() {
        return locked.discard(id, prepared);
    }
    let raw = RawNode::new(raw);
    locked.publish_new(id, raw, prepared);
    report(|| Subject::GraphOwners, locked.take_back(id, raw));
}
