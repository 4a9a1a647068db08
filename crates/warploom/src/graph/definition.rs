//! `GraphDef`: graphs that are built node by node.
#![expect(unsafe_code, reason = "makes raw graphs, and asks the driver about them")]

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ptr::null_mut;
use std::sync::{Arc, Weak};

use warploom_driver::sys::types::{CUgraph, CUgraphNode};

use super::bundle::Bundle;
use super::hierarchy::{GraphId, Hierarchy, Locked};
use super::raw::RawNode;
use super::{EmptyNode, GraphError, Node, Position};
use crate::{Context, Device, Driver, Result, callback};

/// A graph of work: nodes, and edges that order them.
///
/// Nodes are added [at the beginning](GraphDef::entry), [after a node](Node::then) or [after
/// several](GraphDef::after). Nothing runs before the graph is [instantiated](GraphDef::instantiate) and
/// launched. A node keeps the memory, code and closures that it uses, so that all of the program's own values
/// may be dropped.
///
/// A clone is another handle to the same graph; [`GraphDef::try_clone`] makes another graph. Handles may be
/// used on any thread. The graphs inside of nodes (children, bodies) are `GraphDef`s as well, and each keeps
/// the whole hierarchy.
///
/// ```
/// use warploom::{DevicePool, Driver, GraphDef};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
/// let context = driver.device(0)?.context()?;
/// let stream = context.stream()?;
/// let pool = DevicePool::new(&context)?;
/// let (mut first, mut second) = (pool.zeroed::<u32>(4, &stream)?, pool.zeroed::<u32>(4, &stream)?);
///
/// let graph = GraphDef::new(&context)?;
/// let fill = graph.entry().fill(&mut first, 7)?;
/// fill.then().copy(&first, &mut second)?;
///
/// let exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// assert_eq!(second.download(&stream)?, [7, 7, 7, 7]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct GraphDef {
    hierarchy: Arc<Hierarchy>,
    id: GraphId,
}

impl GraphDef {
    /// An empty graph, whose nodes run in the context unless they say otherwise.
    ///
    /// # Errors
    ///
    /// [`ContextError::Stale`](crate::ContextError::Stale), and the driver's error.
    #[doc(alias = "cuGraphCreate")]
    pub fn new(context: &Context) -> Result<GraphDef> {
        context.check_generation()?;
        let mut raw = null_mut();
        // SAFETY: `raw` is writable.
        unsafe { context.driver().cuGraphCreate(&raw mut raw, 0) }?;
        // SAFETY: the driver has made it just now, and it has no other owner.
        Ok(unsafe { GraphDef::adopt(context, raw) })
    }

    /// Takes over a graph that has no owners attached.
    ///
    /// # Safety
    ///
    /// It is a graph of the context's driver, and has no other owner.
    pub(crate) unsafe fn adopt(context: &Context, raw: CUgraph) -> GraphDef {
        // SAFETY: the caller's promise.
        let hierarchy = Arc::new(unsafe { Hierarchy::new(context, raw, true) });
        GraphDef { hierarchy, id: GraphId::ROOT }
    }

    /// The graph of a capture in progress, which the driver owns until [`GraphDef::end_capture`].
    ///
    /// # Safety
    ///
    /// It is a graph of the context's driver, and stays one until then.
    pub(crate) unsafe fn borrow(context: &Context, raw: CUgraph) -> GraphDef {
        // SAFETY: the caller's promise.
        let hierarchy = Arc::new(unsafe { Hierarchy::new(context, raw, false) });
        let graph = GraphDef { hierarchy, id: GraphId::ROOT };
        graph.lock().begin_capture(GraphId::ROOT);
        graph
    }

    pub(super) fn of(hierarchy: &Arc<Hierarchy>, id: GraphId) -> GraphDef {
        GraphDef { hierarchy: hierarchy.clone(), id }
    }

    #[inline]
    pub(crate) fn hierarchy(&self) -> &Arc<Hierarchy> {
        &self.hierarchy
    }

    #[inline]
    pub(super) fn id(&self) -> GraphId {
        self.id
    }

    #[inline]
    pub(super) fn lock(&self) -> Locked<'_> {
        self.hierarchy.lock()
    }

    /// The context of its nodes.
    #[must_use]
    #[inline]
    pub fn context(&self) -> &Context {
        self.hierarchy.context()
    }

    /// The device of its context.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.context().device()
    }

    #[inline]
    pub(crate) fn driver(&self) -> &Driver {
        self.hierarchy.driver()
    }

    /// The raw handle; valid while this value is held and the graph is not [destroyed](Self::is_destroyed).
    ///
    /// The driver's graphs are not for several threads at once: other code that uses it must not do so while
    /// this crate does. It may copy the graph: from now on the driver, too, keeps what each node uses, by a user
    /// object for the node, and copies take along its references. Before that, the graph has no user objects.
    ///
    /// # Errors
    ///
    /// [`GraphError::GraphDestroyed`], and the driver's error if a user object cannot be made.
    pub fn as_raw(&self) -> Result<CUgraph> {
        let mut locked = self.lock();
        locked.expose()?;
        locked.graph(self.id)
    }

    /// `true` if the graph was inside of a node that was destroyed, or that has another graph now.
    #[must_use]
    pub fn is_destroyed(&self) -> bool {
        !self.lock().is_alive(self.id)
    }

    /// The outermost graph that this one is part of; the graph itself, if it is not inside of a node.
    #[must_use]
    pub fn root(&self) -> GraphDef {
        GraphDef::of(&self.hierarchy, GraphId::ROOT)
    }

    /// The beginning: nodes that are added there wait for none.
    #[inline]
    pub fn entry(&self) -> Position<'_> {
        Position::entry(self)
    }

    /// The position after all of some nodes.
    ///
    /// The nodes are looked at when a node is added there.
    pub fn after<I: IntoIterator<Item: Into<Node>>>(&self, nodes: I) -> Position<'_> {
        let mut all: Vec<Node> = nodes.into_iter().map(Into::into).collect();
        all.sort_unstable();
        all.dedup(); // the driver takes an edge once
        Position::after(self, all)
    }

    /// Adds an empty node that waits for all of some nodes.
    ///
    /// # Errors
    ///
    /// As [`Position::empty`].
    pub fn join<I: IntoIterator<Item: Into<Node>>>(&self, nodes: I) -> Result<EmptyNode> {
        self.after(nodes).empty()
    }

    /// Adds an empty node that waits for none.
    ///
    /// # Errors
    ///
    /// As [`Position::empty`].
    #[inline]
    pub fn empty(&self) -> Result<EmptyNode> {
        self.entry().empty()
    }

    /// All nodes of this graph; not those of graphs inside of nodes.
    ///
    /// # Errors
    ///
    /// [`GraphError::GraphDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphGetNodes")]
    pub fn nodes(&self) -> Result<Vec<Node>> {
        let locked = self.lock();
        Ok(locked.raw_nodes(self.id)?.into_iter().map(|raw| self.known(&locked, raw)).collect())
    }

    /// The number of nodes.
    ///
    /// # Errors
    ///
    /// As [`GraphDef::nodes`].
    pub fn node_count(&self) -> Result<usize> {
        let locked = self.lock();
        let (graph, mut count) = (locked.graph(self.id)?, 0);
        // SAFETY: the graph is alive, `count` is writable, and without an array it is only counted.
        unsafe { self.driver().cuGraphGetNodes(graph, null_mut(), &raw mut count) }?;
        Ok(count)
    }

    /// The node that a handle of the driver's is.
    pub(super) fn known(&self, locked: &Locked<'_>, raw: CUgraphNode) -> Node {
        Node::new(self.clone(), locked.node_id(self.id, RawNode::new(raw)))
    }

    /// The node with a handle of the driver's, in this graph or below.
    pub(super) fn find(&self, locked: &Locked<'_>, raw: CUgraphNode) -> Option<Node> {
        if raw.is_null() {
            return None;
        }
        let has = |id: &GraphId| locked.raw_nodes(*id).is_ok_and(|nodes| nodes.contains(&raw));
        let id = locked.from(self.id).into_iter().find(has)?;
        Some(GraphDef::of(&self.hierarchy, id).known(locked, raw))
    }

    /// Keeps a value for as long as the graph, its clones, executables and their launches, without a node.
    ///
    /// # Errors
    ///
    /// [`GraphError::GraphDestroyed`], and the driver's error. Of a buffer,
    /// [`DeviceError::DriverMismatch`](crate::DeviceError::DriverMismatch) for one of another driver,
    /// [`ContextError::Stale`](crate::ContextError::Stale), and
    /// [`CaptureError::GraphMemory`](crate::CaptureError::GraphMemory) for one of a
    /// [`GraphPool`](crate::GraphPool). Then the value is dropped.
    pub fn keep_alive(&self, owner: super::Owner) -> Result<()> {
        owner.check(self.driver())?;
        self.attach(Bundle::of(super::bundle::Part::Whole, Some(owner.0)))
    }

    /// Keeps owners for as long as the graph, under no node.
    pub(crate) fn attach(&self, bundle: Bundle) -> Result<()> {
        let mut bundle = bundle; // dropped after the lock if it is not taken
        let mut locked = self.lock();
        locked.graph(self.id)?;
        let prepared = locked.prepare(self.id, &mut bundle)?;
        locked.publish_unknown(self.id, prepared);
        Ok(())
    }

    /// A handle that does not keep the graph.
    #[must_use]
    pub fn downgrade(&self) -> WeakGraph {
        WeakGraph { hierarchy: Arc::downgrade(&self.hierarchy), id: self.id }
    }

    /// Ends this handle. If it is the last of the hierarchy, the graph is destroyed. Executables and launches
    /// of it go on.
    ///
    /// Dropping does the same, and can only report a failure.
    ///
    /// # Errors
    ///
    /// The driver's error.
    #[doc(alias = "cuGraphDestroy")]
    pub fn close(self) -> Result<()> {
        if callback::is_running() {
            return Ok(()); // dropped, and so left to the reclaimer
        }
        Arc::into_inner(self.hierarchy).map_or(Ok(()), |hierarchy| hierarchy.end())
    }

    /// Refuses a graph of another driver.
    pub(super) fn same_driver(&self, other: &Driver) -> Result<()> {
        crate::device::same_driver(self.driver(), other)
    }

    /// Refuses a graph of the same hierarchy as a source of copies.
    pub(super) fn independent_of(&self, source: &GraphDef) -> Result<()> {
        if Arc::ptr_eq(&self.hierarchy, &source.hierarchy) { Err(GraphError::SameHierarchy.into()) } else { Ok(()) }
    }
}

impl PartialEq for GraphDef {
    /// `true` if the two are the same graph.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.hierarchy, &other.hierarchy) && self.id == other.id
    }
}

impl Eq for GraphDef {}

impl Hash for GraphDef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.hierarchy.number(), self.id).hash(state);
    }
}

impl fmt::Debug for GraphDef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("GraphDef");
        match self.lock().graph(self.id) {
            Ok(raw) => text.field("raw", &raw),
            Err(_) => text.field("raw", &format_args!("destroyed")),
        };
        text.field("device", self.device()).finish()
    }
}

/// A handle to a graph that does not keep it, from [`GraphDef::downgrade`].
#[derive(Clone)]
pub struct WeakGraph {
    hierarchy: Weak<Hierarchy>,
    id: GraphId,
}

impl WeakGraph {
    /// The graph, if a handle to its hierarchy is left.
    #[must_use]
    pub fn upgrade(&self) -> Option<GraphDef> {
        self.hierarchy.upgrade().map(|hierarchy| GraphDef { hierarchy, id: self.id })
    }
}

impl fmt::Debug for WeakGraph {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("WeakGraph").field(&self.upgrade()).finish()
    }
}
