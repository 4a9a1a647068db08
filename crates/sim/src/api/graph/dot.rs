//! Graphs as DOT files: cuGraphDebugDotPrint.
#![expect(non_snake_case, reason = "the functions have C's names")]

use std::ffi::{c_char, c_uint};
use std::path::Path;

use warploom_sys::types::{CUgraph_st, CUresult};

use super::named;
use crate::ffi::status::Status;
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;

/// Unknown flags have no effect.
pub(crate) fn cuGraphDebugDotPrint(
    call: &Call<'_>,
    graph: Ptr<CUgraph_st>,
    path: ConstPtr<c_char>,
    flags: c_uint,
) -> Status {
    let path = path.text()?;
    let world = call.world();
    let graph = named(call, &world, graph)?;
    let text = world.graphs().dot(graph, flags);
    drop(world);
    std::fs::write(Path::new(path), text).map_err(|error| {
        call.refuse(CUresult::CUDA_ERROR_OPERATING_SYSTEM, format!("the file {path} cannot be written: {error}"))
    })
}
