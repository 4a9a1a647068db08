//! Executable graphs: cuGraphInstantiateWithFlags, cuGraphLaunch, cuGraphUpload, cuGraphExecDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_ulonglong;

use warploom_engine::QueueId;
use warploom_sys::types::{CUgraph_st, CUgraphExec, CUgraphExec_st, CUresult, CUstream_st};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::{ExecutableHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{Executable, NodeWork};

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
    let nodes: Vec<NodeWork> = world.graphs().nodes_of(graph).map(|(_, node)| node.work.clone()).collect();
    if nodes.iter().any(|work| matches!(work, NodeWork::Alloc { .. } | NodeWork::Free)) {
        return Err(call.refuse(NOT_SUPPORTED, "launches of graphs that allocate memory are not simulated"));
    }
    let executable = world.graphs_mut().executables.insert(Executable { nodes });
    let executable =
        executable.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many executable graphs as handles"))?;
    out.write(executable.as_raw())
}

fn executable(call: &Call<'_>, world: &Guard<'_>, raw: Ptr<CUgraphExec_st>) -> Status<ExecutableHandle> {
    let handle = Handle::from_bits(raw.address());
    call.object(&world.graphs().executables, handle, INVALID_VALUE)?;
    Ok(handle)
}

pub(crate) fn cuGraphLaunch(call: &Call<'_>, raw: Ptr<CUgraphExec_st>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    let handle = executable(call, &world, raw)?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(&mut world, queue, "the launch of a graph"));
    }
    let nodes = world.graphs().executables.get(handle).map(|found| found.nodes.clone()).unwrap_or_default();
    for node in &nodes {
        launch(call, &mut world, queue, node)?;
    }
    Ok(())
}

fn launch(call: &Call<'_>, world: &mut Guard<'_>, queue: QueueId, node: &NodeWork) -> Status {
    match node {
        NodeWork::Kernel(kernel) => kernel.start(call, world, queue)?,
        NodeWork::RecordEvent(event) => world.record_event(queue, *event)?,
        NodeWork::WaitEvent(event) => world.wait_for_event(queue, *event).map(drop)?,
        _ => {
            for work in node.ops() {
                call.submit(world, queue, work)?;
            }
        }
    }
    call.get_going(world, queue)
}

/// Has no effect: a launch needs no upload here.
pub(crate) fn cuGraphUpload(call: &Call<'_>, raw: Ptr<CUgraphExec_st>, stream: Ptr<CUstream_st>) -> Status {
    let mut world = call.world();
    let queue = call.queue(&mut world, stream)?;
    executable(call, &world, raw)?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(&mut world, queue, "the upload of a graph"));
    }
    Ok(())
}

/// Pending launches continue.
pub(crate) fn cuGraphExecDestroy(call: &Call<'_>, raw: Ptr<CUgraphExec_st>) -> Status {
    let mut world = call.world();
    let handle = executable(call, &world, raw)?;
    world.graphs_mut().executables.remove(handle);
    Ok(())
}
