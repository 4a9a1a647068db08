//! Parameters of nodes: cuGraphKernelNodeGetParams, cuGraphKernelNodeSetParams and the others.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::*;

use super::{named_node, shown, work};
use crate::ffi::handle::{Handle, NodeHandle};
use crate::ffi::node_params::KernelParams;
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::ffi::{ConstPtr, Plain, Ptr};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::NodeWork;

/// Writes a part of a node's work; `read` finds none in work of another kind.
fn get<T: Plain>(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<T>,
    read: impl FnOnce(&NodeWork) -> Option<T>,
) -> Status {
    let world = call.world();
    let (_, found) = named_node(call, &world, node)?;
    let value = read(&found.work).ok_or_else(|| other_kind(call))?;
    out.write(value)
}

pub(super) fn other_kind(call: &Call<'_>) -> CUresult {
    call.refuse(INVALID_VALUE, "the node is of another kind")
}

/// Gives a node other work. `made` gets the present one and refuses that of another kind.
fn set(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    made: impl FnOnce(&mut Guard<'_>, NodeHandle, &NodeWork) -> Status<NodeWork>,
) -> Status {
    let mut world = call.world();
    let (handle, found) = named_node(call, &world, node)?;
    let (old, graph) = (found.work.clone(), found.graph);
    world.graph_changes(graph);
    call.set_feeds_graph(true);
    let new = made(&mut world, handle, &old)?;
    work::check_memory(call, &world, &new)?;
    if let Some(old) = world.graphs_mut().replace_work(handle, new) {
        world.forget_work(&old);
    }
    call.run_destructors(&mut world);
    Ok(())
}

pub(crate) fn cuGraphKernelNodeGetParams_v2(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Status {
    out.write(kernel_params(call, node)?)
}

/// The parameters of a kernel node.
pub(super) fn kernel_params(call: &Call<'_>, node: Ptr<CUgraphNode_st>) -> Status<CUDA_KERNEL_NODE_PARAMS_v2> {
    let world = call.world();
    let (_, found) = named_node(call, &world, node)?;
    match &found.work {
        NodeWork::Kernel(node) => Ok(shown::kernel_params(&world, node)),
        _ => Err(other_kind(call)),
    }
}

/// Attributes stay as they are.
pub(crate) fn cuGraphKernelNodeSetParams_v2(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Status {
    set_kernel(call, node, &params.read()?.into())
}

/// Changes a kernel node, in whichever form C passed its parameters.
pub(super) fn set_kernel(call: &Call<'_>, node: Ptr<CUgraphNode_st>, given: &KernelParams) -> Status {
    set(call, node, |world, _, old| kernel(call, world, old, given))
}

/// Other work for a kernel node, with the same attributes.
pub(super) fn kernel(call: &Call<'_>, world: &mut Guard<'_>, old: &NodeWork, given: &KernelParams) -> Status<NodeWork> {
    match old {
        NodeWork::Kernel(old) => work::kernel(call, world, given, old.attributes),
        _ => Err(other_kind(call)),
    }
}

pub(crate) fn cuGraphMemcpyNodeGetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_MEMCPY3D>,
) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Memory(node) => shown::copy_params(node),
        _ => None,
    })
}

pub(crate) fn cuGraphMemcpyNodeSetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_MEMCPY3D>,
) -> Status {
    let given = params.read()?;
    set(call, node, |world, _, old| match old {
        NodeWork::Memory(old) if shown::copy_params(old).is_some() => {
            work::copy(call, world, given, old.context.bits())
        }
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphMemsetNodeGetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_MEMSET_NODE_PARAMS>,
) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Memory(node) => shown::fill_params(node),
        _ => None,
    })
}

pub(crate) fn cuGraphMemsetNodeSetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_MEMSET_NODE_PARAMS>,
) -> Status {
    let given = params.read()?;
    set(call, node, |world, _, old| match old {
        NodeWork::Memory(old) if shown::fill_params(old).is_some() => {
            work::fill(call, world, given, old.context.bits())
        }
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphHostNodeGetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_HOST_NODE_PARAMS>,
) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Host(node) => Some(CUDA_HOST_NODE_PARAMS { fn_: node.function, userData: node.data }),
        _ => None,
    })
}

pub(crate) fn cuGraphHostNodeSetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_HOST_NODE_PARAMS>,
) -> Status {
    let given = params.read()?;
    set(call, node, |_, _, old| match old {
        NodeWork::Host(_) => work::host(call, &given),
        _ => Err(other_kind(call)),
    })
}

/// The graph belongs to the node, and goes with it.
pub(crate) fn cuGraphChildGraphNodeGetGraph(call: &Call<'_>, node: Ptr<CUgraphNode_st>, out: Ptr<CUgraph>) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Child(graph) => Some(graph.as_raw()),
        _ => None,
    })
}

pub(crate) fn cuGraphEventRecordNodeGetEvent(call: &Call<'_>, node: Ptr<CUgraphNode_st>, out: Ptr<CUevent>) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::RecordEvent(event) => Some(event.as_raw()),
        _ => None,
    })
}

pub(crate) fn cuGraphEventRecordNodeSetEvent(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    event: Ptr<CUevent_st>,
) -> Status {
    set(call, node, |world, _, old| record(call, world, old, event))
}

/// Another event for a node that records one.
pub(super) fn record(call: &Call<'_>, world: &Guard<'_>, old: &NodeWork, event: Ptr<CUevent_st>) -> Status<NodeWork> {
    match old {
        NodeWork::RecordEvent(_) => work::event(call, world, raw(event)).map(NodeWork::RecordEvent),
        _ => Err(other_kind(call)),
    }
}

fn raw(event: Ptr<CUevent_st>) -> CUevent {
    Handle::<()>::from_bits(event.address()).as_raw()
}

pub(crate) fn cuGraphEventWaitNodeGetEvent(call: &Call<'_>, node: Ptr<CUgraphNode_st>, out: Ptr<CUevent>) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::WaitEvent(event) => Some(event.as_raw()),
        _ => None,
    })
}

pub(crate) fn cuGraphEventWaitNodeSetEvent(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    event: Ptr<CUevent_st>,
) -> Status {
    set(call, node, |world, _, old| wait(call, world, old, event))
}

/// Another event for a node that waits for one.
pub(super) fn wait(call: &Call<'_>, world: &Guard<'_>, old: &NodeWork, event: Ptr<CUevent_st>) -> Status<NodeWork> {
    match old {
        NodeWork::WaitEvent(_) => work::event(call, world, raw(event)).map(NodeWork::WaitEvent),
        _ => Err(other_kind(call)),
    }
}

pub(crate) fn cuGraphBatchMemOpNodeGetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Values(node) => Some(shown::values_params(node)),
        _ => None,
    })
}

pub(crate) fn cuGraphBatchMemOpNodeSetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Status {
    let given = params.read()?.into();
    set(call, node, |world, _, old| match old {
        NodeWork::Values(_) => work::values(call, world, &given),
        _ => Err(other_kind(call)),
    })
}

pub(crate) fn cuGraphMemAllocNodeGetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Alloc(node) => Some(shown::alloc_params(node)),
        _ => None,
    })
}

pub(crate) fn cuGraphMemFreeNodeGetParams(call: &Call<'_>, node: Ptr<CUgraphNode_st>, out: Ptr<CUdeviceptr>) -> Status {
    get(call, node, out, |work| match work {
        NodeWork::Free(address) => Some(*address),
        _ => None,
    })
}

pub(crate) fn cuGraphNodeSetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: Ptr<CUgraphNodeParams>,
) -> Status {
    let given = work::read(call, params)?;
    set(call, node, |world, handle, old| work::changed(call, world, (handle, old), &given))
}

pub(crate) fn cuGraphNodeGetParams(call: &Call<'_>, node: Ptr<CUgraphNode_st>, out: Ptr<CUgraphNodeParams>) -> Status {
    out.required()?;
    let world = call.world();
    let (_, found) = named_node(call, &world, node)?;
    shown::write(&world, &found.work, out)
}
