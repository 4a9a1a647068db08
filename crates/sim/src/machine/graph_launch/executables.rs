//! Executables: instantiation, renewal and end.

use std::sync::Arc;

use crate::ffi::handle::{ExecutableHandle, GraphHandle};
use crate::machine::graph::{Executable, Pairs, References};
use crate::machine::world::World;

impl World {
    /// An executable of a graph as it is now; `None` if all handles are used.
    pub(crate) fn instantiate(&mut self, graph: GraphHandle, flags: u64) -> Option<ExecutableHandle> {
        let id = self.graphs.next_id();
        let executable = Executable::new(&self.graphs, graph, id, flags);
        let references = Arc::clone(&executable.references);
        let handle = self.graphs.executables.insert(executable)?;
        self.graphs.retain_references(&references.0);
        Some(handle)
    }

    /// Destroys an executable. Its launches in flight go on, and release what they use when they end.
    pub(crate) fn destroy_executable(&mut self, handle: ExecutableHandle) {
        let Some(executable) = self.graphs.executables.remove(handle) else { return };
        executable.queues.iter().for_each(|(_, queue)| self.engine.retire_queue(*queue));
        executable.chains.iter().for_each(|chain| self.engine.timelines.end(chain));
        self.drop_references(executable.references);
    }

    /// Replaces the work of an executable by that of a graph, whose nodes are paired with the executable's.
    pub(crate) fn update_executable(&mut self, handle: ExecutableHandle, graph: GraphHandle, pairs: &Pairs) {
        let Some(found) = self.graphs.executables.get(handle) else { return };
        let renewal = Executable::new(&self.graphs, graph, found.id, found.flags);
        self.graphs.retain_references(&renewal.references.0);
        let works = self.graphs.works_of(pairs);
        let found = self.graphs.executables.get_mut(handle);
        if let Some(old) = found.map(|found| found.renew(works, renewal)) {
            self.drop_references(old);
        }
    }

    /// Lets go of references, which are released when no launch in flight holds them.
    fn drop_references(&mut self, references: Arc<References>) {
        if let Some(references) = Arc::into_inner(references) {
            let ended = self.graphs.release_references(&references.0);
            self.graphs.ended.extend(ended);
        }
    }
}
