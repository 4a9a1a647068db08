//! Executable graphs: cuGraphExecDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::CUgraphExec_st;

use crate::ffi::Ptr;
use crate::ffi::handle::{ExecutableHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// An executable by the handle that a C caller passed.
pub(crate) fn named_executable(
    call: &Call<'_>,
    world: &Guard<'_>,
    raw: Ptr<CUgraphExec_st>,
) -> Status<ExecutableHandle> {
    let handle = Handle::from_bits(raw.address());
    call.object(&world.graphs().executables, handle, INVALID_VALUE)?;
    Ok(handle)
}

/// Launches in flight continue, with their parameters and user objects.
pub(crate) fn cuGraphExecDestroy(call: &Call<'_>, raw: Ptr<CUgraphExec_st>) -> Status {
    let mut world = call.world();
    let handle = named_executable(call, &world, raw)?;
    world.destroy_executable(handle);
    // Wakes the thread that runs destructors.
    call.core().pump(&mut world);
    call.run_destructors(&mut world);
    Ok(())
}
