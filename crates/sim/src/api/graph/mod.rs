//! Graphs: nodes and edges, defined once and launched any number of times.
//!
//! ```text
//!   Graph ─▶ Node, Node, …     in the order they were added; each with its dependencies
//!     │
//!     └─ instantiate ─▶ Executable: the nodes as they were then ─▶ launch: ops of a stream
//! ```
//!
//! A launch enqueues an op for each node, behind those that the node depends on. Independent nodes have no
//! order.
//!
//! [`add`] adds nodes of every kind. [`work`] reads their parameters from C's structs, and [`shown`] writes
//! them back; both serve the nodes of graphs and those of executable graphs.

mod add;
mod attributes;
mod clones;
mod conditions;
mod dependencies;
mod dot;
mod edges;
mod enabled;
mod executable;
mod ids;
mod instantiate;
mod kernel_v1;
mod launch;
mod lifecycle;
mod memory;
mod nodes;
mod params;
mod shown;
mod update;
mod user_objects;
mod work;

pub(crate) use add::{
    cuGraphAddBatchMemOpNode, cuGraphAddChildGraphNode, cuGraphAddEmptyNode, cuGraphAddEventRecordNode,
    cuGraphAddEventWaitNode, cuGraphAddHostNode, cuGraphAddKernelNode_v2, cuGraphAddMemAllocNode,
    cuGraphAddMemFreeNode, cuGraphAddMemcpyNode, cuGraphAddMemsetNode, cuGraphAddNode, cuGraphAddNode_v2,
};
pub(crate) use attributes::{
    cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeGetAttribute, cuGraphKernelNodeSetAttribute,
};
pub(crate) use clones::{cuGraphClone, cuGraphNodeFindInClone};
pub(crate) use conditions::cuGraphConditionalHandleCreate;
pub(crate) use dependencies::{
    cuGraphAddDependencies, cuGraphAddDependencies_v2, cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
    read_edges,
};
pub(crate) use dot::cuGraphDebugDotPrint;
pub(crate) use edges::{
    cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
    cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
};
pub(crate) use enabled::{cuGraphExecGetFlags, cuGraphExecGetId, cuGraphNodeGetEnabled, cuGraphNodeSetEnabled};
pub(crate) use executable::cuGraphExecDestroy;
pub(crate) use ids::{
    cuGraphGetId, cuGraphNodeGetContainingGraph, cuGraphNodeGetLocalId, cuGraphNodeGetToolsId, cuGraphNodeGetType,
};
pub(crate) use instantiate::{cuGraphInstantiate, cuGraphInstantiateWithFlags, cuGraphInstantiateWithParams};
pub(crate) use kernel_v1::{
    cuGraphAddKernelNode, cuGraphExecKernelNodeSetParams, cuGraphKernelNodeGetParams, cuGraphKernelNodeSetParams,
};
pub(crate) use launch::{cuGraphLaunch, cuGraphUpload};
pub(crate) use lifecycle::{cuGraphCreate, cuGraphDestroy};
pub(crate) use memory::{cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuDeviceSetGraphMemAttribute};
pub(crate) use nodes::{cuGraphDestroyNode, cuGraphGetNodes, cuGraphGetRootNodes};
pub(crate) use params::{
    cuGraphBatchMemOpNodeGetParams, cuGraphBatchMemOpNodeSetParams, cuGraphChildGraphNodeGetGraph,
    cuGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeSetEvent, cuGraphEventWaitNodeGetEvent,
    cuGraphEventWaitNodeSetEvent, cuGraphHostNodeGetParams, cuGraphHostNodeSetParams, cuGraphKernelNodeGetParams_v2,
    cuGraphKernelNodeSetParams_v2, cuGraphMemAllocNodeGetParams, cuGraphMemFreeNodeGetParams,
    cuGraphMemcpyNodeGetParams, cuGraphMemcpyNodeSetParams, cuGraphMemsetNodeGetParams, cuGraphMemsetNodeSetParams,
    cuGraphNodeGetParams, cuGraphNodeSetParams,
};
pub(crate) use update::{
    cuGraphExecBatchMemOpNodeSetParams, cuGraphExecChildGraphNodeSetParams, cuGraphExecEventRecordNodeSetEvent,
    cuGraphExecEventWaitNodeSetEvent, cuGraphExecHostNodeSetParams, cuGraphExecKernelNodeSetParams_v2,
    cuGraphExecMemcpyNodeSetParams, cuGraphExecMemsetNodeSetParams, cuGraphExecNodeSetParams, cuGraphExecUpdate,
    cuGraphExecUpdate_v2,
};
pub(crate) use user_objects::{
    cuGraphReleaseUserObject, cuGraphRetainUserObject, cuUserObjectCreate, cuUserObjectRelease, cuUserObjectRetain,
};

use warploom_sys::types::{CUgraph_st, CUgraphNode_st};

use crate::ffi::Ptr;
use crate::ffi::handle::{ContextHandle, GraphHandle, Handle, NodeHandle};
use crate::ffi::status::{INVALID_CONTEXT, INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::Node;
use crate::machine::world::World;

/// A graph by the handle that a C caller passed. The driver has one status code for all invalid handles.
pub(crate) fn named(call: &Call<'_>, world: &World, raw: Ptr<CUgraph_st>) -> Status<GraphHandle> {
    let handle = Handle::from_bits(raw.address());
    call.object(&world.graphs().graphs, handle, INVALID_VALUE)?;
    Ok(handle)
}

/// A node by the handle that a C caller passed.
fn named_node<'w>(call: &Call<'_>, world: &'w World, raw: Ptr<CUgraphNode_st>) -> Status<(NodeHandle, &'w Node)> {
    let handle = Handle::from_bits(raw.address());
    let node = call.object(&world.graphs().nodes, handle, INVALID_VALUE)?;
    Ok((handle, node))
}

/// The context of a node, by the handle that a C caller passed, and its device.
fn context_of(call: &Call<'_>, world: &Guard<'_>, bits: u64) -> Status<(ContextHandle, u16)> {
    let handle = Handle::from_bits(bits);
    let device = call.object(world.contexts(), handle, INVALID_CONTEXT)?.device;
    world.healthy(handle)?;
    Ok((handle, device))
}
