//! Destruction of contexts: cuCtxDestroy.
//!
//! Destroying a context waits for its work, like a synchronisation. Then its objects are destroyed: its
//! memory is freed, and its streams and events become orphans, which the driver distinguishes from destroyed
//! ones.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUctx_st;

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, EventHandle};
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::census::Resource;
use crate::machine::core::Guard;
use crate::machine::world::World;
use crate::process::thread;

pub(crate) fn cuCtxDestroy_v2(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    if context.is_null() {
        return Err(call.refuse(INVALID_VALUE, "a null context cannot be destroyed"));
    }
    let mut world = call.world();
    let handle = named(call, &world, context, CONTEXT_IS_DESTROYED)?;
    if world.contexts.get(handle).is_some_and(|context| context.is_primary) {
        return Err(call.refuse(INVALID_CONTEXT, "a primary context is released, not destroyed"));
    }
    end(call, &mut world, handle)?;
    leave(call, handle);
    call.end_user_objects(world);
    Ok(())
}

/// Pops a destroyed context from this thread's stack, if it was current; other stacks keep it.
pub(super) fn leave(call: &Call<'_>, context: ContextHandle) {
    thread::with_contexts(call.core().id, |stack| {
        if stack.last() == Some(&context) {
            stack.pop();
        }
    });
}

/// Waits for a context's work and destroys it. A deadlock leaves the context as it is.
pub(crate) fn end(call: &Call<'_>, world: &mut Guard<'_>, handle: ContextHandle) -> Status {
    drain(call, world, handle)?;
    world.destroy_context(handle);
    Ok(())
}

/// Waits until a context is idle.
pub(crate) fn drain(call: &Call<'_>, world: &mut Guard<'_>, handle: ContextHandle) -> Status {
    loop {
        let (pending, known) = (world.pending(handle), world.known_of(handle));
        call.wait(world, &pending)?;
        world.engine.timelines.host_learns(&known);
        if pending.is_empty() {
            break;
        }
    }
    // Another thread may have destroyed it meanwhile.
    match world.contexts.get(handle) {
        Some(_) => Ok(()),
        None => Err(call.refuse(CONTEXT_IS_DESTROYED, "another thread destroyed the context meanwhile")),
    }
}

impl World {
    /// Destroys an idle context and the objects in it. The handle of a primary context is kept for its next
    /// activation.
    pub(crate) fn destroy_context(&mut self, handle: ContextHandle) {
        self.find_leaks_of(handle);
        self.leave_captures(|world, queue| world.engine.queue(queue).owner.context == handle);
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
}
