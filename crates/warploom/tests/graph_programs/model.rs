//! The model of a program: its graphs, nodes, executables and owners, as they have to be.

use std::collections::BTreeSet;
use std::sync::Weak;
use std::sync::atomic::AtomicU32;

use warploom::graph::{ChildNode, CopyNode, EmptyNode, FillNode, HostNode, Node};
use warploom::{Buffer, GraphDef, GraphExec};

/// An owner: the buffer or the value with this number.
pub(crate) type OwnerId = usize;

#[derive(Clone)]
pub(crate) enum Handle {
    Empty(EmptyNode),
    Fill(FillNode),
    Copy(CopyNode),
    Host(HostNode),
    /// A host node of a copied graph, which has no type of its own.
    HostCopy(Node),
    Child(ChildNode),
}

impl Handle {
    pub(crate) fn node(&self) -> &Node {
        match self {
            Handle::Empty(node) => node,
            Handle::Fill(node) => node,
            Handle::Copy(node) => node,
            Handle::Host(node) => node,
            Handle::HostCopy(node) => node,
            Handle::Child(node) => node,
        }
    }
}

#[derive(Clone)]
pub(crate) enum Work {
    Empty,
    Fill { to: OwnerId, value: u32 },
    Copy { from: OwnerId, to: OwnerId },
    Host { value: OwnerId },
    Child(Vec<ModelNode>),
}

impl Work {
    /// The owners of the parameters.
    pub(crate) fn owners(&self) -> BTreeSet<OwnerId> {
        match self {
            Work::Empty => BTreeSet::new(),
            Work::Fill { to, .. } => [*to].into(),
            Work::Copy { from, to } => [*from, *to].into(),
            Work::Host { value } => [*value].into(),
            Work::Child(nodes) => nodes.iter().flat_map(|node| node.work.owners()).collect(),
        }
    }

    /// The buffers that are written.
    pub(crate) fn written(&self) -> Vec<OwnerId> {
        match self {
            Work::Empty | Work::Host { .. } => Vec::new(),
            Work::Fill { to, .. } | Work::Copy { to, .. } => vec![*to],
            Work::Child(nodes) => nodes.iter().flat_map(|node| node.work.written()).collect(),
        }
    }

    pub(crate) fn is_child(&self) -> bool {
        matches!(self, Work::Child(_))
    }
}

#[derive(Clone)]
pub(crate) struct ModelNode {
    pub(crate) handle: Handle,
    pub(crate) work: Work,
    pub(crate) before: Vec<Node>,
    pub(crate) is_enabled: bool,
}

pub(crate) struct ModelGraph {
    pub(crate) graph: GraphDef,
    /// In the order they were added.
    pub(crate) nodes: Vec<ModelNode>,
    /// Owners of no node.
    pub(crate) kept: BTreeSet<OwnerId>,
    /// The number of edges and nodes that were removed: a driver pairs nodes by the order of the calls that made
    /// and removed them and their edges.
    pub(crate) removed: u32,
    /// The number of nodes that were destroyed.
    pub(crate) destroyed: u32,
}

impl ModelGraph {
    pub(crate) fn owners(&self) -> BTreeSet<OwnerId> {
        self.nodes.iter().flat_map(|node| node.work.owners()).chain(self.kept.iter().copied()).collect()
    }

    /// The child node that was added last: the nodes before it come before it, and later ones behind.
    pub(crate) fn barrier(&self) -> Option<&ModelNode> {
        self.nodes.iter().rfind(|node| node.work.is_child())
    }
}

pub(crate) struct ModelExec {
    pub(crate) exec: GraphExec,
    /// The nodes of the definition, with their work here.
    pub(crate) nodes: Vec<ModelNode>,
    /// The owners of each node.
    pub(crate) owners: Vec<BTreeSet<OwnerId>>,
    /// Owners of no node.
    pub(crate) kept: BTreeSet<OwnerId>,
    /// The number of edges and nodes that had been removed from the definition when it was instantiated or updated.
    pub(crate) removed: u32,
    /// The number of nodes that had been destroyed in the definition when it was instantiated.
    pub(crate) destroyed: u32,
}

impl ModelExec {
    pub(crate) fn owners(&self) -> BTreeSet<OwnerId> {
        self.owners.iter().flatten().chain(&self.kept).copied().collect()
    }
}

/// A buffer of one value, or a value that is watched.
pub(crate) enum ModelOwner {
    /// `None` when the program has dropped it.
    Memory {
        buffer: Option<Buffer<u32>>,
        value: u32,
    },
    Value(Weak<AtomicU32>),
}
