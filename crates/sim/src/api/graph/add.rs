//! New nodes: cuGraphAddKernelNode, cuGraphAddMemcpyNode and the others, and cuGraphAddNode.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_CONDITIONAL_NODE_PARAMS, CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2,
    CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUctx_st, CUdeviceptr, CUevent_st, CUgraph_st,
    CUgraphChildGraphNodeOwnership, CUgraphEdgeData, CUgraphNode, CUgraphNodeParams, CUgraphNodeType, CUresult,
};

use super::dependencies::{before_repetition, check_target, read_edges};
use super::work::{self, Place};
use super::{named, shown};
use crate::ffi::handle::{GraphHandle, Handle};
use crate::ffi::node_params::{KernelParams, NodeParams};
use crate::ffi::status::{INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{Edge, KernelAttributes, NodeWork};

type Kind = CUgraphNodeType;

/// The dependencies of a new node, as C names them.
#[derive(Clone, Copy)]
pub(super) struct Dependencies {
    nodes: ConstPtr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
}

impl Dependencies {
    pub(super) fn plain(nodes: ConstPtr<CUgraphNode>, count: usize) -> Self {
        Self { nodes, data: ConstPtr::null(), count }
    }
}

/// Adds a node. Returns its work.
fn add(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: Dependencies,
    kind: Kind,
    made: impl FnOnce(&mut Guard<'_>, Place<'_>) -> Status<NodeWork>,
) -> Status<NodeWork> {
    add_checked(call, out, graph, dependencies, kind, |_| Ok(()), made)
}

/// Adds a node, after a check of its parameters that comes before all others.
fn add_checked(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: Dependencies,
    kind: Kind,
    check: impl FnOnce(&Guard<'_>) -> Status,
    made: impl FnOnce(&mut Guard<'_>, Place<'_>) -> Status<NodeWork>,
) -> Status<NodeWork> {
    out.required()?;
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    check(&world)?;
    world.graph_changes(graph);
    // Nodes may use the memory of graphs.
    call.set_feeds_graph(true);
    let Dependencies { nodes, data, count } = dependencies;
    let edges = read_edges(call, &world, graph, |index| nodes.read_at(index), data, count)?;
    let is_of_memory = matches!(kind, Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC | Kind::CU_GRAPH_NODE_TYPE_MEM_FREE);
    if is_of_memory {
        if world.graphs().is_child(graph) {
            return Err(call.refuse(NOT_SUPPORTED, "the graph of a child graph node gets no memory nodes"));
        }
        world.graphs_mut().mark_memory(graph);
    }
    check_target(call, &edges, kind)?;
    let repetition = before_repetition(&edges);
    // Other work takes over graphs or addresses when it is made.
    let is_plain =
        !is_of_memory && !matches!(kind, Kind::CU_GRAPH_NODE_TYPE_GRAPH | Kind::CU_GRAPH_NODE_TYPE_CONDITIONAL);
    if !is_plain && let Some(before) = repetition {
        return Err(repeated(call, &mut world, graph, before));
    }
    let is_full = || call.refuse(OUT_OF_MEMORY, "there are as many nodes as handles");
    // Before the work is made, which takes over graphs and addresses.
    if world.graphs().nodes.is_full() {
        return Err(is_full());
    }
    let work = made(&mut world, Place { graph, edges: &edges }).inspect_err(|_| {
        if is_of_memory {
            world.graphs_mut().give_up(graph, &edges);
        }
    })?;
    work::check_memory(call, &world, &work)?;
    if let Some(before) = repetition {
        return Err(repeated(call, &mut world, graph, before));
    }
    let node = world.graphs_mut().add(graph, edges, work.clone()).ok_or_else(is_full)?;
    out.write(node.as_raw())?;
    Ok(work)
}

/// Refuses edges of which one comes from the same node as one `before` it.
fn repeated(call: &Call<'_>, world: &mut Guard<'_>, graph: GraphHandle, before: &[Edge]) -> CUresult {
    world.graphs_mut().give_up(graph, before);
    call.refuse(INVALID_VALUE, "a dependency is named twice")
}

pub(crate) fn cuGraphAddEmptyNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
) -> Status {
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_EMPTY, |_, _| {
        Ok(NodeWork::Empty)
    })
    .map(drop)
}

pub(crate) fn cuGraphAddKernelNode_v2(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: ConstPtr<CUDA_KERNEL_NODE_PARAMS_v2>,
) -> Status {
    let given = params.read()?.into();
    add_kernel(call, out, graph, Dependencies::plain(dependencies, count), &given)
}

/// Adds a kernel node, in whichever form C passed its parameters.
pub(super) fn add_kernel(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: Dependencies,
    given: &KernelParams,
) -> Status {
    let work = |world: &mut Guard<'_>, _: Place<'_>| work::kernel(call, world, given, KernelAttributes::default());
    add(call, out, graph, dependencies, Kind::CU_GRAPH_NODE_TYPE_KERNEL, work).map(drop)
}

pub(crate) fn cuGraphAddMemcpyNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: ConstPtr<CUDA_MEMCPY3D>,
    context: Ptr<CUctx_st>,
) -> Status {
    let given = params.read()?;
    let work = |world: &mut Guard<'_>, _: Place<'_>| work::copy(call, world, given, context.address());
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_MEMCPY, work).map(drop)
}

pub(crate) fn cuGraphAddMemsetNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: ConstPtr<CUDA_MEMSET_NODE_PARAMS>,
    context: Ptr<CUctx_st>,
) -> Status {
    let given = params.read()?;
    let work = |world: &mut Guard<'_>, _: Place<'_>| work::fill(call, world, given, context.address());
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_MEMSET, work).map(drop)
}

pub(crate) fn cuGraphAddHostNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: ConstPtr<CUDA_HOST_NODE_PARAMS>,
) -> Status {
    let given = params.read()?;
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_HOST, |_, _| {
        work::host(call, &given)
    })
    .map(drop)
}

/// The child graph is copied.
pub(crate) fn cuGraphAddChildGraphNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    child: Ptr<CUgraph_st>,
) -> Status {
    let child = Handle::<()>::from_bits(child.address()).as_raw();
    let clone = CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
    let check = |world: &Guard<'_>| work::check_child(call, world, child, clone);
    let work = |world: &mut Guard<'_>, place: Place<'_>| work::child(call, world, place.graph, child, clone);
    let dependencies = Dependencies::plain(dependencies, count);
    add_checked(call, out, graph, dependencies, Kind::CU_GRAPH_NODE_TYPE_GRAPH, check, work).map(drop)
}

pub(crate) fn cuGraphAddEventRecordNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    event: Ptr<CUevent_st>,
) -> Status {
    let raw = Handle::<()>::from_bits(event.address()).as_raw();
    let work = |world: &mut Guard<'_>, _: Place<'_>| work::event(call, world, raw).map(NodeWork::RecordEvent);
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_EVENT_RECORD, work)
        .map(drop)
}

pub(crate) fn cuGraphAddEventWaitNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    event: Ptr<CUevent_st>,
) -> Status {
    let raw = Handle::<()>::from_bits(event.address()).as_raw();
    let work = |world: &mut Guard<'_>, _: Place<'_>| work::event(call, world, raw).map(NodeWork::WaitEvent);
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_WAIT_EVENT, work).map(drop)
}

pub(crate) fn cuGraphAddBatchMemOpNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: ConstPtr<CUDA_BATCH_MEM_OP_NODE_PARAMS>,
) -> Status {
    let given = params.read()?.into();
    let work = |world: &mut Guard<'_>, _: Place<'_>| work::values(call, world, &given);
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, work)
        .map(drop)
}

/// Writes the address of the allocation to the parameters.
pub(crate) fn cuGraphAddMemAllocNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: Ptr<CUDA_MEM_ALLOC_NODE_PARAMS>,
) -> Status {
    let read = params.read()?;
    let given = read.into();
    let check = |_: &Guard<'_>| work::check_alloc(call, &given).map(drop);
    let work = |world: &mut Guard<'_>, place: Place<'_>| work::alloc(call, world, place, &given);
    let dependencies = Dependencies::plain(dependencies, count);
    match add_checked(call, out, graph, dependencies, Kind::CU_GRAPH_NODE_TYPE_MEM_ALLOC, check, work)? {
        NodeWork::Alloc(node) => params.write(CUDA_MEM_ALLOC_NODE_PARAMS { dptr: node.address, ..read }),
        _ => Ok(()),
    }
}

pub(crate) fn cuGraphAddMemFreeNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    address: CUdeviceptr,
) -> Status {
    let work = |world: &mut Guard<'_>, place: Place<'_>| work::free(call, world, place.graph, address);
    add(call, out, graph, Dependencies::plain(dependencies, count), Kind::CU_GRAPH_NODE_TYPE_MEM_FREE, work).map(drop)
}

/// Adds a node of any kind, and writes the members of its parameters that the driver fills.
fn add_any(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: Dependencies,
    params: Ptr<CUgraphNodeParams>,
) -> Status {
    let given = work::read(call, params)?;
    let kind = params.read()?.type_;
    let work = |world: &mut Guard<'_>, place: Place<'_>| work::of_params(call, world, place, &given);
    let check = |world: &Guard<'_>| match &given {
        NodeParams::Alloc(given) => work::check_alloc(call, given).map(drop),
        NodeParams::Child { graph, ownership } => work::check_child(call, world, *graph, *ownership),
        _ => Ok(()),
    };
    let added = add_checked(call, out, graph, dependencies, kind, check, work)?;
    match (added, given) {
        (NodeWork::Alloc(node), NodeParams::Alloc(_)) => {
            let member = params.member::<CUDA_MEM_ALLOC_NODE_PARAMS>();
            member.write(CUDA_MEM_ALLOC_NODE_PARAMS { dptr: node.address, ..member.read()? })
        }
        (NodeWork::Conditional(node), NodeParams::Conditional(given)) => {
            let shown = shown::conditional_params(&node).phGraph_out;
            params.member().write(CUDA_CONDITIONAL_NODE_PARAMS { phGraph_out: shown, ..given })
        }
        _ => Ok(()),
    }
}

pub(crate) fn cuGraphAddNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: Ptr<CUgraphNodeParams>,
) -> Status {
    add_any(call, out, graph, Dependencies::plain(dependencies, count), params)
}

pub(crate) fn cuGraphAddNode_v2(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    data: ConstPtr<CUgraphEdgeData>,
    count: usize,
    params: Ptr<CUgraphNodeParams>,
) -> Status {
    add_any(call, out, graph, Dependencies { nodes: dependencies, data, count }, params)
}
