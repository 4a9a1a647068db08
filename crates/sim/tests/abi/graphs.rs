//! Graphs and captures in superseded ABIs.

use std::ffi::c_char;
use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::{CUDA_KERNEL_NODE_PARAMS_v1, CUgraphExecUpdateResult, CUstreamCaptureStatus};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::Rig;

driver_tests! {
    fn a_graph_is_built_changed_and_launched_by_the_functions_of_10_0(driver) {
        let rig = Rig::new(driver)?;
        let (mut graph, mut node, mut exec, mut stream) = (null_mut(), null_mut(), null_mut(), null_mut());
        let (mut out, mut value) = (rig.out, 5u32);
        let mut arguments = [(&raw mut out).cast(), (&raw mut value).cast()];
        let mut params = CUDA_KERNEL_NODE_PARAMS_v1 {
            func: rig.function(c"shape")?,
            gridDimX: 1,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: 4,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: 0,
            kernelParams: arguments.as_mut_ptr(),
            extra: null_mut(),
        };
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuGraphAddKernelNode(&mut node, graph, null(), 0, &params))?;
        let mut found = CUDA_KERNEL_NODE_PARAMS_v1 { func: null_mut(), ..params };
        call!(driver.cuGraphKernelNodeGetParams(node, &mut found))?;
        assert_eq!((found.func, found.blockDimX), (params.func, 4));
        params.blockDimX = 6;
        call!(driver.cuGraphKernelNodeSetParams(node, &params))?;
        let (mut error_node, mut log): (_, [c_char; 8]) = (graph.cast(), [7; 8]);
        call!(driver.cuGraphInstantiate(&mut exec, graph, &mut error_node, log.as_mut_ptr(), 8))?;
        assert!(error_node.is_null() && log[..2] == [0, 7]);
        call!(driver.cuGraphExecDestroy(exec))?;
        call!(driver.cuGraphInstantiate_v2(&mut exec, graph, null_mut(), null_mut(), 0))?;
        params.blockDimX = 8;
        call!(driver.cuGraphExecKernelNodeSetParams(exec, node, &params))?;
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuGraphLaunch(exec, stream))?;
        assert_eq!(rig.take()?, [8, 1, 1, 1, 1, 1, 0, 5]);
        answers!(driver.cuGraphInstantiate(null_mut(), graph, null_mut(), null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        params.func = null_mut();
        answers!(driver.cuGraphAddKernelNode(&mut node, graph, null(), 0, &params), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuGraphExecDestroy(exec))?;
        call!(driver.cuGraphDestroy(graph))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
        rig.close()?;
    }

    fn the_update_of_10_2_tells_node_and_result(driver) {
        let rig = Rig::new(driver)?;
        let (mut graph, mut other, mut node, mut exec) = (null_mut(), null_mut(), null_mut(), null_mut());
        let mut result = CUgraphExecUpdateResult(99);
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuGraphCreate(&mut other, 0))?;
        call!(driver.cuGraphAddEmptyNode(&mut node, graph, null(), 0))?;
        call!(driver.cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
        call!(driver.cuGraphExecUpdate(exec, graph, &mut node, &mut result))?;
        assert_eq!((node, result), (null_mut(), CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS));
        call!(driver.cuGraphExecUpdate(exec, graph, null_mut(), null_mut()))?;
        answers!(
            driver.cuGraphExecUpdate(exec, other, &mut node, &mut result),
            CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
        );
        assert_ne!(result, CUgraphExecUpdateResult::CU_GRAPH_EXEC_UPDATE_SUCCESS);
        call!(driver.cuGraphExecDestroy(exec))?;
        call!(driver.cuGraphDestroy(other))?;
        call!(driver.cuGraphDestroy(graph))?;
        rig.close()?;
    }

    fn a_capture_of_10_0_permits_unsafe_calls(driver) {
        let rig = Rig::new(driver)?;
        let (mut stream, mut graph, mut address, mut id) = (null_mut(), null_mut(), 0, 0);
        let mut status = CUstreamCaptureStatus(99);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamGetCaptureInfo(stream, &mut status, &mut id))?;
        assert_eq!((status, id), (CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE, 0));
        call!(driver.cuStreamBeginCapture(stream))?;
        call!(driver.cuStreamGetCaptureInfo(stream, &mut status, &mut id))?;
        assert_eq!(status, CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE);
        assert_ne!(id, 0);
        answers!(driver.cuStreamGetCaptureInfo(stream, null_mut(), &mut id), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuMemAlloc_v2(&mut address, 8))?;
        call!(driver.cuStreamEndCapture(stream, &mut graph))?;
        call!(driver.cuMemFree_v2(address))?;
        call!(driver.cuGraphDestroy(graph))?;
        answers!(driver.cuStreamBeginCapture(null_mut()), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        call!(driver.cuStreamDestroy_v2(stream))?;
        rig.close()?;
    }
}
