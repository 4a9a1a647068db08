//! Owners of an executable's nodes, and the streams that it was launched on.
//!
//! An executable of the driver could keep user objects, but each of its launches would take a third longer. So the
//! value in Rust owns what the nodes use, by the nodes of the definition. A node that gets other parameters releases
//! what it alone has kept: memory that a stream frees at once, in the order of the streams that launch; anything else
//! when the [launches in flight](super::launches) are done.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::Arc;

use super::bundle::Bundle;
use super::hierarchy::{GraphId, Locked};
use super::raw::{HandleHasher, RawNode};
use crate::memory::GraphMemory;
use crate::{Result, Stream};

/// A node of a hierarchy's graph, as the driver names it to executables.
pub(super) type NodeKey = (GraphId, RawNode);

/// Everything that an executable keeps.
#[derive(Default)]
pub(super) struct ExecOwners {
    of_nodes: HashMap<NodeKey, Arc<Bundle>, BuildHasherDefault<HandleHasher>>,
    /// Owners of no node, or of nodes that cannot be told: those of a definition that the executable was updated
    /// from, and not made from. A whole update replaces them.
    of_graph: Vec<Arc<Bundle>>,
    memory: GraphMemory,
    /// The memory of them that the host can borrow.
    host: GraphMemory,
}

impl ExecOwners {
    /// The owners of a graph and of all graphs below. Unless the executable was made from the nodes that the
    /// graph has now, these do not name its own.
    pub(super) fn of(locked: &Locked<'_>, id: GraphId, is_source: bool) -> ExecOwners {
        let mut owners = ExecOwners::default();
        locked.each_bundle(id, &mut |id, node, bundle| match node.filter(|_| is_source) {
            Some(node) => drop(owners.replace((id, node), Arc::clone(bundle))),
            None => owners.keep(Arc::clone(bundle)),
        });
        owners
    }

    /// Keeps owners of no node.
    pub(super) fn keep(&mut self, bundle: Arc<Bundle>) {
        self.count(&bundle);
        self.of_graph.push(bundle);
    }

    /// The owners of a node.
    #[inline]
    pub(super) fn of_node(&self, key: NodeKey) -> Option<&Bundle> {
        self.of_nodes.get(&key).map(|bundle| &**bundle)
    }

    /// Gives a node other owners, and returns those before.
    pub(super) fn replace(&mut self, key: NodeKey, bundle: Arc<Bundle>) -> Option<Arc<Bundle>> {
        self.count(&bundle);
        let before = if bundle.is_empty() { self.of_nodes.remove(&key) } else { self.of_nodes.insert(key, bundle) };
        before.inspect(|before| self.discount(before))
    }

    /// Releases the owners of all nodes of some graphs.
    pub(super) fn take_nodes_of(&mut self, graphs: &[GraphId]) -> Vec<Arc<Bundle>> {
        let of_graphs = |(id, _): &NodeKey, _: &mut Arc<Bundle>| graphs.contains(id);
        let taken: Vec<_> = self.of_nodes.extract_if(of_graphs).map(|(_, bundle)| bundle).collect();
        taken.iter().for_each(|bundle| self.discount(bundle));
        taken
    }

    fn count(&mut self, bundle: &Bundle) {
        for (allocation, access) in bundle.memory() {
            self.memory.add(allocation, access);
            if !allocation.is_device() {
                self.host.add(allocation, access);
            }
        }
    }

    fn discount(&mut self, bundle: &Bundle) {
        for (allocation, access) in bundle.memory() {
            self.memory.remove(allocation, access);
            self.host.remove(allocation, access);
        }
    }

    /// Everything, to be dropped.
    pub(super) fn into_bundles(self) -> Vec<Arc<Bundle>> {
        self.of_nodes.into_values().chain(self.of_graph).collect()
    }

    /// Lets a stream launch the executable: all memory is freed after the stream's work from now on.
    pub(super) fn meet(&self, stream: &Stream) -> Result<()> {
        self.memory.iter().try_for_each(|allocation| allocation.meet_launches(stream))
    }

    /// The memory that the host can borrow.
    #[inline]
    pub(super) fn host(&self) -> &GraphMemory {
        &self.host
    }
}
