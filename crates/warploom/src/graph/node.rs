//! `Node`: a node of a graph, of any kind.
#![expect(unsafe_code, reason = "asks the driver about raw nodes, and destroys them")]

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use warploom_driver::sys::types::{CUgraphNode, CUgraphNodeType};

use super::bundle::Bundle;
use super::exec_owners::NodeKey;
use super::hierarchy::{GraphId, Hierarchy, Locked};
use super::raw::RawNode;
use super::{GraphDef, GraphError, Position};
use crate::{Context, Result};

/// A node of a graph. A clone is another handle to the same node, and keeps the graph.
///
/// Nodes of a kind have a type of their own, such as [`KernelNode`](super::KernelNode), from which this is
/// had by reference or by `into`. Two are equal if they are the same node, also when it was destroyed; the
/// handle of a destroyed node never becomes that of another.
#[derive(Clone)]
pub struct Node {
    graph: GraphDef,
    raw: RawNode,
    incarnation: u64,
}

/// A node among those of its graph: the driver's handle, and a number that tells it from destroyed nodes that had
/// the same handle.
#[derive(Clone, Copy)]
pub(super) struct NodeId {
    pub(super) raw: RawNode,
    pub(super) incarnation: u64,
}

impl Node {
    #[inline]
    pub(super) fn new(graph: GraphDef, NodeId { raw, incarnation }: NodeId) -> Node {
        Node { graph, raw, incarnation }
    }

    /// The graph that it is in.
    #[must_use]
    #[inline]
    pub fn graph(&self) -> &GraphDef {
        &self.graph
    }

    #[inline]
    pub(super) fn hierarchy(&self) -> &Arc<Hierarchy> {
        self.graph.hierarchy()
    }

    #[inline]
    pub(super) fn graph_id(&self) -> GraphId {
        self.graph.id()
    }

    #[inline]
    pub(super) fn raw(&self) -> RawNode {
        self.raw
    }

    #[inline]
    pub(super) fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Its name among the nodes of executables.
    #[inline]
    pub(super) fn key_in_exec(&self) -> NodeKey {
        (self.graph_id(), self.raw)
    }

    #[inline]
    pub(super) fn lock(&self) -> Locked<'_> {
        self.graph.lock()
    }

    /// The raw handle; valid while this value is held and the node is not [destroyed](Self::is_destroyed).
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error, as for [`GraphDef::as_raw`].
    pub fn as_raw(&self) -> Result<CUgraphNode> {
        let mut locked = self.lock();
        locked.expose()?;
        locked.node(self)
    }

    /// `true` if the node was destroyed, or the graph that it was in.
    #[must_use]
    pub fn is_destroyed(&self) -> bool {
        !self.lock().is_valid(self)
    }

    /// The position after this node.
    #[inline]
    pub fn then(&self) -> Position<'_> {
        Position::then(self)
    }

    /// Its kind.
    ///
    /// # Errors
    ///
    /// [`GraphError::NodeDestroyed`], and the driver's error.
    #[doc(alias = "cuGraphNodeGetType")]
    pub fn kind(&self) -> Result<NodeKind> {
        let locked = self.lock();
        let (raw, mut kind) = (locked.node(self)?, CUgraphNodeType(0));
        // SAFETY: the node is alive, and `kind` is writable.
        unsafe { self.graph.driver().cuGraphNodeGetType(raw, &raw mut kind) }?;
        Ok(NodeKind::from_raw(kind))
    }

    /// The context that it runs in, if that is known and not the graph's. It never changes.
    pub(super) fn other_context(&self) -> Option<Context> {
        self.lock().context_of(self.graph_id(), self.raw).filter(|context| context != self.graph.context())
    }

    /// Refuses a node of another kind.
    pub(super) fn expect(&self, expected: NodeKind) -> Result<()> {
        let found = self.kind()?;
        if found == expected { Ok(()) } else { Err(GraphError::OtherKind { expected, found }.into()) }
    }

    /// Takes the node out of its graph, with its edges and everything inside of it, and releases what it
    /// keeps. All handles to it are refused from then on; destroying it again does nothing.
    ///
    /// # Errors
    ///
    /// [`GraphError::Captured`] while the graph, or one inside of the node, is being captured, and the driver's
    /// error, such as for a graph with memory nodes; then the node is as before.
    #[doc(alias = "cuGraphDestroyNode")]
    pub fn destroy(&self) -> Result<()> {
        let mut locked = self.lock();
        if !locked.is_valid(self) {
            return Ok(());
        }
        locked.check_not_captured(self.graph_id())?;
        locked.check_settled_inside(self.graph_id(), self.raw)?;
        // SAFETY: the node is alive, and all handles to it are refused from then on.
        unsafe { locked.destroy(self.graph_id(), self.raw) }
    }

    /// Changes parameters: attaches the owners of the new ones, makes the call, and releases those before.
    ///
    /// `owners` is given the present ones, and answers `None` if they stay.
    pub(super) fn change(
        &self,
        owners: impl FnOnce(Option<&Bundle>) -> Option<Bundle>,
        call: impl FnOnce(&Locked<'_>, CUgraphNode) -> Result<()>,
    ) -> Result<()> {
        self.change_in(&mut self.lock(), owners, call)
    }

    /// As [`Node::change`], with the hierarchy locked.
    pub(super) fn change_in(
        &self,
        locked: &mut Locked<'_>,
        owners: impl FnOnce(Option<&Bundle>) -> Option<Bundle>,
        call: impl FnOnce(&Locked<'_>, CUgraphNode) -> Result<()>,
    ) -> Result<()> {
        let raw = locked.node(self)?;
        let id = self.graph_id();
        let Some(mut bundle) = owners(locked.bundle(id, self.raw)) else { return call(locked, raw) };
        let prepared = locked.prepare(id, &mut bundle)?;
        if let Err(error) = call(locked, raw) {
            locked.withdraw(id, prepared);
            return Err(error);
        }
        locked.publish(id, self.raw, prepared);
        Ok(())
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.graph == other.graph && (self.raw, self.incarnation) == (other.raw, other.incarnation)
    }
}

impl Eq for Node {}

impl Hash for Node {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.graph.hash(state);
        (self.raw, self.incarnation).hash(state);
    }
}

impl Node {
    fn key(&self) -> (u64, GraphId, RawNode, u64) {
        (self.hierarchy().number(), self.graph_id(), self.raw, self.incarnation)
    }
}

impl PartialOrd for Node {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Node {
    /// An order of no meaning, for sets.
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = formatter.debug_struct("Node");
        match self.kind() {
            Ok(kind) => text.field("kind", &kind),
            Err(_) if self.is_destroyed() => text.field("kind", &format_args!("destroyed")),
            Err(error) => text.field("kind", &error),
        };
        text.field("raw", &self.raw.raw()).finish()
    }
}

impl AsRef<Node> for Node {
    fn as_ref(&self) -> &Node {
        self
    }
}

impl From<&Node> for Node {
    fn from(node: &Node) -> Node {
        node.clone()
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal = $raw:ident;)*) => {
        /// Kinds of nodes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum NodeKind {
            $($(#[doc = $doc])* $name,)*
            /// A kind that this crate does not know, by the driver's number.
            Other(u32),
        }

        impl NodeKind {
            fn from_raw(raw: CUgraphNodeType) -> NodeKind {
                match raw {
                    $(CUgraphNodeType::$raw => NodeKind::$name,)*
                    CUgraphNodeType(other) => NodeKind::Other(other),
                }
            }
        }

        impl fmt::Display for NodeKind {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(NodeKind::$name => formatter.pad($text),)*
                    NodeKind::Other(number) => write!(formatter, "kind-{number}"),
                }
            }
        }
    };
}
kinds! {
    /// Launches a kernel.
    Kernel "kernel" = CU_GRAPH_NODE_TYPE_KERNEL;
    /// Copies memory.
    Copy "copy" = CU_GRAPH_NODE_TYPE_MEMCPY;
    /// Fills memory.
    Fill "fill" = CU_GRAPH_NODE_TYPE_MEMSET;
    /// Calls a function of the host.
    Host "host" = CU_GRAPH_NODE_TYPE_HOST;
    /// Runs a graph.
    Child "child" = CU_GRAPH_NODE_TYPE_GRAPH;
    /// Does nothing.
    Empty "empty" = CU_GRAPH_NODE_TYPE_EMPTY;
    /// Waits for an event.
    Wait "wait" = CU_GRAPH_NODE_TYPE_WAIT_EVENT;
    /// Records an event.
    Record "record" = CU_GRAPH_NODE_TYPE_EVENT_RECORD;
    /// Signals external semaphores.
    SignalSemaphores "signal-semaphores" = CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    /// Waits for external semaphores.
    WaitSemaphores "wait-semaphores" = CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT;
    /// Allocates memory.
    Alloc "alloc" = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    /// Frees memory.
    Free "free" = CU_GRAPH_NODE_TYPE_MEM_FREE;
    /// Writes or waits for values in memory.
    Values "values" = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
    /// Runs a body if, while, or by which value a condition says.
    Conditional "conditional" = CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

/// Implements the traits that all node types share.
macro_rules! typed_node {
    ($name:ident $(<$generic:ident: $bound:path>)?) => {
        impl $(<$generic: $bound>)? std::ops::Deref for $name $(<$generic>)? {
            type Target = $crate::graph::Node;

            fn deref(&self) -> &$crate::graph::Node {
                self.node()
            }
        }

        impl $(<$generic: $bound>)? AsRef<$crate::graph::Node> for $name $(<$generic>)? {
            fn as_ref(&self) -> &$crate::graph::Node {
                self.node()
            }
        }

        impl $(<$generic: $bound>)? From<$name $(<$generic>)?> for $crate::graph::Node {
            fn from(node: $name $(<$generic>)?) -> $crate::graph::Node {
                node.node().clone()
            }
        }

        impl $(<$generic: $bound>)? From<&$name $(<$generic>)?> for $crate::graph::Node {
            fn from(node: &$name $(<$generic>)?) -> $crate::graph::Node {
                node.node().clone()
            }
        }

        impl $(<$generic: $bound>)? PartialEq for $name $(<$generic>)? {
            /// `true` if the two are the same node.
            fn eq(&self, other: &Self) -> bool {
                self.node() == other.node()
            }
        }

        impl $(<$generic: $bound>)? Eq for $name $(<$generic>)? {}

        impl $(<$generic: $bound>)? std::hash::Hash for $name $(<$generic>)? {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.node().hash(state);
            }
        }

        impl $(<$generic: $bound>)? std::fmt::Debug for $name $(<$generic>)? {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.debug_tuple(stringify!($name)).field(self.node()).finish()
            }
        }

        impl $(<$generic: $bound>)? $name $(<$generic>)? {
            /// The node, of any kind.
            #[must_use]
            pub fn node(&self) -> &$crate::graph::Node {
                &self.node
            }
        }
    };
}
pub(super) use typed_node;

/// Types of nodes that a [`Node`] can become, by [`Node::downcast`].
pub trait TypedNode: sealed::TypedNode {}

pub(super) mod sealed {
    use super::{Node, NodeKind, Result};

    #[expect(unnameable_types, reason = "only this crate has types of nodes")]
    pub trait TypedNode: Sized {
        const KIND: NodeKind;

        /// The node, which is of the kind.
        fn over(node: Node) -> Result<Self>;
    }
}

impl Node {
    /// The node as one of its kind.
    ///
    /// ```
    /// use warploom::graph::{AllocNode, NodeKind, WhileNode};
    /// # use warploom::{Driver, GraphDef};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let driver = Driver::open(&warploom_sim::Machine::preset("h200")?)?;
    /// # let graph = GraphDef::new(&driver.device(0)?.context()?)?;
    /// graph.entry().allocate::<f32>(256)?.then().while_loop(&graph.condition(1)?)?;
    /// for node in graph.nodes()? {
    ///     match node.kind()? {
    ///         NodeKind::Alloc => assert_eq!(node.downcast::<AllocNode<f32>>()?.len(), 256),
    ///         _ => assert_eq!(node.downcast::<WhileNode>()?.body().node_count()?, 0),
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`GraphError::OtherKind`] if it is of another kind, [`GraphError::NodeDestroyed`], and the driver's
    /// error.
    ///
    /// For conditional nodes, [`GraphError::OtherConditional`] for one of another type, and
    /// [`GraphError::Opaque`] for one that other code has made. For alloc nodes,
    /// [`MemoryError::Cast`](crate::MemoryError::Cast) if the bytes are not a whole number of the values, or not
    /// aligned for them.
    pub fn downcast<N: TypedNode>(&self) -> Result<N> {
        self.expect(N::KIND)?;
        N::over(self.clone())
    }
}
