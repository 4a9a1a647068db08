//! Copies of graphs: the driver copies the nodes, and their owners are copied here.
#![expect(unsafe_code, reason = "clones raw graphs, and asks the driver for their nodes")]

use std::ptr::null_mut;

use warploom_driver::sys::types::{CUgraph, CUgraphNode};

use super::child_node::{child_of, copyable};
use super::hierarchy::{GraphId, Locked};
use super::raw::RawNode;
use super::{GraphDef, GraphError};
use crate::{Driver, Result};

impl GraphDef {
    /// Another graph with the same nodes and edges, which keeps what this one keeps. Graphs inside of nodes
    /// are copied with it.
    ///
    /// # Errors
    ///
    /// [`GraphError::NotCopyable`](super::GraphError::NotCopyable) for a graph with memory or conditional
    /// nodes, [`GraphError::GraphDestroyed`](super::GraphError::GraphDestroyed), and the driver's error.
    #[doc(alias = "cuGraphClone")]
    pub fn try_clone(&self) -> Result<GraphDef> {
        let mut from = self.lock();
        let (source, mut raw) = (copyable(&from, self)?, null_mut());
        let made = from.without_user_objects(self.id(), || {
            // SAFETY: the graph is alive, and `raw` is writable.
            unsafe { self.driver().cuGraphClone(&raw mut raw, source) }
        });
        if raw.is_null() {
            return made.map_err(Into::into).and(Err(GraphError::GraphDestroyed.into()));
        }
        // SAFETY: the driver has made it just now, if only to report an error then, and it has no other owner.
        let clone = unsafe { GraphDef::adopt(self.context(), raw) };
        let attach = || clone.attach(from.contexts_besides(self.context(), self.id()));
        let index = || copy_index((&mut clone.lock(), GraphId::ROOT), (&from, self.id()));
        let copied = made.map_err(Into::into).and_then(|()| attach()).and_then(|()| index());
        // First: a clone that fails is dropped, and if that is reported, the program's hook may use this graph.
        drop(from);
        copied.map(|()| clone)
    }
}

/// Locks two hierarchies, always in the same order, so that two threads never wait for each other.
pub(super) fn lock_both<'a>(one: &'a GraphDef, other: &'a GraphDef) -> (Locked<'a>, Locked<'a>) {
    if one.hierarchy().number() < other.hierarchy().number() {
        let first = one.lock();
        (first, other.lock())
    } else {
        let first = other.lock();
        (one.lock(), first)
    }
}

/// Copies the index of a graph to the copy that the driver has made of it, and of all graphs below.
pub(super) fn copy_index((to, copy): (&mut Locked<'_>, GraphId), (from, source): (&Locked<'_>, GraphId)) -> Result<()> {
    let (driver, graph) = (to.driver(), to.graph(copy)?);
    let find = |node| find_in_clone(driver, graph, node);
    to.adopt(copy, (from, source), find)?;
    to.copy_contexts(copy, (from, source), find)?;
    for (node, inside) in from.nodes_with_graphs(source) {
        let node = find_in_clone(driver, graph, node)?;
        for source in inside {
            let child = child_of(to.driver(), node.raw())?;
            let copy = to.add_inside(copy, node, child);
            copy_index((to, copy), (from, source))?;
        }
    }
    Ok(())
}

/// The node of a copy that corresponds to one of the original.
fn find_in_clone(driver: &Driver, copy: CUgraph, original: RawNode) -> Result<RawNode> {
    let mut node: CUgraphNode = null_mut();
    // SAFETY: the callers' copy and original are alive, and `node` is writable.
    unsafe { driver.cuGraphNodeFindInClone(&raw mut node, original.raw(), copy) }?;
    Ok(RawNode::new(node))
}
