//! Destruction of contexts, with all objects in them.

use crate::ffi::handle::{ContextHandle, EventHandle, ModuleHandle};
use crate::machine::census::Resource;
use crate::machine::code::Module;
use crate::machine::world::World;

impl World {
    /// Removes an idle context and the objects in it. The handle of a primary context is kept for its next
    /// activation.
    pub(crate) fn remove_context(&mut self, handle: ContextHandle) {
        let is_primary = self.contexts.get(handle).is_some_and(|context| context.is_primary);
        let gone = if is_primary { self.contexts.suspend(handle) } else { self.contexts.remove(handle) };
        let Some(context) = gone else { return };
        for queue in context.queues().chain(context.marks) {
            self.engine.retire_queue(queue);
        }
        self.abandoned.add(Resource::Stream, context.streams.len() as u64);
        for stream in &context.streams {
            self.streams.orphan(*stream);
        }
        let events = self.events.iter().filter(|(_, event)| event.context == handle);
        for event in events.map(|(event, _)| event).collect::<Vec<EventHandle>>() {
            self.abandoned.add(Resource::Event, 1);
            self.events.orphan(event);
        }
        let modules = self.orphan_modules(handle);
        self.abandoned.add(Resource::Module, modules);
        let owned = self.memory.iter().filter(|allocation| allocation.context == Some(handle));
        let owned = owned.map(|allocation| (allocation.base, Resource::of(&allocation.backing)));
        for (base, resource) in owned.collect::<Vec<_>>() {
            resource.into_iter().for_each(|resource| self.abandoned.add(resource, 1));
            // A finding does not stop the destruction; a use after free is reported all the same.
            self.check_free(base, None).unwrap_or_default();
            self.release_allocation(base);
        }
        self.forget_freed_blocks(handle);
        for other in self.contexts.iter_mut() {
            other.peers.remove(&handle);
        }
        self.devices[usize::from(context.device)].memory.refund(context.overhead);
    }

    /// Orphans the modules of a context that is destroyed. Returns the number that the program had not
    /// unloaded.
    fn orphan_modules(&mut self, context: ContextHandle) -> u64 {
        let modules = self.code.modules.iter().filter(|(_, module)| module.context == context);
        let modules: Vec<ModuleHandle> = modules.map(|(handle, _)| handle).collect();
        let removed = modules.into_iter().filter_map(|module| self.code.remove(module, true));
        removed.filter(Module::is_the_programs).count() as u64
    }
}
