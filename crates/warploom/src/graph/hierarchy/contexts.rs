//! The contexts that nodes run in, where these are not the hierarchy's own.

use super::{GraphId, Locked};
use crate::graph::bundle::{Bundle, Part, Retained};
use crate::graph::raw::{NodeMap, RawNode};
use crate::{Context, Result};

impl Locked<'_> {
    /// The context that a node runs in, if its owners tell, or if it was copied from a graph of another one.
    pub(in crate::graph) fn context_of(&self, id: GraphId, node: RawNode) -> Option<Context> {
        let kept = self.bundle(id, node).and_then(Bundle::context).cloned();
        kept.or_else(|| self.entry(id).contexts.get(&node).cloned())
    }

    /// Records the contexts that nodes of a graph run in, which their owners do not tell.
    pub(in crate::graph) fn set_contexts(&mut self, id: GraphId, contexts: Vec<(RawNode, Context)>) {
        if self.is_alive(id) {
            self.entry_mut(id).contexts.extend(contexts);
        }
    }

    /// The contexts of a graph that is copied to a place of another one, for a bundle to keep there. Those of
    /// graphs below are kept in the graph.
    pub(in crate::graph) fn contexts_besides(&self, place: &Context, id: GraphId) -> Bundle {
        let (mut owners, mut kept) = (Bundle::default(), vec![place]);
        for context in std::iter::once(self.hierarchy.context()).chain(self.entry(id).contexts.values()) {
            if !kept.contains(&context) {
                kept.push(context);
                owners.keep(Part::Whole, Retained::Context(context.clone()));
            }
        }
        owners
    }

    /// Takes note of the contexts that the nodes of a copy run in, where that is not the copy's own.
    pub(in crate::graph) fn copy_contexts(
        &mut self,
        copy: GraphId,
        (from, source): (&Locked<'_>, GraphId),
        mut find: impl FnMut(RawNode) -> Result<RawNode>,
    ) -> Result<()> {
        let mut contexts = NodeMap::default();
        let (own, of_source) = (self.hierarchy.context(), from.hierarchy.context());
        if own != of_source {
            let nodes = self.raw_nodes(copy)?.into_iter().map(RawNode::new);
            contexts.extend(nodes.map(|node| (node, of_source.clone())));
        }
        for (node, context) in &from.entry(source).contexts {
            let node = find(*node)?;
            if context == own {
                contexts.remove(&node);
            } else {
                contexts.insert(node, context.clone());
            }
        }
        self.entry_mut(copy).contexts = contexts;
        Ok(())
    }
}
