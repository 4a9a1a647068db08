//! Graphs and captures of a machine.

use crate::ffi::handle::GraphHandle;
use crate::machine::capture::Captures;
use crate::machine::graph::{Graphs, NodeWork};
use crate::machine::world::World;

impl World {
    /// The graphs.
    pub(crate) fn graphs(&self) -> &Graphs {
        &self.graphs
    }

    /// The graphs, for changes of them alone.
    pub(crate) fn graphs_mut(&mut self) -> &mut Graphs {
        &mut self.graphs
    }

    /// The captures in progress.
    pub(crate) fn captures(&self) -> &Captures {
        &self.captures
    }

    /// The captures in progress, for changes of them alone.
    pub(crate) fn captures_mut(&mut self) -> &mut Captures {
        &mut self.captures
    }

    /// Captures and graphs, for a change of both.
    pub(crate) fn captures_and_graphs(&mut self) -> (&mut Captures, &mut Graphs) {
        (&mut self.captures, &mut self.graphs)
    }

    /// Destroys a graph and its nodes, and releases the addresses of its memory nodes. The call must go on to
    /// run the destructors of user objects that have ended.
    pub(crate) fn destroy_graph(&mut self, graph: GraphHandle) {
        let (works, references) = self.graphs.remove(graph);
        for work in works {
            self.forget_work(&work);
        }
        let ended = self.graphs.release_references(&references);
        self.graphs.ended.extend(ended);
    }

    /// Destroys the graphs inside a node that is gone, and gives up the addresses that it allocates or frees.
    pub(crate) fn forget_work(&mut self, work: &NodeWork) {
        match work {
            NodeWork::Alloc(node) => self.graphs.memory.forget(node.address),
            NodeWork::Free(address) => self.graphs.memory.forget(*address),
            _ => {}
        }
        for graph in work.graphs() {
            self.destroy_graph(*graph);
        }
    }
}
