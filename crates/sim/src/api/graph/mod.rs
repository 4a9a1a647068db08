//! Graphs: nodes and edges, defined once and launched any number of times.
//!
//! ```text
//!   Graph ─▶ Node, Node, …     in the order they were added; each with its dependencies
//!     │
//!     └─ instantiate ─▶ Executable: the nodes as they were then ─▶ launch: ops of a stream
//! ```
//!
//! A launch enqueues the nodes on the stream one after the other, in a topological order. Independent nodes
//! do not run concurrently.

mod edges;
mod executable;
mod lifecycle;
mod memory;
mod nodes;

pub(crate) use edges::{
    PLAIN, cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
    cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2,
};
pub(crate) use executable::{cuGraphExecDestroy, cuGraphInstantiateWithFlags, cuGraphLaunch, cuGraphUpload};
pub(crate) use lifecycle::{cuGraphCreate, cuGraphDestroy};
pub(crate) use memory::{cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuDeviceSetGraphMemAttribute};
pub(crate) use nodes::{cuGraphGetNodes, cuGraphGetRootNodes, cuGraphNodeGetType};

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
