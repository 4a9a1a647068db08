//! Graphs and threads: a graph is for one thread at a time, because the driver does not lock it.

use warploom_engine::Known;

use crate::ffi::handle::GraphHandle;
use crate::machine::world::World;
use crate::memory::shadow::current_site;

impl World {
    /// Notes that the calling thread changes a graph. Reports a change by another thread that nothing orders
    /// before.
    pub(crate) fn graph_changes(&mut self, graph: GraphHandle) {
        self.graph_is_read(graph);
        let Some(site) = current_site().filter(|_| self.checker.is_on()) else { return };
        let epoch = self.engine.timelines.host_makes();
        if let Some(found) = self.graphs.graphs.get_mut(graph) {
            found.changed = Some(Box::new((epoch, site)));
        }
    }

    /// Reports a change of a graph by another thread, if nothing orders it before this call, which reads the
    /// graph.
    pub(crate) fn graph_is_read(&mut self, graph: GraphHandle) {
        if !self.checker.is_on() {
            return;
        }
        let Some(found) = self.graphs.graphs.get(graph) else { return };
        let Some((epoch, first)) = found.changed.as_deref() else { return };
        let known: &Known = self.engine.timelines.host();
        if !known.includes(*epoch) {
            self.checker.findings().add_graph_race(found.id, first);
        }
    }
}
