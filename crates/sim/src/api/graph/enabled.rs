//! State of executable graphs: cuGraphNodeSetEnabled, cuGraphExecGetFlags and cuGraphExecGetId.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUgraphExec_st, CUgraphNode_st, cuuint64_t};

use super::executable::named_executable;
use super::named_node;
use crate::ffi::Ptr;
use crate::ffi::handle::{ExecutableHandle, NodeHandle};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::NodeWork;

/// A node of an executable that can be disabled: a kernel, a copy or a fill.
fn switchable(
    call: &Call<'_>,
    world: &Guard<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
) -> Status<(ExecutableHandle, NodeHandle)> {
    let handle = named_executable(call, world, executable)?;
    let (node, _) = named_node(call, world, node)?;
    let work = world.graphs().executables.get(handle).and_then(|found| found.work(node));
    match work {
        Some(NodeWork::Kernel(_) | NodeWork::Memory(_)) => Ok((handle, node)),
        Some(_) => Err(call.refuse(INVALID_VALUE, "only kernels, copies and fills can be disabled")),
        None => Err(call.refuse(INVALID_VALUE, "the executable graph has no such node, or it has no work")),
    }
}

pub(crate) fn cuGraphNodeSetEnabled(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    enabled: c_uint,
) -> Status {
    let mut world = call.world();
    let (handle, node) = switchable(call, &world, executable, node)?;
    let found = world.graphs_mut().executables.get_mut(handle);
    if found.is_some_and(|found| found.set_enabled(node, enabled != 0)) { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuGraphNodeGetEnabled(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    enabled: Ptr<c_uint>,
) -> Status {
    let world = call.world();
    let (handle, node) = switchable(call, &world, executable, node)?;
    let found = world.graphs().executables.get(handle);
    let is_enabled = found.and_then(|found| found.is_enabled(node)).unwrap_or(true);
    enabled.write(is_enabled.into())
}

/// `CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH` and `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`: the
/// driver shows no other flags.
const SHOWN: u64 = 1 | 4;

pub(crate) fn cuGraphExecGetFlags(call: &Call<'_>, executable: Ptr<CUgraphExec_st>, flags: Ptr<cuuint64_t>) -> Status {
    let world = call.world();
    let handle = named_executable(call, &world, executable)?;
    flags.write(world.graphs().executables.get(handle).map_or(0, |found| found.flags & SHOWN))
}

pub(crate) fn cuGraphExecGetId(call: &Call<'_>, executable: Ptr<CUgraphExec_st>, id: Ptr<c_uint>) -> Status {
    let world = call.world();
    let handle = named_executable(call, &world, executable)?;
    id.write(world.graphs().executables.get(handle).map_or(0, |found| found.id))
}
