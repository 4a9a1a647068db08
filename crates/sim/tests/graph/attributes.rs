//! Attributes of kernel nodes.

use std::ptr::null_mut;

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{Stage, zeroed};

type Id = CUlaunchAttributeID;

driver_tests! {
    fn priorities_are_clamped_and_kept(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let params = stage.launch(c"nothing", &mut [])?;
        let (node, other) = (graph.kernel(&params, &[])?, graph.kernel(&params, &[])?);
        let id = Id::CU_LAUNCH_ATTRIBUTE_PRIORITY;
        let priority = |node: CUgraphNode| {
            let mut value: CUlaunchAttributeValue = zeroed();
            call!(driver.cuGraphKernelNodeGetAttribute(node, id, &mut value)).map(|()| first(&value))
        };
        assert_eq!(priority(node)?, 0);
        for (given, kept) in [(-5, -5), (-100, -5), (100, 0), (-3, -3)] {
            let value = CUlaunchAttributeValue { priority: given };
            call!(driver.cuGraphKernelNodeSetAttribute(node, id, &value))?;
            assert_eq!(priority(node)?, kept);
        }
        call!(driver.cuGraphKernelNodeCopyAttributes(other, node))?;
        assert_eq!(priority(other)?, -3);
        call!(driver.cuGraphKernelNodeSetParams_v2(node, &params))?;
        assert_eq!(priority(node)?, -3, "other parameters leave attributes alone");
    }

    fn attributes_belong_to_kernels(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let kernel = graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
        let fill = graph.fill(&stage.fill(0, 1, 4), stage.context(), &[])?;
        let mut value: CUlaunchAttributeValue = zeroed();
        for id in [1, 2, 4, 5, 8, 9, 10, 13, 14].map(CUlaunchAttributeID) {
            call!(driver.cuGraphKernelNodeGetAttribute(kernel, id, &mut value))?;
            answers!(driver.cuGraphKernelNodeGetAttribute(fill, id, &mut value), CUDA_ERROR_INVALID_VALUE);
        }
        for id in [0, 3, 6, 7, 11, 12, 99].map(CUlaunchAttributeID) {
            answers!(driver.cuGraphKernelNodeGetAttribute(kernel, id, &mut value), CUDA_ERROR_INVALID_VALUE);
        }
        for id in [3, 6, 7, 99].map(CUlaunchAttributeID) {
            answers!(driver.cuGraphKernelNodeSetAttribute(kernel, id, &zeroed()), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuGraphKernelNodeCopyAttributes(kernel, fill), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphKernelNodeCopyAttributes(fill, kernel), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphKernelNodeCopyAttributes(kernel, kernel))?;
    }

    fn clusters_must_divide_the_grid(driver) {
        let stage = Stage::new(driver)?;
        let graph = stage.graph()?;
        let node = graph.kernel(&stage.launch(c"nothing", &mut [])?, &[])?;
        let clusters = CUlaunchAttributeValue_union__bindgen_ty_1 { x: 2, y: 1, z: 1 };
        let value = CUlaunchAttributeValue { clusterDim: clusters };
        let id = Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
        answers!(driver.cuGraphKernelNodeSetAttribute(node, id, &value), CUDA_ERROR_INVALID_CLUSTER_SIZE);
        call!(driver.cuGraphKernelNodeSetAttribute(node, id, &zeroed()))?;
        let id = Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
        call!(driver.cuGraphKernelNodeSetAttribute(node, id, &CUlaunchAttributeValue { cooperative: 1 }))?;
        let mut value: CUlaunchAttributeValue = zeroed();
        call!(driver.cuGraphKernelNodeGetAttribute(node, id, &mut value))?;
        assert_eq!(first(&value), 1);
    }

    fn a_captured_kernel_has_the_priority_of_its_stream(driver) {
        let stage = Stage::new(driver)?;
        let (mut stream, mut raw, function) = (null_mut(), null_mut(), stage.function(c"nothing")?);
        call!(driver.cuStreamCreateWithPriority(&mut stream, 1, -2))?;
        call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()))?;
        call!(driver.cuStreamEndCapture(stream, &mut raw))?;
        let (mut node, mut count, mut value) = (null_mut(), 1, zeroed());
        call!(driver.cuGraphGetNodes(raw, &mut node, &mut count))?;
        call!(driver.cuGraphKernelNodeGetAttribute(node, Id::CU_LAUNCH_ATTRIBUTE_PRIORITY, &mut value))?;
        assert_eq!(first(&value), -2);
        call!(driver.cuGraphDestroy(raw))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
    }
}

#[expect(unsafe_code, reason = "reads a member of a C union")]
fn first(value: &CUlaunchAttributeValue) -> i32 {
    // SAFETY: an integer, for which every bit pattern is valid.
    unsafe { value.priority }
}
