//! The model of a program: its graphs, nodes, executables and user objects, as they have to be.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use warploom_sys::types::{CUgraph, CUgraphExec};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    Empty,
    Fill(u32),
    Copy { from: usize },
    Host,
    Child(Vec<ModelNode>),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelNode {
    pub(crate) raw: usize,
    pub(crate) cell: usize,
    pub(crate) work: Work,
    pub(crate) before: Vec<usize>,
    pub(crate) is_enabled: bool,
}

pub(crate) struct ModelGraph {
    pub(crate) raw: CUgraph,
    /// In the order they were added, by raw handle.
    pub(crate) nodes: Vec<ModelNode>,
    /// A child node, which everything added before it comes before and everything later behind.
    pub(crate) barrier: Option<usize>,
    pub(crate) owners: BTreeMap<usize, u32>,
    /// The number of edges and nodes that were removed: each may change the order in which updates compare nodes.
    pub(crate) removed: u32,
}

pub(crate) struct ModelExec {
    pub(crate) raw: CUgraphExec,
    /// The nodes of the definition, with their work here.
    pub(crate) nodes: Vec<ModelNode>,
    pub(crate) owners: BTreeMap<usize, u32>,
    /// As its graph's.
    pub(crate) removed: u32,
}

/// A user object: the number of times that its destructor ran.
pub(crate) struct Owner {
    pub(crate) ended: Arc<AtomicU32>,
}
