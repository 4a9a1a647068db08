//! Graphs and captures of a machine.

use crate::machine::capture::Captures;
use crate::machine::graph::Graphs;
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
}
