//! Limits of a context: cuCtxGetLimit and cuCtxSetLimit.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUlimit;

use super::end::drain;
use crate::ffi::Ptr;
use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_CONTEXT, INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::limits::{LimitBounds, Limits, STACK_STEP};
use crate::machine::world::World;

/// Refuses a limit that this driver version does not know.
fn check(call: &Call<'_>, limit: CUlimit) -> Status {
    let known = match call.core().topology.driver_version {
        ..12050 => CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE,
        12050..12080 => CUlimit::CU_LIMIT_CIG_ENABLED,
        _ => CUlimit::CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED,
    };
    if limit.0 > known.0 {
        return Err(call.refuse(INVALID_VALUE, format!("limit {}: the driver knows 0 to {}", limit.0, known.0)));
    }
    Ok(())
}

pub(crate) fn cuCtxGetLimit(call: &Call<'_>, value: Ptr<usize>, limit: CUlimit) -> Status {
    value.required()?;
    let world = call.world();
    let current = call.context(&world)?;
    check(call, limit)?;
    let context = call.object(world.contexts(), current, INVALID_CONTEXT)?;
    let bounds = LimitBounds::of(&call.core().topology.devices[usize::from(context.device)]);
    let found = context.limits.get(limit, &bounds);
    value.write(found.map_err(|code| call.refuse(code, format!("the device has no limit {}", limit.0)))? as usize)
}

pub(crate) fn cuCtxSetLimit(call: &Call<'_>, limit: CUlimit, value: usize) -> Status {
    let mut world = call.world();
    let current = call.context(&world)?;
    check(call, limit)?;
    let context = call.object(world.contexts(), current, INVALID_CONTEXT)?;
    let bounds = LimitBounds::of(&call.core().topology.devices[usize::from(context.device)]);
    if limit == CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE && context.heap.is_some() {
        return Err(
            call.refuse(INVALID_VALUE, "kernels have taken memory of the heap, which keeps its size from then on")
        );
    }
    let after = context.limits.with(limit, value as u64, &bounds);
    let after = after.map_err(|code| call.refuse(code, format!("limit {} cannot be {value}", limit.0)))?;
    change(call, &mut world, current, after)
}

/// The stack size of a kernel's threads. A kernel that needs more than the context's limit raises the limit
/// first.
pub(crate) fn stack_for(call: &Call<'_>, world: &mut Guard<'_>, context: ContextHandle, needed: u32) -> Status<u32> {
    let mut limits = call.object(world.contexts(), context, INVALID_CONTEXT)?.limits;
    if u64::from(needed) > limits.stack {
        limits.stack = u64::from(needed).next_multiple_of(STACK_STEP);
        change(call, world, context, limits)?;
    }
    // The stack limit is smaller than a thread's address space, so it fits.
    Ok(limits.stack as u32)
}

/// The stack of a context's kernels, in bytes of a thread.
pub(crate) fn stack_of(world: &World, context: ContextHandle) -> Status<u32> {
    // The stack limit is smaller than a thread's address space, so it fits.
    world.contexts().get(context).map(|context| context.limits.stack as u32).ok_or(INVALID_CONTEXT)
}

/// Changes a context's limits, and charges or refunds the memory of its stacks.
fn change(call: &Call<'_>, world: &mut Guard<'_>, handle: ContextHandle, after: Limits) -> Status {
    let context = call.object(world.contexts(), handle, INVALID_CONTEXT)?;
    if after.stack != context.limits.stack {
        // Stacks are not moved under running kernels.
        drain(call, world, handle)?;
    }
    let Some(context) = world.contexts().get(handle) else { return Err(INVALID_CONTEXT) };
    let device = usize::from(context.device);
    let spec = &call.core().topology.devices[device];
    let (before, now) = (context.overhead, spec.context_memory + LimitBounds::of(spec).stacks(after.stack));
    world.set_limits(handle, after, now).map_err(|free| {
        let (stack, more) = (after.stack, now - before);
        call.refuse(OUT_OF_MEMORY, format!("stacks of {stack} bytes take {more} more of the device; {free} are free"))
    })
}
