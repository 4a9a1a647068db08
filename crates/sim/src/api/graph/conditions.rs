//! Conditions, the values that conditional nodes depend on: cuGraphConditionalHandleCreate.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;
use std::sync::Arc;

use warploom_sys::types::{
    CUDA_CONDITIONAL_NODE_PARAMS, CUctx_st, CUgraph_st, CUgraphConditionalHandle, CUgraphConditionalNodeType,
};

use super::{context_of, named};
use crate::ffi::Ptr;
use crate::ffi::handle::{GraphHandle, Handle};
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{Condition, ConditionalKind, ConditionalNode, NodeWork};

/// `CU_GRAPH_COND_ASSIGN_DEFAULT`.
const ASSIGN_DEFAULT: u32 = 1;

pub(crate) fn cuGraphConditionalHandleCreate(
    call: &Call<'_>,
    out: Ptr<CUgraphConditionalHandle>,
    graph: Ptr<CUgraph_st>,
    context: Ptr<CUctx_st>,
    default: c_uint,
    flags: c_uint,
) -> Status {
    out.required()?;
    if flags > ASSIGN_DEFAULT {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x}; only 0 and 1 are known")));
    }
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    let (context, _) = context_of(call, &world, context.address())?;
    world.graph_changes(graph);
    let condition = Condition { graph, context, default, is_reset_at_launch: flags == ASSIGN_DEFAULT, node: None };
    let handle = world.graphs_mut().conditions.insert(condition);
    let handle = handle.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many conditions as handles"))?;
    if let Some(graph) = world.graphs_mut().graphs.get_mut(graph) {
        graph.conditions.push(handle);
    }
    out.write(handle.bits())
}

/// A conditional node with its bodies, which are empty graphs.
pub(super) fn work(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    graph: GraphHandle,
    given: &CUDA_CONDITIONAL_NODE_PARAMS,
) -> Status<NodeWork> {
    let refuse = |reason: String| Err(call.refuse(INVALID_VALUE, reason));
    let kind = match (given.type_, given.size) {
        (CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_IF, 1 | 2) => ConditionalKind::If,
        (CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_WHILE, 1) => ConditionalKind::While,
        (CUgraphConditionalNodeType::CU_GRAPH_COND_TYPE_SWITCH, 1..) => ConditionalKind::Switch,
        (kind, size) => return refuse(format!("there is no conditional node of type {} with {size} bodies", kind.0)),
    };
    let handle = Handle::from_bits(given.handle);
    let condition = call.object(&world.graphs().conditions, handle, INVALID_VALUE)?;
    if condition.node.is_some() {
        return refuse(format!("a node depends on condition {handle:?} already"));
    }
    if !world.graphs().is_within(graph, condition.graph) {
        return refuse(format!("condition {handle:?} was created for another graph"));
    }
    let (context, _) = context_of(call, world, given.ctx.addr() as u64)?;
    if context != condition.context {
        return refuse(format!("condition {handle:?} was created in another context"));
    }
    let mut bodies = Vec::new();
    for _ in 0..given.size {
        match world.graphs_mut().create(false, None) {
            Some(body) => bodies.push(body),
            None => {
                bodies.into_iter().for_each(|body| world.destroy_graph(body));
                return Err(call.refuse(OUT_OF_MEMORY, "there are as many graphs as handles"));
            }
        }
    }
    Ok(NodeWork::Conditional(Arc::new(ConditionalNode::new(handle, kind, bodies, context))))
}
