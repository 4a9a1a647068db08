//! Work of nodes, from the parameters that C gives.

use std::sync::Arc;

use warploom_sys::types::*;

use super::{clones, conditions, context_of};
use crate::api::copy::copy_of_node;
use crate::api::fill::fill_of_node;
use crate::api::module::kernel_node;
use crate::api::stream::{batch, check_batch};
use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, EventHandle, GraphHandle, Handle, NodeHandle};
use crate::ffi::node_params::{AllocParams, KernelParams, NodeParams, ValuesParams};
use crate::ffi::status::{INVALID_CONTEXT, INVALID_DEVICE, INVALID_VALUE, NOT_SUPPORTED, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{AllocNode, Edges, Given, HostNode, KernelAttributes, MemoryNode, NodeWork, ValuesNode};
use crate::process::thread;

/// The parameters of a node of any kind.
pub(super) fn read(call: &Call<'_>, params: Ptr<CUgraphNodeParams>) -> Status<NodeParams> {
    params.read_params().map_err(|code| {
        let reason = match code {
            INVALID_VALUE => "there is no such kind of node, or bytes that it does not use are not 0",
            _ => "nodes of external semaphores are not simulated",
        };
        call.refuse(code, reason)
    })
}

/// The driver that was the first to know managed memory of pools.
const MANAGED_SINCE: i32 = 13000;

/// The place of a new node.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) graph: GraphHandle,
    /// Its dependencies.
    pub(super) edges: &'a Edges,
}

/// The work of a new node in a graph.
pub(super) fn of_params(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    place: Place<'_>,
    given: &NodeParams,
) -> Status<NodeWork> {
    let graph = place.graph;
    match given {
        NodeParams::Kernel(given) => kernel(call, world, given, KernelAttributes::default()),
        NodeParams::Copy { params, context } => copy(call, world, *params, context.addr() as u64),
        NodeParams::Fill { params, context } => fill(call, world, *params, context.addr() as u64),
        NodeParams::Host(given) => host(call, given),
        NodeParams::Child { graph: inner, ownership } => child(call, world, graph, *inner, *ownership),
        NodeParams::Empty => Ok(NodeWork::Empty),
        NodeParams::WaitEvent(raw) => event(call, world, *raw).map(NodeWork::WaitEvent),
        NodeParams::RecordEvent(raw) => event(call, world, *raw).map(NodeWork::RecordEvent),
        NodeParams::Alloc(given) => alloc(call, world, place, given),
        NodeParams::Free(address) => free(call, world, place.graph, *address),
        NodeParams::Values(given) => values(call, world, given),
        NodeParams::Conditional(given) => conditions::work(call, world, graph, given),
    }
}

/// A kernel.
pub(super) fn kernel(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    given: &KernelParams,
    attributes: KernelAttributes,
) -> Status<NodeWork> {
    Ok(NodeWork::Kernel(Arc::new(kernel_node(call, world, given, attributes)?)))
}

/// The context of a copy or a fill, and its device. Null means the current context or, where none is current,
/// the context of the memory.
fn context_for(call: &Call<'_>, world: &Guard<'_>, bits: u64, addresses: [u64; 2]) -> Status<(ContextHandle, u16)> {
    if bits != 0 {
        return context_of(call, world, bits);
    }
    if thread::has_context(call.core().id) {
        return context_of(call, world, call.context(world)?.bits());
    }
    let owner = |address| world.memory().containing(address).and_then(|allocation| allocation.context);
    match addresses.into_iter().find_map(owner) {
        Some(context) => context_of(call, world, context.bits()),
        None => Err(call.refuse(INVALID_CONTEXT, "no context is given or current, and the memory is of none")),
    }
}

/// A copy.
pub(super) fn copy(call: &Call<'_>, world: &Guard<'_>, given: CUDA_MEMCPY3D, context: u64) -> Status<NodeWork> {
    let (context, device) = context_for(call, world, context, [given.dstDevice, given.srcDevice])?;
    let op = copy_of_node(call, world, device, given)?;
    Ok(NodeWork::Memory(Arc::new(MemoryNode { op, given: Some(Given::Copy(Box::new(given))), context })))
}

/// A fill.
pub(super) fn fill(
    call: &Call<'_>,
    world: &Guard<'_>,
    given: CUDA_MEMSET_NODE_PARAMS,
    context: u64,
) -> Status<NodeWork> {
    let (context, device) = context_for(call, world, context, [given.dst; 2])?;
    let op = fill_of_node(call, world, (context, device), &given)?;
    Ok(NodeWork::Memory(Arc::new(MemoryNode { op, given: Some(Given::Fill(given)), context })))
}

/// Refuses a copy or fill of memory that a graph allocates and frees: once the free node is there, the memory is
/// only for nodes that use it already.
pub(super) fn check_memory(call: &Call<'_>, world: &Guard<'_>, work: &NodeWork) -> Status {
    refuse_temporary(call, world.graphs().use_of_temporary(work))
}

/// Refuses, for an executable, a fill of memory that another graph allocates and frees.
pub(super) fn check_fill(call: &Call<'_>, world: &Guard<'_>, graph: GraphHandle, work: &NodeWork) -> Status {
    refuse_temporary(call, world.graphs().foreign_fill(work, graph))
}

fn refuse_temporary(call: &Call<'_>, address: Option<u64>) -> Status {
    match address {
        Some(address) => Err(call.refuse(INVALID_VALUE, format!("a graph frees the memory at {address:#x} already"))),
        None => Ok(()),
    }
}

/// A host function.
pub(super) fn host(call: &Call<'_>, given: &CUDA_HOST_NODE_PARAMS) -> Status<NodeWork> {
    if given.fn_.is_none() {
        return Err(call.refuse(INVALID_VALUE, "the host function is null"));
    }
    Ok(NodeWork::Host(HostNode { function: given.fn_, data: given.userData }))
}

/// An event that a node records or waits for.
pub(super) fn event(call: &Call<'_>, world: &Guard<'_>, raw: CUevent) -> Status<EventHandle> {
    let handle = Handle::from_bits(raw.addr() as u64);
    call.object(world.events(), handle, INVALID_VALUE)?;
    Ok(handle)
}

/// Refuses a graph that cannot be inside another, or would have to be copied to be there and cannot be.
pub(super) fn check_child(
    call: &Call<'_>,
    world: &Guard<'_>,
    inner: CUgraph,
    ownership: CUgraphChildGraphNodeOwnership,
) -> Status {
    let inner = Handle::from_bits(inner.addr() as u64);
    if world.graphs().graphs.get(inner).is_none() {
        return Ok(());
    }
    match ownership {
        CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE => check_movable(call, world, inner),
        _ => clones::check_copyable(call, world, inner),
    }
}

/// Refuses to move a graph into a node if it has conditions, or a graph inside it has, or if an executable has its
/// memory.
fn check_movable(call: &Call<'_>, world: &Guard<'_>, inner: GraphHandle) -> Status {
    let graphs = world.graphs();
    let is_conditional =
        |graph: &GraphHandle| graphs.graphs.get(*graph).is_some_and(|graph| !graph.conditions.is_empty());
    if graphs.all_in(inner).iter().any(is_conditional) {
        return Err(call.refuse(NOT_SUPPORTED, "a child graph has no conditions"));
    }
    if graphs.has_executable(inner) {
        return Err(call.refuse(NOT_SUPPORTED, "an executable graph has the memory of the graph"));
    }
    Ok(())
}

/// A graph inside a graph: a copy, or the graph itself if the node becomes its owner.
pub(super) fn child(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    graph: GraphHandle,
    inner: CUgraph,
    ownership: CUgraphChildGraphNodeOwnership,
) -> Status<NodeWork> {
    let inner = Handle::from_bits(inner.addr() as u64);
    let is_owned = call.object(&world.graphs().graphs, inner, INVALID_VALUE)?.owner.is_some();
    world.graph_is_read(inner);
    if is_owned {
        return Err(call.refuse(NOT_SUPPORTED, "the graph belongs to a node already"));
    }
    if world.graphs().is_child(graph) && world.graphs().is_of_memory(inner) {
        return Err(call.refuse(NOT_SUPPORTED, "the graph of a child graph node gets no memory nodes"));
    }
    if world.graphs().all_in(inner).contains(&graph) {
        return Err(call.refuse(INVALID_VALUE, "a graph inside itself; the real driver would crash here"));
    }
    if ownership == CUgraphChildGraphNodeOwnership::CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE {
        check_movable(call, world, inner)?;
        return Ok(NodeWork::Child(inner));
    }
    clones::copy(call, world, inner).map(NodeWork::Child)
}

/// Stream memory operations.
pub(super) fn values(call: &Call<'_>, world: &Guard<'_>, given: &ValuesParams) -> Status<NodeWork> {
    let ValuesParams { context, count, operations, flags } = *given;
    check_batch(call, count, flags)?;
    if context.is_null() {
        return Err(call.refuse(INVALID_VALUE, "no context is given"));
    }
    let (context, device) = context_of(call, world, context.addr() as u64)?;
    let ops = batch(call, world, device, operations, count)?;
    let shown = (0..count as usize).map(|index| operations.read_at(index)).collect::<Status<_>>()?;
    Ok(NodeWork::Values(Arc::new(ValuesNode { ops, shown, flags, context })))
}

/// The device of an allocation that a graph can make.
pub(super) fn check_alloc(call: &Call<'_>, given: &AllocParams) -> Status<u16> {
    let AllocParams { properties, bytes, .. } = *given;
    let refuse = |reason: &str| Err(call.refuse(INVALID_VALUE, reason));
    if bytes == 0 {
        return refuse("an allocation of no bytes");
    }
    // Managed memory is taken for a device's: the real driver gives plain device memory, too.
    let is_managed = properties.allocType == CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED
        && call.core().topology.driver_version >= MANAGED_SINCE;
    let is_pinned = properties.allocType == CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    if !(is_pinned || is_managed) || properties.reserved != [0; 53] {
        return refuse("graph memory is pinned or managed, and reserved bytes are 0");
    }
    if properties.handleTypes != CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE {
        return Err(call.refuse(NOT_SUPPORTED, "graph memory cannot be exported"));
    }
    device_for(call, &properties.location, is_managed)
}

/// An allocation, with addresses reserved for it.
pub(super) fn alloc(call: &Call<'_>, world: &mut Guard<'_>, place: Place<'_>, given: &AllocParams) -> Status<NodeWork> {
    let AllocParams { properties, bytes, .. } = *given;
    let device = check_alloc(call, given)?;
    let mut access = Vec::new();
    for index in 0..given.access_count {
        let granted = given.access.read_at(index)?;
        device_of(call, &granted.location, INVALID_DEVICE)?;
        if granted.flags != CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE {
            return Err(call.refuse(NOT_SUPPORTED, "devices read and write graph memory, or have no access"));
        }
        access.push(granted);
    }
    let most = call.core().topology.devices[usize::from(device)].total_memory;
    let before = place.edges.iter().map(|edge| edge.node).collect();
    let address = world.graphs_mut().reserve_memory(place.graph, before, device, bytes as u64, most);
    let address =
        address.ok_or_else(|| call.refuse(OUT_OF_MEMORY, format!("{bytes} bytes for a graph; there are {most}")))?;
    let node = AllocNode { properties, access: access.into(), ..AllocNode::new(address, bytes as u64, device) };
    Ok(NodeWork::Alloc(Arc::new(node)))
}

/// The device of an allocation's location.
fn device_for(call: &Call<'_>, location: &CUmemLocation, is_managed: bool) -> Status<u16> {
    type L = CUmemLocationType;
    let is_node = u32::try_from(location.id()).is_ok_and(|node| node < call.core().topology.numa_nodes);
    match location.type_ {
        L::CU_MEM_LOCATION_TYPE_DEVICE => device_of(call, location, INVALID_VALUE),
        L::CU_MEM_LOCATION_TYPE_HOST_NUMA if !is_node => {
            Err(call.refuse(INVALID_VALUE, format!("there is no NUMA node {}", location.id())))
        }
        L::CU_MEM_LOCATION_TYPE_INVALID | L::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT if !is_managed => {
            Err(call.refuse(INVALID_VALUE, format!("location type {} is none of pinned memory", location.type_.0)))
        }
        _ => Err(call.refuse(NOT_SUPPORTED, "a graph allocates memory of a device, and of nothing else")),
    }
}

fn device_of(call: &Call<'_>, location: &CUmemLocation, otherwise: CUresult) -> Status<u16> {
    let device = u16::try_from(location.id()).ok();
    let device = device.filter(|device| usize::from(*device) < call.core().topology.devices.len());
    device.ok_or_else(|| call.refuse(otherwise, format!("there is no device {}", location.id())))
}

/// The free of an allocation of a graph, which may be another.
pub(super) fn free(call: &Call<'_>, world: &Guard<'_>, graph: GraphHandle, address: CUdeviceptr) -> Status<NodeWork> {
    let found = world.graphs().memory.check_free(address, graph);
    found.map_err(|reason| call.refuse(INVALID_VALUE, format!("{address:#x} {reason}")))?;
    Ok(NodeWork::Free(address))
}

/// The work of a node with other parameters of the same kind.
pub(super) fn changed(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    (node, old): (NodeHandle, &NodeWork),
    given: &NodeParams,
) -> Status<NodeWork> {
    let graph = world.graphs().nodes.get(node).map(|node| node.graph).ok_or(INVALID_VALUE)?;
    match (old, given) {
        (NodeWork::Kernel(old), NodeParams::Kernel(given)) => kernel(call, world, given, old.attributes),
        (NodeWork::Memory(_), NodeParams::Copy { .. } | NodeParams::Fill { .. })
        | (NodeWork::Host(_), NodeParams::Host(_))
        | (NodeWork::Empty, NodeParams::Empty)
        | (NodeWork::WaitEvent(_), NodeParams::WaitEvent(_))
        | (NodeWork::RecordEvent(_), NodeParams::RecordEvent(_))
        | (NodeWork::Values(_), NodeParams::Values(_)) => {
            let new = of_params(call, world, Place { graph, edges: &Edges::new() }, given)?;
            if new.kind() != old.kind() {
                return Err(call.refuse(INVALID_VALUE, "the parameters are of another kind than the node"));
            }
            Ok(new)
        }
        (NodeWork::Child(_), NodeParams::Child { graph: inner, ownership })
            if world.graphs().graphs.get(graph).is_some_and(|graph| !graph.is_of_memory) =>
        {
            if world.graphs().is_of_memory(Handle::from_bits(inner.addr() as u64)) {
                return Err(
                    call.refuse(NOT_SUPPORTED, "a node gets no graph with memory nodes in the place of another")
                );
            }
            child(call, world, graph, *inner, *ownership)
        }
        (NodeWork::Child(_), NodeParams::Child { .. })
        | (NodeWork::Alloc(_), NodeParams::Alloc(_))
        | (NodeWork::Free(_), NodeParams::Free(_))
        | (NodeWork::Conditional(_), NodeParams::Conditional(_)) => {
            let reason =
                "allocation, free and conditional nodes keep their parameters, and so do child graph nodes beside them";
            Err(call.refuse(NOT_SUPPORTED, reason))
        }
        _ => Err(call.refuse(INVALID_VALUE, "the parameters are of another kind than the node")),
    }
}
