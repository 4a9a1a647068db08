//! Destruction of contexts: cuCtxDestroy.
//!
//! Destroying a context waits for its work, like a synchronisation. Then its objects are destroyed: its
//! memory is freed, and its streams and events become orphans, which the driver distinguishes from destroyed
//! ones.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUctx_st;

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{CONTEXT_IS_DESTROYED, INVALID_CONTEXT, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::world::World;
use crate::process::thread;

pub(crate) fn cuCtxDestroy_v2(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    if context.is_null() {
        return Err(call.refuse(INVALID_VALUE, "a null context cannot be destroyed"));
    }
    let mut world = call.world();
    let handle = named(call, world.contexts(), context, CONTEXT_IS_DESTROYED)?;
    if world.contexts().get(handle).is_some_and(|context| context.is_primary) {
        return Err(call.refuse(INVALID_CONTEXT, "a primary context is released, not destroyed"));
    }
    end(call, &mut world, handle)?;
    leave(call, handle);
    call.run_destructors(&mut world);
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
    destroy(world, handle);
    Ok(())
}

/// Waits until a context is idle.
pub(crate) fn drain(call: &Call<'_>, world: &mut Guard<'_>, handle: ContextHandle) -> Status {
    loop {
        let (pending, known) = (world.pending(handle), world.known_of(handle));
        call.wait(world, &pending)?;
        world.host_learns(&known);
        if pending.is_empty() {
            break;
        }
    }
    // Another thread may have destroyed it meanwhile.
    match world.contexts().get(handle) {
        Some(_) => Ok(()),
        None => Err(call.refuse(CONTEXT_IS_DESTROYED, "another thread destroyed the context meanwhile")),
    }
}

/// Destroys an idle context. Leaks are reported, and its streams leave their captures.
pub(crate) fn destroy(world: &mut World, handle: ContextHandle) {
    world.find_leaks_of(handle);
    world.leave_captures(|world, queue| world.queue(queue).owner.context == handle);
    world.remove_context(handle);
}
