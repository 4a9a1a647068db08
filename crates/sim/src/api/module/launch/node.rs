//! Kernels as nodes of graphs.

use std::sync::Arc;

use warploom_sys::types::CUDA_KERNEL_NODE_PARAMS_v2;

use super::{Arguments, Place};
use crate::api::module::functions::described;
use crate::ffi::handle::{ContextHandle, Handle, KernelHandle, Kind};
use crate::ffi::node_params::KernelParams;
use crate::ffi::status::{INVALID_CONTEXT, INVALID_HANDLE, Status};
use crate::machine::call::Call;
use crate::machine::core::Guard;
use crate::machine::graph::{KernelAttributes, KernelNode};
use crate::machine::launch::{KernelCall, Shape};

/// The node of a kernel. A function runs in its own context; a library's kernel in the context that the
/// parameters name, or in the current one.
pub(crate) fn kernel_node(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    given: &KernelParams,
    attributes: KernelAttributes,
) -> Status<KernelNode> {
    let params = &given.params;
    let shape = shape_of(params).with(&attributes);
    let named = if params.func.is_null() { params.kern.addr() } else { params.func.addr() } as u64;
    if params.func.is_null() != KernelHandle::from_bits(named).names_some(Kind::Kernel) {
        return Err(call.refuse(INVALID_HANDLE, "`func` names no function, or `kern` no kernel of a library"));
    }
    let place = place_of(call, world, named, params.ctx.addr() as u64)?;
    let arguments = Arguments::new(given.arguments, given.extra);
    let kernel = KernelCall::new(call, world, place, named, shape, |facts| arguments.pack_for_node(call, facts))?;
    Ok(KernelNode::new(kernel, named, attributes, arguments.are_extra()?))
}

/// The node with other attributes, if its launch is still valid.
pub(crate) fn with_attributes(
    call: &Call<'_>,
    world: &mut Guard<'_>,
    node: &KernelNode,
    attributes: KernelAttributes,
) -> Status<KernelNode> {
    let KernelCall { context, device, arguments, .. } = &node.call;
    let base = Shape { cooperative: false, cluster: None, ..node.call.shape };
    let place = Place { context: *context, device: *device };
    let shape = base.with(&attributes);
    let kernel = KernelCall::new(call, world, place, node.named, shape, |_| Ok(Arc::clone(arguments)))?;
    Ok(KernelNode::new(kernel, node.named, attributes, node.is_extra()))
}

fn shape_of(params: &CUDA_KERNEL_NODE_PARAMS_v2) -> Shape {
    let grid = [params.gridDimX, params.gridDimY, params.gridDimZ];
    Shape::new(grid, [params.blockDimX, params.blockDimY, params.blockDimZ], params.sharedMemBytes)
}

fn place_of(call: &Call<'_>, world: &mut Guard<'_>, named: u64, context: u64) -> Status<Place> {
    let kernel = KernelHandle::from_bits(named);
    let context: ContextHandle = match kernel.names_some(Kind::Kernel) {
        false => described(call, world, Handle::from_bits(named))?.context,
        true if context == 0 => call.context(world)?,
        true => Handle::from_bits(context),
    };
    let device = call.object(world.contexts(), context, INVALID_CONTEXT)?.device;
    Ok(Place { context, device })
}
