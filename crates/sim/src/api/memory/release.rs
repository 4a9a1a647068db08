//! Release of memory: frees, and memory of a context that is destroyed.

use crate::ffi::handle::ContextHandle;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// Waits for all work of an allocation's context, as `cuMemFree` does, and releases the allocation.
pub(crate) fn release_when_idle(call: &Call<'_>, world: &mut Guard<'_>, base: u64) -> Status {
    let named = |world: &Guard<'_>| world.memory().at(base).map(|allocation| (allocation.id, allocation.context));
    let before = named(world);
    let context: Option<ContextHandle> = before.and_then(|(_, context)| context);
    if let Some(context) = context {
        call.wait_for_context(world, context)?;
    }
    if named(world) != before {
        return Err(call.refuse(INVALID_VALUE, format!("{base:#x} was freed by another thread meanwhile")));
    }
    world.check_free(base, None)?;
    world.release_allocation(base);
    Ok(())
}
