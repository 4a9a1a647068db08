//! The edges of a node as live sets, and all edges of a graph.
#![expect(unsafe_code, reason = "asks the driver for edges, and changes them")]

use std::collections::BTreeSet;
use std::fmt;
use std::mem::zeroed;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

use warploom_driver::Function;
use warploom_driver::sys::types::{CUgraphEdgeData, CUgraphNode};

use super::hierarchy::{GraphId, Locked};
use super::late_report::report_late;
use super::raw::{NodeMap, RawNode};
use super::{GraphDef, GraphError, Node};
use crate::diagnostics::Subject;
use crate::live_set::backing::{Backing, Named};
use crate::live_set::lock::Lock;
use crate::{Driver, Error, LiveSet as _, Result};

/// The nodes before a node, or those after it: a [live set](crate::LiveSet) of the driver's edges.
///
/// Every change, however large, is at most one call that adds edges and one that removes some; edges that
/// stay are not touched. If adding fails, nothing has changed. The set of a destroyed node is empty.
///
/// ```
/// use warploom::{Driver, GraphDef, LiveSet};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let graph = GraphDef::new(&driver.device(0)?.context()?)?;
/// let (first, second, last) = (graph.empty()?, graph.empty()?, graph.empty()?);
/// last.predecessors().extend([&first, &second])?;
/// assert_eq!(graph.edges()?.len(), 2);
/// last.predecessors().assign([&second])?;
/// assert!(first.successors().is_empty()? && second.successors().contains(&last)?);
/// # Ok(())
/// # }
/// ```
pub struct Adjacency<'a> {
    node: &'a Node,
    direction: Direction,
    /// The edges as they were last read, with their data, for removals.
    last: Mutex<Vec<(RawNode, CUgraphEdgeData)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Predecessors,
    Successors,
}

impl Node {
    /// The nodes that this one waits for: a live set.
    #[must_use]
    pub fn predecessors(&self) -> Adjacency<'_> {
        Adjacency { node: self, direction: Direction::Predecessors, last: Mutex::default() }
    }

    /// The nodes that wait for this one: a live set.
    #[must_use]
    pub fn successors(&self) -> Adjacency<'_> {
        Adjacency { node: self, direction: Direction::Successors, last: Mutex::default() }
    }
}

impl GraphDef {
    /// All edges: pairs of a node and one that waits for it.
    ///
    /// # Errors
    ///
    /// [`GraphError::GraphDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphGetEdges")]
    pub fn edges(&self) -> Result<Vec<(Node, Node)>> {
        let locked = self.lock();
        let (driver, graph) = (locked.driver(), locked.graph(self.id())?);
        let has_data = driver.supports(Function::cuGraphGetEdges_v2);
        let ask = |from, to, data, count| {
            // SAFETY: the graph is alive; there is room for as many edges as is said, or none is asked for.
            unsafe {
                if has_data {
                    driver.cuGraphGetEdges_v2(graph, from, to, data, count)
                } else {
                    driver.cuGraphGetEdges(graph, from, to, count)
                }
            }
        };
        let mut count = 0;
        ask(null_mut(), null_mut(), null_mut(), &raw mut count)?;
        let (mut from, mut to) = (vec![null_mut(); count], vec![null_mut(); count]);
        let mut data = vec![default_data(); count];
        if count > 0 {
            ask(from.as_mut_ptr(), to.as_mut_ptr(), data.as_mut_ptr(), &raw mut count)?;
        }
        let pairs = from.into_iter().zip(to).take(count);
        Ok(pairs.map(|(from, to)| (self.known(&locked, from), self.known(&locked, to))).collect())
    }
}

/// An ordinary edge.
fn default_data() -> CUgraphEdgeData {
    // SAFETY: all of it are numbers, for which 0 is a value.
    unsafe { zeroed() }
}

fn is_default(data: &CUgraphEdgeData) -> bool {
    (data.from_port, data.to_port, data.type_) == (0, 0, 0)
}

impl Adjacency<'_> {
    fn graph(&self) -> &GraphDef {
        self.node.graph()
    }

    fn id(&self) -> GraphId {
        self.node.graph_id()
    }

    /// Reads the edges; those of a destroyed node are none.
    fn read(&self, locked: &Locked<'_>) -> Result<Vec<Node>> {
        if !locked.is_valid(self.node) {
            return Ok(Vec::new());
        }
        let (driver, node, is_before) =
            (locked.driver(), self.node.raw().raw(), self.direction == Direction::Predecessors);
        let has_data = driver.supports(Function::cuGraphNodeGetDependencies_v2);
        let ask = |nodes, data, count| {
            // SAFETY: the node is alive; there is room for as many as is said, or none is asked for.
            unsafe {
                match (is_before, has_data) {
                    (true, true) => driver.cuGraphNodeGetDependencies_v2(node, nodes, data, count),
                    (true, false) => driver.cuGraphNodeGetDependencies(node, nodes, count),
                    (false, true) => driver.cuGraphNodeGetDependentNodes_v2(node, nodes, data, count),
                    (false, false) => driver.cuGraphNodeGetDependentNodes(node, nodes, count),
                }
            }
        };
        let mut count = 0;
        ask(null_mut(), null_mut(), &raw mut count)?;
        let (mut nodes, mut data) = (vec![null_mut(); count], vec![default_data(); count]);
        if count > 0 {
            ask(nodes.as_mut_ptr(), data.as_mut_ptr(), &raw mut count)?;
            nodes.truncate(count);
        }
        let read = nodes.iter().map(|node| RawNode::new(*node)).zip(data).collect();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(nodes.into_iter().map(|raw| self.graph().known(locked, raw)).collect())
    }

    /// Both ends of the edges to some nodes: from, and to.
    fn ends(&self, locked: &Locked<'_>, others: &[Node]) -> Result<(Vec<CUgraphNode>, Vec<CUgraphNode>)> {
        let this = vec![locked.node(self.node)?; others.len()];
        let others = others.iter().map(|other| locked.node(other)).collect::<Result<Vec<_>>>()?;
        Ok(match self.direction {
            Direction::Predecessors => (others, this),
            Direction::Successors => (this, others),
        })
    }

    fn add(&self, locked: &Locked<'_>, others: &[Node]) -> Result<()> {
        let (graph, (from, to)) = (locked.graph(self.id())?, self.ends(locked, others)?);
        // SAFETY: the graph is alive, and both arrays have as many of its nodes.
        Ok(unsafe { locked.driver().cuGraphAddDependencies(graph, from.as_ptr(), to.as_ptr(), others.len()) }?)
    }

    fn remove(&self, locked: &Locked<'_>, others: &[Node]) -> Result<()> {
        let (graph, (from, to)) = (locked.graph(self.id())?, self.ends(locked, others)?);
        let data = self.data_of(others);
        let (driver, from, to, count): (&Driver, _, _, _) = (locked.driver(), from.as_ptr(), to.as_ptr(), others.len());
        // SAFETY: the graph is alive, and all arrays have as many of its nodes and edges.
        unsafe {
            if data.iter().all(is_default) {
                driver.cuGraphRemoveDependencies(graph, from, to, count)
            } else {
                driver.cuGraphRemoveDependencies_v2(graph, from, to, data.as_ptr(), count)
            }
        }?;
        Ok(())
    }

    /// The data of the edges to some nodes, as they were last read.
    fn data_of(&self, others: &[Node]) -> Vec<CUgraphEdgeData> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known: NodeMap<CUgraphEdgeData> = last.iter().copied().collect();
        let data = |other: &Node| known.get(&other.raw()).copied().unwrap_or_else(default_data);
        others.iter().map(data).collect()
    }
}

impl Backing for Adjacency<'_> {
    type Item = Node;
    type Key = Node;

    fn name(&self, key: Node) -> Result<Named<Node>> {
        Ok(if key.graph() != self.graph() {
            Named::Unknown(GraphError::OtherGraph { what: "node" }.into())
        } else if key == *self.node {
            Named::Unknown(GraphError::SelfEdge.into())
        } else if key.is_destroyed() {
            Named::Unknown(GraphError::NodeDestroyed.into())
        } else {
            Named::Item(key)
        })
    }

    fn refuse(&self, unknown: Vec<Error>) -> Error {
        unknown.into_iter().next().unwrap_or(GraphError::NodeDestroyed.into())
    }

    fn lock(&self) -> Lock {
        // One for all edges of the hierarchy: an edge is in the sets of both its ends.
        Lock::of(std::sync::Arc::as_ptr(self.node.hierarchy()).cast_mut())
    }

    fn read_all(&self) -> Result<BTreeSet<Node>> {
        Ok(self.read(&self.node.lock())?.into_iter().collect())
    }

    fn read_one(&self, item: &Node) -> Result<bool> {
        Ok(self.read(&self.node.lock())?.contains(item))
    }

    fn check_additions(&self, _additions: &[Node]) -> Result<()> {
        Ok(())
    }

    fn write(&self, additions: &[Node], removals: &[Node]) -> Result<()> {
        let locked = self.node.lock();
        // First, so that a refused addition loses no edge.
        if !additions.is_empty() {
            self.add(&locked, additions)?;
        }
        if removals.is_empty() {
            return Ok(());
        }
        self.remove(&locked, removals).inspect_err(|_| {
            if !additions.is_empty() {
                report_late(
                    || Subject::Graph { device: self.graph().device().ordinal() },
                    self.remove(&locked, additions),
                );
            }
        })
    }
}

impl fmt::Debug for Adjacency<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_tuple(match self.direction {
            Direction::Predecessors => "Predecessors",
            Direction::Successors => "Successors",
        });
        match self.snapshot() {
            Ok(nodes) => text.field(&nodes),
            Err(error) => text.field(&error),
        };
        text.finish()
    }
}
