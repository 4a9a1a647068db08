//! Nodes of an executable: their parameters can change, and some can be disabled.
#![expect(unsafe_code, reason = "host functions have C's type")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::Stage;

unsafe extern "C" fn add_one(data: *mut c_void) {
    // SAFETY: the counter of the test, which waits for the launch.
    unsafe { *data.cast::<u32>() += 1 };
}

unsafe extern "C" fn add_ten(data: *mut c_void) {
    // SAFETY: as above.
    unsafe { *data.cast::<u32>() += 10 };
}

driver_tests! {
    /// A node of an executable changes without its definition, for the launches to come.
    fn parameters_of_an_executable_change_alone(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut to, mut value) = (stage.graph()?, stage.context(), stage.memory + 8, 1_u32);
        let mut arguments = [(&raw mut to).cast(), (&raw mut value).cast()];
        let params = stage.launch(c"store", &mut arguments)?;
        let fill = graph.fill(&stage.fill(0, 1, 4), context, &[])?;
        let copy = graph.copy(&stage.copy(4, 0, 4), context, &[fill])?;
        let kernel = graph.kernel(&params, &[copy])?;
        let executable = graph.instantiate()?;
        executable.run()?;
        assert_eq!(stage.words::<4>()?, [0x0101_0101, 0x0101_0101, 1, 0]);
        value = 2;
        assert_eq!(value, 2);
        call!(driver.cuGraphExecKernelNodeSetParams_v2(executable.raw, kernel, &params))?;
        call!(driver.cuGraphExecMemsetNodeSetParams(executable.raw, fill, &stage.fill(0, 2, 4), context))?;
        call!(driver.cuGraphExecMemcpyNodeSetParams(executable.raw, copy, &stage.copy(12, 0, 4), context))?;
        executable.run()?;
        assert_eq!(stage.words::<4>()?, [0x0202_0202, 0x0101_0101, 2, 0x0202_0202]);
        drop(executable);
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<3>()?, [0x0101_0101, 0x0101_0101, 1], "the definition is as it was");
    }

    fn changes_that_an_executable_cannot_take_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, other, context) = (stage.graph()?, stage.graph()?, stage.context());
        let launch = stage.launch(c"nothing", &mut [])?;
        let fill = graph.fill(&stage.fill(0, 1, 4), context, &[])?;
        let copy = graph.copy(&stage.copy(4, 0, 4), context, &[])?;
        let (kernel, foreign) = (graph.kernel(&launch, &[])?, other.kernel(&launch, &[])?);
        let executable = graph.instantiate()?;
        let raw = executable.raw;
        let bytes = [1; 64];
        for bad in [stage.copy(4, 0, 0), stage.upload(0, &bytes), CUDA_MEMCPY3D { Height: 2, ..stage.copy(4, 64, 4) }] {
            answers!(driver.cuGraphExecMemcpyNodeSetParams(raw, copy, &bad, context), CUDA_ERROR_INVALID_VALUE);
        }
        for bad in [
            CUDA_MEMSET_NODE_PARAMS { height: 2, pitch: 16, ..stage.fill(0, 1, 4) },
            CUDA_MEMSET_NODE_PARAMS { elementSize: 3, ..stage.fill(0, 1, 4) },
        ] {
            answers!(driver.cuGraphExecMemsetNodeSetParams(raw, fill, &bad, context), CUDA_ERROR_INVALID_VALUE);
        }
        let empty = CUDA_KERNEL_NODE_PARAMS_v2 { gridDimX: 0, ..launch };
        answers!(driver.cuGraphExecKernelNodeSetParams_v2(raw, kernel, &empty), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphExecKernelNodeSetParams_v2(raw, fill, &launch), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphExecKernelNodeSetParams_v2(raw, foreign, &launch), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphExecKernelNodeSetParams_v2(null_mut(), kernel, &launch), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuGraphDestroyNode(kernel))?;
        answers!(driver.cuGraphExecKernelNodeSetParams_v2(raw, kernel, &launch), CUDA_ERROR_INVALID_VALUE);
    }

    fn host_functions_and_events_change(driver) {
        let stage = Stage::new(driver)?;
        let (graph, first, second, mut count) = (stage.graph()?, stage.event()?, stage.event()?, 0_u32);
        let (mut host, mut record) = (null_mut(), null_mut());
        let with = |function: unsafe extern "C" fn(*mut c_void), data: *mut u32| CUDA_HOST_NODE_PARAMS {
            fn_: Some(function),
            userData: data.cast(),
        };
        let counter = &raw mut count;
        call!(driver.cuGraphAddHostNode(&mut host, graph.raw, null_mut(), 0, &with(add_one, counter)))?;
        call!(driver.cuGraphAddEventRecordNode(&mut record, graph.raw, [host].as_ptr(), 1, first))?;
        let executable = graph.instantiate()?;
        executable.run()?;
        call!(driver.cuGraphExecHostNodeSetParams(executable.raw, host, &with(add_ten, counter)))?;
        call!(driver.cuGraphExecEventRecordNodeSetEvent(executable.raw, record, second))?;
        executable.run()?;
        // SAFETY: no launch is left that counts.
        assert_eq!(unsafe { counter.read() }, 11);
        call!(driver.cuEventQuery(second))?;
        let none = CUDA_HOST_NODE_PARAMS { fn_: None, userData: null_mut() };
        answers!(driver.cuGraphExecHostNodeSetParams(executable.raw, host, &none), CUDA_ERROR_INVALID_VALUE);
        answers!(
            driver.cuGraphExecEventRecordNodeSetEvent(executable.raw, record, null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        answers!(driver.cuGraphExecEventWaitNodeSetEvent(executable.raw, record, first), CUDA_ERROR_INVALID_VALUE);
        drop(executable);
        for event in [first, second] {
            call!(driver.cuEventDestroy_v2(event))?;
        }
    }

    /// Kernels, copies and fills can be disabled, also inside child graphs; other nodes cannot.
    fn some_nodes_can_be_disabled(driver) {
        let stage = Stage::new(driver)?;
        let (graph, inner, context) = (stage.graph()?, stage.graph()?, stage.context());
        inner.fill(&stage.fill(4, 2, 4), context, &[])?;
        let fill = graph.fill(&stage.fill(0, 1, 4), context, &[])?;
        let (child, empty) = (graph.child(inner.raw, &[fill])?, graph.empty(&[fill])?);
        let (mut copy, mut inside, mut count, mut enabled) = (null_mut(), null_mut(), 1, 7);
        call!(driver.cuGraphChildGraphNodeGetGraph(child, &mut copy))?;
        call!(driver.cuGraphGetNodes(copy, &mut inside, &mut count))?;
        let executable = graph.instantiate()?;
        for node in [fill, inside] {
            call!(driver.cuGraphNodeGetEnabled(executable.raw, node, &mut enabled))?;
            assert_eq!(enabled, 1);
            call!(driver.cuGraphNodeSetEnabled(executable.raw, node, 0))?;
            call!(driver.cuGraphNodeGetEnabled(executable.raw, node, &mut enabled))?;
            assert_eq!(enabled, 0);
        }
        executable.run()?;
        assert_eq!(stage.words::<2>()?, [0, 0]);
        call!(driver.cuGraphNodeSetEnabled(executable.raw, inside, 5))?;
        executable.run()?;
        assert_eq!(stage.words::<2>()?, [0, 0x0202_0202]);
        for node in [child, empty] {
            answers!(driver.cuGraphNodeSetEnabled(executable.raw, node, 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuGraphNodeGetEnabled(executable.raw, node, &mut enabled), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuGraphNodeGetEnabled(executable.raw, fill, null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
}
