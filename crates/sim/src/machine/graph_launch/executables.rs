//! Executables: instantiation, renewal and end.

use std::sync::Arc;

use warploom_engine::Mode;

use crate::ffi::handle::{ExecutableHandle, GraphHandle, Handle};
use crate::machine::destructor::Destructor;
use crate::machine::graph::{Executable, Pairs, References};
use crate::machine::stream::{NON_BLOCKING, Traits};
use crate::machine::world::{Work, World};

impl World {
    /// An executable of a graph as it is now; `None` if all handles are used.
    pub(crate) fn instantiate(&mut self, graph: GraphHandle, flags: u64) -> Option<ExecutableHandle> {
        let id = self.graphs.next_id();
        let executable = Executable::new(&self.graphs, graph, id, flags);
        let (references, addresses) = (Arc::clone(&executable.references), executable.addresses());
        let left = executable.unfreed.clone();
        let handle = self.graphs.executables.insert(executable)?;
        self.graphs.retain_references(&references.objects);
        addresses.iter().for_each(|address| self.graphs.memory.hold(*address));
        left.iter().for_each(|address| self.graphs.memory.leave(*address));
        Some(handle)
    }

    /// Destroys an executable. Its launches in flight go on, and release their user objects when they end.
    ///
    /// The destructors of user objects run later on a thread of the machine, as the driver does it. On a
    /// machine without threads the call must go on to run them.
    pub(crate) fn destroy_executable(&mut self, handle: ExecutableHandle) {
        let Some(executable) = self.graphs.executables.remove(handle) else { return };
        executable.queues.iter().for_each(|(_, queue)| self.engine.retire_queue(*queue));
        executable.chains.iter().for_each(|chain| self.engine.timelines.end(chain));
        executable.addresses().iter().for_each(|address| self.graphs.memory.forget(*address));
        self.drop_references(executable.references);
        if self.engine.mode() == Mode::Threads && !self.graphs.ended.is_empty() {
            let ended = std::mem::take(&mut self.graphs.ended);
            self.run_destructors_later(ended);
        }
    }

    /// Runs destructors on a thread of the machine, in a queue of their own.
    fn run_destructors_later(&mut self, ended: Vec<Destructor>) {
        let (id, no_context) = (self.next_stream_id(), Handle::from_bits(0));
        let queue = self.new_queue(no_context, 0, Traits::new(id, NON_BLOCKING, 0));
        self.add(queue, &[], Work::Destructors(ended), 0);
        self.engine.retire_queue(queue);
    }

    /// Releases the references of a launch that has ended, if it is the last to hold them.
    pub(super) fn launch_releases(&mut self, references: Arc<References>) {
        // Otherwise the executable holds them, or a later launch.
        let Some(references) = Arc::into_inner(references) else { return };
        let ended = self.graphs.release_references(&references.objects);
        if ended.is_empty() {
            return;
        }
        match self.engine.mode() {
            Mode::Threads => self.run_destructors_later(ended),
            // The call that runs the work runs them, too.
            _ => self.graphs.ended.extend(ended),
        }
    }

    /// Replaces the work of an executable by that of a graph, whose nodes are paired with the executable's.
    pub(crate) fn update_executable(&mut self, handle: ExecutableHandle, graph: GraphHandle, pairs: &Pairs) {
        let Some(found) = self.graphs.executables.get(handle) else { return };
        let renewal = Executable::new(&self.graphs, graph, found.id, found.flags);
        let given_up = found.addresses();
        self.graphs.retain_references(&renewal.references.objects);
        renewal.addresses().iter().for_each(|address| self.graphs.memory.hold(*address));
        renewal.unfreed.iter().for_each(|address| self.graphs.memory.leave(*address));
        let works = self.graphs.works_of(pairs);
        let found = self.graphs.executables.get_mut(handle);
        if let Some(old) = found.map(|found| found.renew(works, renewal)) {
            self.drop_references(old);
        }
        given_up.iter().for_each(|address| self.graphs.memory.forget(*address));
    }

    /// Gives nodes of a child graph the work of another graph's, and the executable that graph's references in
    /// place of those of the graphs inside the node.
    pub(crate) fn update_child(
        &mut self,
        handle: ExecutableHandle,
        inside: &[GraphHandle],
        child: GraphHandle,
        pairs: &Pairs,
    ) {
        let (works, references) = (self.graphs.works_of(pairs), self.graphs.references_of(child));
        let Some(found) = self.graphs.executables.get_mut(handle) else { return };
        found.take_over(works);
        let references = Arc::new(found.references_with(inside, references));
        let old = std::mem::replace(&mut found.references, Arc::clone(&references));
        self.graphs.retain_references(&references.objects);
        self.drop_references(old);
    }

    /// Lets go of references, which are released when no launch in flight holds them.
    fn drop_references(&mut self, references: Arc<References>) {
        if let Some(references) = Arc::into_inner(references) {
            let ended = self.graphs.release_references(&references.objects);
            self.graphs.ended.extend(ended);
        }
    }
}
