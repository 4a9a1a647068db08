//! Instantiation of graphs: cuGraphInstantiateWithFlags and cuGraphInstantiateWithParams.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_ulonglong};

use warploom_sys::types::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph_st, CUgraphExec, CUgraphInstantiateResult, CUgraphNode, CUstream_st,
};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::handle::{ExecutableHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::AUTO_FREE;
use crate::machine::graph_structure::Flaw;

/// `CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD`.
const UPLOADS: u64 = 2;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH`.
const ON_DEVICE: u64 = 4;
/// `CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY`.
const PRIORITIES: u64 = 8;

fn instantiate(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    graph: Ptr<CUgraph_st>,
    flags: u64,
) -> Result<ExecutableHandle, Flaw> {
    let flaw = |code| Flaw::of_graph(code, "");
    call.context(world).map_err(flaw)?;
    let graph = named(call, world, graph).map_err(flaw)?;
    world.graph_is_read(graph);
    if let Err(flaw) = world.check_structure(graph, flags) {
        if flaw.outcome == CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE {
            // A driver has looked at the memory of the graph before it finds a cycle.
            world.graphs_mut().leave_memory(graph);
        }
        return Err(flaw);
    }
    let handle = world.instantiate(graph, flags);
    handle.ok_or_else(|| Flaw::of_graph(OUT_OF_MEMORY, "there are as many executable graphs as handles"))
}

/// The status of a call, which is logged unless it has been.
fn refused(call: &Call<'_>, flaw: &Flaw) -> warploom_sys::types::CUresult {
    if flaw.reason.is_empty() { flaw.code } else { call.refuse(flaw.code, flaw.reason) }
}

fn check_flags(call: &Call<'_>, flags: u64, known: u64) -> Status {
    if flags & !known != 0 || flags & AUTO_FREE != 0 && flags & ON_DEVICE != 0 {
        let reason = format!("flags are {flags:#x}; {known:#x} are known, 1 and 4 not together");
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    Ok(())
}

pub(crate) fn cuGraphInstantiateWithFlags(
    call: &Call<'_>,
    out: Ptr<CUgraphExec>,
    graph: Ptr<CUgraph_st>,
    flags: c_ulonglong,
) -> Status {
    out.required()?;
    check_flags(call, flags, AUTO_FREE | ON_DEVICE | PRIORITIES)?;
    let handle = instantiate(call, &mut call.world(), graph, flags).map_err(|flaw| refused(call, &flaw))?;
    out.write(handle.as_raw())
}

/// The form of CUDA 10.0 and 11.0. The log stays empty; the machine's log has the reason of a refusal.
pub(crate) fn cuGraphInstantiate(
    call: &Call<'_>,
    out: Ptr<CUgraphExec>,
    graph: Ptr<CUgraph_st>,
    error_node: Ptr<CUgraphNode>,
    log: Ptr<c_char>,
    log_bytes: usize,
) -> Status {
    out.required()?;
    error_node.optional()?;
    let result = instantiate(call, &mut call.world(), graph, 0);
    let node = result.as_ref().err().and_then(|flaw| flaw.node);
    error_node.write_if_wanted(node.map_or(std::ptr::null_mut(), Handle::as_raw))?;
    if !log.is_null() && log_bytes > 0 {
        log.write(0)?;
    }
    out.write(result.map_err(|flaw| refused(call, &flaw))?.as_raw())
}

/// Writes the outcome to the parameters. An upload has no effect: a launch needs none here.
pub(crate) fn cuGraphInstantiateWithParams(
    call: &Call<'_>,
    out: Ptr<CUgraphExec>,
    graph: Ptr<CUgraph_st>,
    params: Ptr<CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Status {
    out.required()?;
    let given = params.read()?;
    let result = check_flags(call, given.flags, AUTO_FREE | UPLOADS | ON_DEVICE | PRIORITIES)
        .and_then(|()| check_upload(call, &given))
        .map_err(|code| Flaw::of_graph(code, ""))
        .and_then(|()| instantiate(call, &mut call.world(), graph, given.flags & !UPLOADS));
    let success = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS;
    let (outcome, node) = result.as_ref().map_or_else(|flaw| (flaw.outcome, flaw.node), |_| (success, None));
    let node = node.map_or(std::ptr::null_mut(), Handle::as_raw);
    params.write(CUDA_GRAPH_INSTANTIATE_PARAMS { hErrNode_out: node, result_out: outcome, ..given })?;
    match result {
        Ok(handle) => out.write(handle.as_raw()),
        Err(flaw) => {
            out.write(std::ptr::null_mut())?;
            Err(refused(call, &flaw))
        }
    }
}

/// Refuses an upload in a stream that does not exist or is captured.
fn check_upload(call: &Call<'_>, given: &CUDA_GRAPH_INSTANTIATE_PARAMS) -> Status {
    if given.flags & UPLOADS == 0 {
        return Ok(());
    }
    let mut world = call.world();
    let queue = call.queue(&mut world, Ptr::<CUstream_st>::of_handle(given.hUploadStream))?;
    if world.captures().hold(queue) {
        return Err(call.uncapturable(&mut world, queue, "the upload of a graph"));
    }
    Ok(())
}
