//! Executable graphs: cuGraphInstantiateWithFlags and cuGraphExecDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_ulonglong;

use warploom_sys::types::{CUgraph_st, CUgraphExec, CUgraphExec_st, CUresult};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::{ExecutableHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH`.
const FREES: u64 = 1;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const ON_DEVICE: u64 = 4;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`.
const PRIORITIES: u64 = 8;

pub(crate) fn cuGraphInstantiateWithFlags(
    call: &Call<'_>,
    out: Ptr<CUgraphExec>,
    graph: Ptr<CUgraph_st>,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    if flags & !(FREES | ON_DEVICE | PRIORITIES) != 0 || flags & FREES != 0 && flags & ON_DEVICE != 0 {
        return Err(
            call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; 1, 4 and 8 are known, 1 and 4 not together"))
        );
    }
    let mut world = call.world();
    call.context(&world)?;
    let graph = named(call, &world, graph)?;
    if world.graphs().graphs.get(graph).is_some_and(|graph| graph.is_captured) {
        let reason = "a graph that is being captured cannot be instantiated";
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, reason));
    }
    let handle = world.instantiate(graph, flags);
    let handle = handle.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many executable graphs as handles"))?;
    out.write(handle.as_raw())
}

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

/// Pending launches continue, and keep what they use.
pub(crate) fn cuGraphExecDestroy(call: &Call<'_>, raw: Ptr<CUgraphExec_st>) -> Status {
    let mut world = call.world();
    let handle = named_executable(call, &world, raw)?;
    world.destroy_executable(handle);
    call.end_user_objects(world);
    Ok(())
}
