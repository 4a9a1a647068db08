//! Updates of executable graphs: cuGraphExecUpdate and cuGraphExecKernelNodeSetParams with the others.
//!
//! A node of an executable is named by the node of its definition. Launches in flight keep the work that they
//! were launched with.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::*;

use super::executable::named_executable;
use super::params::{kernel, other_kind, record, wait};
use super::{named, named_node, shown, work};
use crate::ffi::handle::{ExecutableHandle, GraphHandle, Handle, NodeHandle};
use crate::ffi::node_params::{KernelParams, NodeParams};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{Difference, NodeWork};

const FAILURE: CUresult = CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;

pub(crate) fn cuGraphExecUpdate_v2(
    call: &Call<'_>,
    raw: Ptr<CUgraphExec_st>,
    graph: Ptr<CUgraph_st>,
    info: Ptr<CUgraphExecUpdateResultInfo>,
) -> Status {
    info.optional()?;
    update(call, raw, graph, |outcome| info.write_if_wanted(outcome))
}

/// The form of CUDA 10.2, which tells node and result apart.
pub(crate) fn cuGraphExecUpdate(
    call: &Call<'_>,
    raw: Ptr<CUgraphExec_st>,
    graph: Ptr<CUgraph_st>,
    node: Ptr<CUgraphNode>,
    result: Ptr<CUgraphExecUpdateResult>,
) -> Status {
    node.optional()?;
    result.optional()?;
    update(call, raw, graph, |outcome| {
        node.write_if_wanted(outcome.errorNode)?;
        result.write_if_wanted(outcome.result)
    })
}

/// Updates an executable; `tell` gets the outcome before anything is changed.
fn update(
    call: &Call<'_>,
    raw: Ptr<CUgraphExec_st>,
    graph: Ptr<CUgraph_st>,
    tell: impl FnOnce(CUgraphExecUpdateResultInfo) -> Status,
) -> Status {
    let mut world = call.world();
    let handle = named_executable(call, &world, raw)?;
    let graph = named(call, &world, graph)?;
    world.graph_is_read(graph);
    let graphs = world.graphs();
    let executable = graphs.executables.get(handle).ok_or(INVALID_VALUE)?;
    let nothing = CUgraphExecUpdateResultInfo {
        result: CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS,
        errorNode: std::ptr::null_mut(),
        errorFromNode: std::ptr::null_mut(),
    };
    if graphs.is_inside_a_node(graph) {
        tell(nothing)?;
        return Err(call.refuse(INVALID_VALUE, "a graph inside a node updates no executable graph"));
    }
    if graphs.has_other_executable(graph, handle) {
        tell(nothing)?;
        return Err(call.refuse(NOT_SUPPORTED, "a graph with memory nodes has another executable already"));
    }
    let result = executable.pair(graphs, graph);
    let success = CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS;
    let difference = result.as_ref().err().copied().unwrap_or(Difference::new(success, None));
    let node = |node: Option<NodeHandle>| node.map_or(std::ptr::null_mut(), Handle::as_raw);
    tell(CUgraphExecUpdateResultInfo {
        result: difference.result,
        errorNode: node(difference.node),
        errorFromNode: node(difference.from),
    })?;
    match result {
        Ok(pairs) => world.update_executable(handle, graph, &pairs),
        Err(difference) => return Err(refuse(call, &difference)),
    }
    call.run_destructors(&mut world);
    Ok(())
}

fn refuse(call: &Call<'_>, difference: &Difference) -> CUresult {
    let Difference { result, node, .. } = difference;
    call.refuse(FAILURE, format!("the graph is too different: result {}, node {node:?}", result.0))
}

/// Gives a node of an executable other work. `made` gets the present one, and refuses that of another kind.
fn set(
    call: &Call<'_>,
    raw: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    made: impl FnOnce(&mut Guard<'_>, &NodeWork) -> Status<NodeWork>,
) -> Status {
    let mut world = call.world();
    let handle = named_executable(call, &world, raw)?;
    let (node, _) = named_node(call, &world, node)?;
    let found = world.graphs().executables.get(handle);
    let old = found.and_then(|found| found.work(node)).cloned().ok_or_else(|| absent(call))?;
    let (flags, graph) = (found.map_or(0, |found| found.flags), found.map(|found| found.graph));
    call.set_feeds_graph(true);
    let new = made(&mut world, &old)?;
    if let Some(graph) = graph {
        work::check_fill(call, &world, graph, &new)?;
    }
    if let Some(change) = world.graphs().obstacle(&old, &new, flags) {
        let reason = format!("an executable graph cannot take over this change of the node: result {}", change.0);
        return Err(call.refuse(INVALID_VALUE, reason));
    }
    replace(&mut world, handle, node, new);
    Ok(())
}

fn absent(call: &Call<'_>) -> CUresult {
    call.refuse(INVALID_VALUE, "the executable graph has no such node")
}

fn replace(world: &mut Guard<'_>, handle: ExecutableHandle, node: NodeHandle, work: NodeWork) {
    let found = world.graphs_mut().executables.get_mut(handle);
    if let Some(old) = found.and_then(|found| found.work_mut(node)) {
        *old = work;
    }
}

pub(crate) fn cuGraphExecKernelNodeSetParams_v2(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Status {
    set_executable_kernel(call, executable, node, &params.read()?.into())
}

/// Changes a kernel node of an executable, in whichever form C passed its parameters.
pub(super) fn set_executable_kernel(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    given: &KernelParams,
) -> Status {
    set(call, executable, node, |world, old| kernel(call, world, old, given))
}

pub(crate) fn cuGraphExecMemcpyNodeSetParams(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_MEMCPY3D>,
    context: Ptr<CUctx_st>,
) -> Status {
    let given = params.read()?;
    set(call, executable, node, |world, old| match old {
        NodeWork::Memory(old) if shown::copy_params(old).is_some() => work::copy(call, world, given, context.address()),
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphExecMemsetNodeSetParams(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_MEMSET_NODE_PARAMS>,
    context: Ptr<CUctx_st>,
) -> Status {
    let given = params.read()?;
    set(call, executable, node, |world, old| match old {
        NodeWork::Memory(old) if shown::fill_params(old).is_some() => work::fill(call, world, given, context.address()),
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphExecHostNodeSetParams(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_HOST_NODE_PARAMS>,
) -> Status {
    let given = params.read()?;
    set(call, executable, node, |_, old| match old {
        NodeWork::Host(_) => work::host(call, &given),
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphExecEventRecordNodeSetEvent(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    event: Ptr<CUevent_st>,
) -> Status {
    set(call, executable, node, |world, old| record(call, world, old, event))
}

pub(crate) fn cuGraphExecEventWaitNodeSetEvent(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    event: Ptr<CUevent_st>,
) -> Status {
    set(call, executable, node, |world, old| wait(call, world, old, event))
}

pub(crate) fn cuGraphExecBatchMemOpNodeSetParams(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Status {
    let given = params.read()?.into();
    set(call, executable, node, |world, old| match old {
        NodeWork::Values(_) => work::values(call, world, &given),
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphExecChildGraphNodeSetParams(
    call: &Call<'_>,
    raw: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    child: Ptr<CUgraph_st>,
) -> Status {
    let mut world = call.world();
    let handle = named_executable(call, &world, raw)?;
    let (node, _) = named_node(call, &world, node)?;
    let child = named(call, &world, child)?;
    update_child(call, &mut world, handle, node, child)
}

fn update_child(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    handle: ExecutableHandle,
    node: NodeHandle,
    child: GraphHandle,
) -> Status {
    world.graph_is_read(child);
    let graphs = world.graphs();
    let executable = graphs.executables.get(handle).ok_or(INVALID_VALUE)?;
    if graphs.is_of_memory(child) {
        let reason = "a graph with memory nodes updates no child graph node of an executable graph";
        return Err(call.refuse(FAILURE, reason));
    }
    if executable.outline().kind_of(node) != Some(CUgraphNodeType::CU_GRAPH_NODE_TYPE_GRAPH) {
        return Err(absent(call));
    }
    if graphs.has_inside(child, |work| matches!(work, NodeWork::Conditional(_))) {
        let reason = "a graph with conditional nodes updates no child graph node of an executable graph";
        return Err(call.refuse(FAILURE, reason));
    }
    let outline = executable.outline().child(node).ok_or_else(|| absent(call))?;
    let pairs = executable.pair_child(outline, graphs, child).map_err(|difference| refuse(call, &difference))?;
    let inner = graphs.nodes.get(node).and_then(|node| node.work.graphs().first().copied());
    let inside = inner.map(|inner| graphs.all_in(inner)).unwrap_or_default();
    world.update_child(handle, &inside, child, &pairs);
    call.run_destructors(world);
    Ok(())
}

pub(crate) fn cuGraphExecNodeSetParams(
    call: &Call<'_>,
    raw: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: Ptr<CUgraphNodeParams>,
) -> Status {
    let (given, given_kind) = (work::read(call, params)?, params.read()?.type_);
    let mut world = call.world();
    let handle = named_executable(call, &world, raw)?;
    let (named, _) = named_node(call, &world, node)?;
    let outline = world.graphs().executables.get(handle).map(|found| found.outline());
    let kind = outline.and_then(|outline| outline.kind_of(named)).ok_or_else(|| absent(call))?;
    if kind != given_kind {
        return Err(other_kind(call));
    }
    match given {
        NodeParams::Empty => Ok(()),
        NodeParams::Child { graph, .. } => {
            let child = Handle::from_bits(graph.addr() as u64);
            call.object(&world.graphs().graphs, child, INVALID_VALUE)?;
            update_child(call, &mut world, handle, named, child)
        }
        NodeParams::Alloc(_) | NodeParams::Free(_) | NodeParams::Conditional(_) => {
            Err(call.refuse(NOT_SUPPORTED, "allocation, free and conditional nodes keep their parameters"))
        }
        given => {
            drop(world);
            set(call, raw, node, |world, old| work::changed(call, world, (named, old), &given))
        }
    }
}
