//! A node of a graph.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Edges, NodeWork};
use crate::ffi::handle::{GraphHandle, NodeHandle, kind};
use crate::machine::objects::Object;
use crate::memory::shadow::NodeSite;

/// A node of a graph.
pub(crate) struct Node {
    pub(crate) graph: GraphHandle,
    pub(crate) work: NodeWork,
    /// The nodes that it depends on.
    pub(crate) dependencies: Edges,
    /// The nodes that depend on it.
    pub(crate) dependents: SmallVec<[NodeHandle; 1]>,
    /// Its number in its graph, from 0 on; those of destroyed nodes are not used again.
    pub(crate) local_id: u32,
    /// The call that added it, while the machine checks.
    pub(crate) site: Option<Arc<NodeSite>>,
    /// Its place in the list of its graph.
    pub(super) place: u32,
}

// A program may have a million of them.
const _: () = assert!(size_of::<Node>() <= 136, "a node is small");

impl Node {
    pub(super) fn new(graph: GraphHandle, work: NodeWork, dependencies: Edges, local_id: u32, place: u32) -> Self {
        Self { graph, work, dependencies, dependents: SmallVec::new(), local_id, site: None, place }
    }
}

impl Object for Node {
    type Kind = kind::Node;
}
