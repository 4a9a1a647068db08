//! Kernel nodes in the form of CUDA 10.0, which names neither a library's kernel nor a context.
#![expect(non_snake_case, reason = "the functions have C's names")]

use warploom_sys::types::{CUDA_KERNEL_NODE_PARAMS_v1, CUgraph_st, CUgraphExec_st, CUgraphNode, CUgraphNode_st};

use super::add::{Dependencies, add_kernel};
use super::params::{kernel_params, set_kernel};
use super::update::set_executable_kernel;
use crate::ffi::status::Status;
use crate::ffi::{ConstPtr, Ptr};
use crate::machine::call::Call;

pub(crate) fn cuGraphAddKernelNode(
    call: &Call<'_>,
    out: Ptr<CUgraphNode>,
    graph: Ptr<CUgraph_st>,
    dependencies: ConstPtr<CUgraphNode>,
    count: usize,
    params: ConstPtr<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Status {
    let given = params.read()?.into();
    add_kernel(call, out, graph, Dependencies::plain(dependencies, count), &given)
}

pub(crate) fn cuGraphKernelNodeGetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    out: Ptr<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Status {
    let found = kernel_params(call, node)?;
    out.write(CUDA_KERNEL_NODE_PARAMS_v1 {
        func: found.func,
        gridDimX: found.gridDimX,
        gridDimY: found.gridDimY,
        gridDimZ: found.gridDimZ,
        blockDimX: found.blockDimX,
        blockDimY: found.blockDimY,
        blockDimZ: found.blockDimZ,
        sharedMemBytes: found.sharedMemBytes,
        kernelParams: found.kernelParams,
        extra: found.extra,
    })
}

pub(crate) fn cuGraphKernelNodeSetParams(
    call: &Call<'_>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Status {
    set_kernel(call, node, &params.read()?.into())
}

pub(crate) fn cuGraphExecKernelNodeSetParams(
    call: &Call<'_>,
    executable: Ptr<CUgraphExec_st>,
    node: Ptr<CUgraphNode_st>,
    params: ConstPtr<CUDA_KERNEL_NODE_PARAMS_v1>,
) -> Status {
    set_executable_kernel(call, executable, node, &params.read()?.into())
}
