//! Creation and destruction of graphs: cuGraphCreate and cuGraphDestroy.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::c_uint;

use warploom_sys::types::{CUgraph, CUgraph_st, CUresult};

use super::named;
use crate::ffi::Ptr;
use crate::ffi::status::{INVALID_VALUE, OUT_OF_MEMORY, Status};
use crate::machine::call::Call;

pub(crate) fn cuGraphCreate(call: &Call<'_>, out: Ptr<CUgraph>, flags: c_uint) -> Status {
    out.required()?;
    if flags != 0 {
        return Err(call.refuse(INVALID_VALUE, format!("flags are {flags:#x} and must be 0")));
    }
    let graph = call.world().graphs_mut().create(false, None);
    let graph = graph.ok_or_else(|| call.refuse(OUT_OF_MEMORY, "there are as many graphs as handles"))?;
    out.write(graph.as_raw())
}

pub(crate) fn cuGraphDestroy(call: &Call<'_>, graph: Ptr<CUgraph_st>) -> Status {
    let mut world = call.world();
    let graph = named(call, &world, graph)?;
    world.graph_is_read(graph);
    if world.captures().are_into(graph) {
        let reason = "a stream is being captured into the graph, which stays until the capture ends";
        return Err(call.refuse(CUresult::CUDA_ERROR_ILLEGAL_STATE, reason));
    }
    let found = world.graphs().graphs.get(graph);
    if found.is_some_and(|graph| graph.owner.is_some()) {
        return Err(call.refuse(INVALID_VALUE, "a child graph or the body of a conditional node belongs to its node"));
    }
    world.destroy_graph(graph);
    call.run_destructors(&mut world);
    Ok(())
}
