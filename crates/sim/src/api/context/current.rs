//! Current context of a thread: cuCtxSetCurrent, cuCtxPushCurrent, cuCtxPopCurrent.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUcontext, CUctx_st};

use super::end::{end, leave};
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, Handle};
use crate::ffi::status::{INVALID_CONTEXT, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::process::thread;

/// A context that may become current: the driver accepts a destroyed one, and later calls fail.
fn admissible(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status<ContextHandle> {
    let handle = Handle::from_bits(context.address());
    let world = call.world();
    if !world.contexts().is_past(handle) {
        call.object(world.contexts(), handle, INVALID_CONTEXT)?;
    }
    Ok(handle)
}

pub(crate) fn cuCtxSetCurrent(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    let machine = call.core().id;
    if context.is_null() {
        thread::with_contexts(machine, |stack| stack.pop());
        return Ok(());
    }
    let handle = admissible(call, context)?;
    thread::with_contexts(machine, |stack| match stack.last_mut() {
        Some(top) => *top = handle,
        None => stack.push(handle),
    });
    Ok(())
}

pub(crate) fn cuCtxGetCurrent(call: &Call<'_>, context: Ptr<CUcontext>) -> Status {
    let current = thread::with_contexts(call.core().id, |stack| stack.last().copied());
    context.write(current.map_or(std::ptr::null_mut(), Handle::as_raw))
}

pub(crate) fn cuCtxPushCurrent_v2(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    if context.is_null() {
        return Err(call.refuse(INVALID_VALUE, "a null context cannot be pushed"));
    }
    let handle = admissible(call, context)?;
    thread::with_contexts(call.core().id, |stack| stack.push(handle));
    Ok(())
}

/// The form of CUDA 2.0: a context is current to one thread, and there once.
pub(crate) fn cuCtxPushCurrent(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    let pushed = Handle::from_bits(context.address());
    if thread::with_contexts(call.core().id, |stack| stack.contains(&pushed)) {
        return Err(call.refuse(INVALID_CONTEXT, "the context is current to this thread already"));
    }
    cuCtxPushCurrent_v2(call, context)
}

pub(crate) fn cuCtxPopCurrent_v2(call: &Call<'_>, context: Ptr<CUcontext>) -> Status {
    context.optional()?;
    let popped = thread::with_contexts(call.core().id, |stack| stack.pop());
    let popped = popped.ok_or_else(|| call.refuse(INVALID_CONTEXT, "no context is current on this thread"))?;
    context.write_if_wanted(popped.as_raw())
}

pub(crate) fn cuCtxAttach(call: &Call<'_>, context: Ptr<CUcontext>, flags: c_uint) -> Status {
    context.required()?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let mut world = call.world();
    let current = call.live_context(&world)?;
    if let Some(attached) = world.contexts_mut().get_mut(current) {
        attached.attached += 1;
    }
    context.write(current.as_raw())
}

/// Undoes one `cuCtxAttach` of the current context; without one, destroys the context.
pub(crate) fn cuCtxDetach(call: &Call<'_>, context: Ptr<CUctx_st>) -> Status {
    let mut world = call.world();
    let current = call.current()?;
    if context.address() != current.bits() {
        return Err(call.refuse(INVALID_CONTEXT, "only the current context can be detached from"));
    }
    call.object(world.contexts(), current, INVALID_CONTEXT)?;
    match world.contexts_mut().get_mut(current) {
        Some(context) if context.attached > 0 => context.attached -= 1,
        Some(context) if context.is_primary => {
            return Err(call.refuse(INVALID_CONTEXT, "a primary context is released, not detached from"));
        }
        _ => {
            end(call, &mut world, current)?;
            leave(call, current);
        }
    }
    Ok(())
}
