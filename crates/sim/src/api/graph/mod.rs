//! Graphs: nodes and edges, defined once and launched any number of times.
//!
//! ```text
//!   Graph ─▶ Node, Node, …     in the order they were added; each with its dependencies
//!     │
//!     └─ instantiate ─▶ Executable: the nodes as they were then ─▶ launch: ops of a stream
//! ```
//!
//! A launch enqueues an op for each node, behind those that the node depends on. Independent nodes have no order.

mod edges;
mod executable;
mod launch;
mod lifecycle;
mod memory;
mod nodes;
mod user_objects;

pub(crate) use edges::{
    cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
    cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
};
pub(crate) use executable::{cuGraphExecDestroy, cuGraphInstantiateWithFlags};
pub(crate) use launch::{cuGraphLaunch, cuGraphUpload};
pub(crate) use lifecycle::{cuGraphCreate, cuGraphDestroy};
pub(crate) use memory::{cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuDeviceSetGraphMemAttribute};
pub(crate) use nodes::{cuGraphGetNodes, cuGraphGetRootNodes, cuGraphNodeGetType};

pub(crate) use user_objects::{
    cuGraphReleaseUserObject, cuGraphRetainUserObject, cuUserObjectCreate, cuUserObjectRelease, cuUserObjectRetain,
};

use warploom_sys::types::{CUgraph_st, CUgraphNode_st};

use crate::ffi::Ptr;
use crate::ffi::handle::{GraphHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, Status};
use crate::machine::call::Call;
use crate::machine::graph::Node;
use crate::machine::world::World;

/// A graph by the handle that a C caller passed. The driver has one status code for all invalid handles.
pub(crate) fn named(call: &Call<'_>, world: &World, raw: Ptr<CUgraph_st>) -> Status<GraphHandle> {
    let handle = Handle::from_bits(raw.address());
    call.object(&world.graphs().graphs, handle, INVALID_VALUE)?;
    Ok(handle)
}

/// A node by the handle that a C caller passed.
fn named_node<'w>(call: &Call<'_>, world: &'w World, raw: Ptr<CUgraphNode_st>) -> Status<&'w Node> {
    call.object(&world.graphs().nodes, Handle::from_bits(raw.address()), INVALID_VALUE)
}
