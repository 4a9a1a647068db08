//! Kernel nodes and their arguments.
#![expect(unsafe_code, reason = "reads arguments through the pointers that the driver gives")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{Stage, zeroed};

driver_tests! {
    /// Arguments are copied when the node is added, and can be read back.
    fn arguments_are_copied_into_the_node(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut to, mut value) = (stage.graph()?, stage.memory, 3_u32);
        let mut arguments: [*mut c_void; 2] = [(&raw mut to).cast(), (&raw mut value).cast()];
        let params = stage.launch(c"store", &mut arguments)?;
        let node = graph.kernel(&params, &[])?;
        value = 4;
        assert_eq!(value, 4);
        let mut shown: CUDA_KERNEL_NODE_PARAMS_v2 = zeroed();
        call!(driver.cuGraphKernelNodeGetParams_v2(node, &mut shown))?;
        assert_eq!((shown.func, shown.kern, shown.ctx), (params.func, null_mut(), stage.context()));
        assert_eq!((shown.gridDimX, shown.blockDimX, shown.sharedMemBytes), (1, 1, 0));
        assert!(shown.extra.is_null());
        // SAFETY: the node's own array of two pointers, to an address and a number.
        let (first, second) = unsafe { (**shown.kernelParams.cast::<*const u64>(), **shown.kernelParams.add(1).cast::<*const u32>()) };
        assert_eq!((first, second), (to, 3));
        let executable = graph.instantiate()?;
        executable.run()?;
        assert_eq!(stage.words::<1>()?, [3]);
        call!(driver.cuGraphKernelNodeSetParams_v2(node, &params))?;
        executable.run()?;
        assert_eq!(stage.words::<1>()?, [3], "an executable keeps what it was made with");
        drop(executable);
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<1>()?, [4]);
    }

    fn arguments_in_a_buffer_are_shown_as_a_buffer(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut buffer, mut size) = (stage.graph()?, [stage.memory, 9_u64], 12_usize);
        let number = |number: usize| std::ptr::without_provenance_mut(number);
        let mut extra: [*mut c_void; 5] =
            [number(1), buffer.as_mut_ptr().cast(), number(2), (&raw mut size).cast(), null_mut()];
        let plain = stage.launch(c"store", &mut [])?;
        let params = CUDA_KERNEL_NODE_PARAMS_v2 { extra: extra.as_mut_ptr(), ..plain };
        let node = graph.kernel(&params, &[])?;
        let mut shown: CUDA_KERNEL_NODE_PARAMS_v2 = zeroed();
        call!(driver.cuGraphKernelNodeGetParams_v2(node, &mut shown))?;
        assert!(shown.kernelParams.is_null() && !shown.extra.is_null());
        call!(driver.cuGraphKernelNodeSetParams_v2(node, &shown))?;
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<1>()?, [9]);
    }

    fn a_kernel_of_a_library_is_shown_with_its_function(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut library, mut kernel, mut function) = (stage.graph()?, null_mut(), null_mut(), null_mut());
        let text = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry empty() { ret; }\n";
        call!(driver.cuLibraryLoadData(
            &mut library, text.as_ptr().cast(), null_mut(), null_mut(), 0, null_mut(), null_mut(), 0
        ))?;
        call!(driver.cuLibraryGetKernel(&mut kernel, library, c"empty".as_ptr()))?;
        call!(driver.cuKernelGetFunction(&mut function, kernel))?;
        let plain = stage.launch(c"nothing", &mut [])?;
        for params in [
            CUDA_KERNEL_NODE_PARAMS_v2 { func: null_mut(), kern: kernel, ..plain },
            CUDA_KERNEL_NODE_PARAMS_v2 { func: null_mut(), kern: kernel, ctx: stage.context(), ..plain },
            CUDA_KERNEL_NODE_PARAMS_v2 { func: function, ..plain },
        ] {
            let node = graph.kernel(&params, &[])?;
            let mut shown: CUDA_KERNEL_NODE_PARAMS_v2 = zeroed();
            call!(driver.cuGraphKernelNodeGetParams_v2(node, &mut shown))?;
            assert_eq!((shown.func, shown.kern, shown.ctx), (function, kernel, stage.context()));
            assert!(shown.kernelParams.is_null() && shown.extra.is_null());
        }
        drop(graph);
        call!(driver.cuLibraryUnload(library))?;
    }

    fn kernels_that_cannot_be_launched_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut to, mut value, mut node) = (stage.graph()?, stage.memory, 3_u32, null_mut());
        let mut arguments: [*mut c_void; 2] = [(&raw mut to).cast(), (&raw mut value).cast()];
        let good = stage.launch(c"store", &mut arguments)?;
        let mut missing: [*mut c_void; 2] = [null_mut(); 2];
        // `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`, and the end.
        let (mut buffer, mut size) = ([0_u64; 2], 12_usize);
        let [pointer, bytes] = [1, 2].map(std::ptr::without_provenance_mut);
        let mut extra: [*mut c_void; 5] =
            [pointer, buffer.as_mut_ptr().cast(), bytes, (&raw mut size).cast(), null_mut()];
        for bad in [
            CUDA_KERNEL_NODE_PARAMS_v2 { gridDimX: 0, ..good },
            CUDA_KERNEL_NODE_PARAMS_v2 { gridDimY: 70_000, ..good },
            CUDA_KERNEL_NODE_PARAMS_v2 { blockDimX: 2048, ..good },
            CUDA_KERNEL_NODE_PARAMS_v2 { sharedMemBytes: 300_000, ..good },
            CUDA_KERNEL_NODE_PARAMS_v2 { kernelParams: null_mut(), ..good },
            CUDA_KERNEL_NODE_PARAMS_v2 { kernelParams: missing.as_mut_ptr(), ..good },
            CUDA_KERNEL_NODE_PARAMS_v2 { extra: extra.as_mut_ptr(), ..good },
        ] {
            answers!(
                driver.cuGraphAddKernelNode_v2(&mut node, graph.raw, null(), 0, &bad),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let nameless = CUDA_KERNEL_NODE_PARAMS_v2 { func: null_mut(), ..good };
        answers!(driver.cuGraphAddKernelNode_v2(&mut node, graph.raw, null(), 0, &nameless), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuGraphAddKernelNode_v2(&mut node, graph.raw, null(), 0, null()), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(graph.counts()?, (0, 0));
        let empty = graph.empty(&[])?;
        let mut shown: CUDA_KERNEL_NODE_PARAMS_v2 = zeroed();
        answers!(driver.cuGraphKernelNodeGetParams_v2(empty, &mut shown), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphKernelNodeSetParams_v2(empty, &good), CUDA_ERROR_INVALID_VALUE);
    }
}
