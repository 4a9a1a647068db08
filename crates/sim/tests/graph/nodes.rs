//! Copies, fills, host functions, events and memory operations as nodes: parameters are read back as they
//! were added.
#![expect(unsafe_code, reason = "host functions have C's type")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::sys::types::*;
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{BYTES, Stage, kind_of, zeroed};

unsafe extern "C" fn nothing(_: *mut c_void) {}
unsafe extern "C" fn other(_: *mut c_void) {}

driver_tests! {
    fn nodes_with_bad_dependencies_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, foreign) = (stage.graph()?, stage.graph()?);
        let (a, theirs, mut node) = (graph.empty(&[])?, foreign.empty(&[])?, null_mut());
        for list in [vec![theirs], vec![a, a], vec![null_mut()]] {
            answers!(
                driver.cuGraphAddEmptyNode(&mut node, graph.raw, list.as_ptr(), list.len()),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        answers!(driver.cuGraphAddEmptyNode(null_mut(), graph.raw, null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphAddEmptyNode(&mut node, null_mut(), null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphAddEmptyNode(&mut node, graph.raw, null_mut(), 1), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(graph.counts()?, (1, 0));
    }

    fn copies_are_read_back_and_replaced(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context) = (stage.graph()?, stage.context());
        let node = graph.copy(&stage.copy(0, 4096, 64), context, &[])?;
        let mut shown: CUDA_MEMCPY3D = zeroed();
        call!(driver.cuGraphMemcpyNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.dstDevice, shown.srcDevice), (stage.memory, stage.memory + 4096));
        assert_eq!((shown.WidthInBytes, shown.Height, shown.Depth, shown.srcPitch), (64, 1, 1, 0));
        let bytes = [7_u8; 32];
        call!(driver.cuGraphMemcpyNodeSetParams(node, &stage.upload(16, &bytes)))?;
        call!(driver.cuGraphMemcpyNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.srcMemoryType, shown.srcHost), (CUmemorytype::CU_MEMORYTYPE_HOST, bytes.as_ptr().cast()));
        let executable = graph.instantiate()?;
        executable.run()?;
        assert_eq!(stage.words::<6>()?, [0, 0, 0, 0, 0x0707_0707, 0x0707_0707]);
    }

    fn copies_that_cannot_be_made_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut node) = (stage.graph()?, stage.context(), null_mut());
        let good = stage.copy(0, 4096, 64);
        for bad in [
            CUDA_MEMCPY3D { WidthInBytes: 0, ..good },
            CUDA_MEMCPY3D { Height: 0, ..good },
            CUDA_MEMCPY3D { Depth: 0, ..good },
            CUDA_MEMCPY3D { srcPitch: 16, ..good },
            CUDA_MEMCPY3D { srcMemoryType: CUmemorytype(9), ..good },
            CUDA_MEMCPY3D { srcDevice: 0, ..good },
            CUDA_MEMCPY3D { srcDevice: 0x10, ..good },
            CUDA_MEMCPY3D { srcDevice: stage.memory + BYTES as u64 - 8, ..good },
        ] {
            answers!(
                driver.cuGraphAddMemcpyNode(&mut node, graph.raw, null_mut(), 0, &bad, context),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        let null: *const CUDA_MEMCPY3D = std::ptr::null();
        answers!(driver.cuGraphAddMemcpyNode(&mut node, graph.raw, null_mut(), 0, null, context), CUDA_ERROR_INVALID_VALUE);
        assert_eq!(graph.counts()?, (0, 0));
        // Without a context the current one is meant.
        graph.copy(&good, null_mut(), &[])?;
        let kernel = graph.empty(&[])?;
        let mut shown: CUDA_MEMCPY3D = zeroed();
        answers!(driver.cuGraphMemcpyNodeGetParams(kernel, &mut shown), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphMemcpyNodeSetParams(kernel, &good), CUDA_ERROR_INVALID_VALUE);
    }

    fn fills_are_read_back_and_replaced(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context) = (stage.graph()?, stage.context());
        let node = graph.fill(&CUDA_MEMSET_NODE_PARAMS { value: 0x1ff, pitch: 7, ..stage.fill(0, 0, 4) }, context, &[])?;
        let mut shown: CUDA_MEMSET_NODE_PARAMS = zeroed();
        call!(driver.cuGraphMemsetNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.dst, shown.value, shown.pitch, shown.width, shown.height), (stage.memory, 0x1ff, 7, 4, 1));
        let rows = CUDA_MEMSET_NODE_PARAMS { elementSize: 4, width: 1, height: 2, pitch: 8, value: 5, ..stage.fill(0, 0, 1) };
        call!(driver.cuGraphMemsetNodeSetParams(node, &rows))?;
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<4>()?, [5, 0, 5, 0]);
        let good = stage.fill(0, 1, 64);
        for bad in [
            CUDA_MEMSET_NODE_PARAMS { elementSize: 3, ..good },
            CUDA_MEMSET_NODE_PARAMS { elementSize: 0, ..good },
            CUDA_MEMSET_NODE_PARAMS { width: 0, ..good },
            CUDA_MEMSET_NODE_PARAMS { height: 0, ..good },
            CUDA_MEMSET_NODE_PARAMS { height: 2, pitch: 8, ..good },
            CUDA_MEMSET_NODE_PARAMS { elementSize: 4, dst: stage.memory + 2, ..good },
            CUDA_MEMSET_NODE_PARAMS { dst: 0x10, ..good },
            CUDA_MEMSET_NODE_PARAMS { width: BYTES + 1, ..good },
        ] {
            let mut added = null_mut();
            answers!(driver.cuGraphMemsetNodeSetParams(node, &bad), CUDA_ERROR_INVALID_VALUE);
            answers!(
                driver.cuGraphAddMemsetNode(&mut added, graph.raw, null_mut(), 0, &bad, context),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        call!(driver.cuGraphMemsetNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.elementSize, shown.height), (4, 2), "a refused change changes nothing");
    }

    fn host_functions_are_read_back_and_replaced(driver) {
        let stage = Stage::new(driver)?;
        let (graph, mut node, mut word) = (stage.graph()?, null_mut(), 0_u32);
        let data: *mut c_void = (&raw mut word).cast();
        let params = CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: data };
        call!(driver.cuGraphAddHostNode(&mut node, graph.raw, null_mut(), 0, &params))?;
        let mut shown: CUDA_HOST_NODE_PARAMS = zeroed();
        call!(driver.cuGraphHostNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.fn_.map(|function| function as usize), shown.userData), (Some(nothing as *const () as usize), data));
        call!(driver.cuGraphHostNodeSetParams(node, &CUDA_HOST_NODE_PARAMS { fn_: Some(other), userData: null_mut() }))?;
        call!(driver.cuGraphHostNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.fn_.map(|function| function as usize), shown.userData), (Some(other as *const () as usize), null_mut()));
        let none = CUDA_HOST_NODE_PARAMS { fn_: None, userData: null_mut() };
        answers!(driver.cuGraphHostNodeSetParams(node, &none), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphAddHostNode(&mut node, graph.raw, null_mut(), 0, &none), CUDA_ERROR_INVALID_VALUE);
    }

    fn events_are_read_back_and_replaced(driver) {
        let stage = Stage::new(driver)?;
        let (graph, first, second) = (stage.graph()?, stage.event()?, stage.event()?);
        let (mut record, mut wait, mut shown) = (null_mut(), null_mut(), null_mut());
        call!(driver.cuGraphAddEventRecordNode(&mut record, graph.raw, null_mut(), 0, first))?;
        call!(driver.cuGraphAddEventWaitNode(&mut wait, graph.raw, [record].as_ptr(), 1, first))?;
        call!(driver.cuGraphEventRecordNodeSetEvent(record, second))?;
        call!(driver.cuGraphEventRecordNodeGetEvent(record, &mut shown))?;
        assert_eq!(shown, second);
        call!(driver.cuGraphEventWaitNodeGetEvent(wait, &mut shown))?;
        assert_eq!(shown, first);
        call!(driver.cuGraphEventWaitNodeSetEvent(wait, second))?;
        call!(driver.cuGraphEventWaitNodeGetEvent(wait, &mut shown))?;
        assert_eq!(shown, second);
        answers!(driver.cuGraphEventRecordNodeGetEvent(wait, &mut shown), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphEventWaitNodeSetEvent(record, first), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphEventRecordNodeSetEvent(record, null_mut()), CUDA_ERROR_INVALID_VALUE);
        let mut node = null_mut();
        answers!(
            driver.cuGraphAddEventWaitNode(&mut node, graph.raw, null_mut(), 0, null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        for event in [first, second] {
            call!(driver.cuEventDestroy_v2(event))?;
        }
    }

    fn memory_operations_are_copied_into_their_node(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut node) = (stage.graph()?, stage.context(), null_mut());
        // A write of 32 bits, and one of 64.
        let mut operations = [
            CUstreamBatchMemOpParams { pad: [2, stage.memory, 5, 0, 0, 0] },
            CUstreamBatchMemOpParams { pad: [5, stage.memory + 8, 6, 0, 0, 0] },
        ];
        let params = CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: context, count: 2, paramArray: operations.as_mut_ptr(), flags: 0 };
        call!(driver.cuGraphAddBatchMemOpNode(&mut node, graph.raw, null_mut(), 0, &params))?;
        operations[0] = CUstreamBatchMemOpParams { pad: [0; 6] };
        assert_eq!(kind_of(driver, node)?, CUgraphNodeType::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
        let mut shown: CUDA_BATCH_MEM_OP_NODE_PARAMS = zeroed();
        call!(driver.cuGraphBatchMemOpNodeGetParams(node, &mut shown))?;
        assert_eq!((shown.ctx, shown.count, shown.flags), (context, 2, 0));
        assert_ne!(shown.paramArray, operations.as_mut_ptr());
        // SAFETY: the node's own array of two operations, each of which begins with its number and address.
        let first = unsafe { (*shown.paramArray).pad };
        assert_eq!((first[0] as u32, first[1], first[2] as u32), (2, stage.memory, 5));
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<4>()?, [5, 0, 6, 0]);
        for bad in [
            CUDA_BATCH_MEM_OP_NODE_PARAMS { ctx: null_mut(), ..params },
            CUDA_BATCH_MEM_OP_NODE_PARAMS { flags: 1, ..params },
            CUDA_BATCH_MEM_OP_NODE_PARAMS { count: 256, ..params },
            CUDA_BATCH_MEM_OP_NODE_PARAMS { paramArray: null_mut(), ..params },
        ] {
            answers!(driver.cuGraphBatchMemOpNodeSetParams(node, &bad), CUDA_ERROR_INVALID_VALUE);
            let mut added = null_mut();
            answers!(
                driver.cuGraphAddBatchMemOpNode(&mut added, graph.raw, null_mut(), 0, &bad),
                CUDA_ERROR_INVALID_VALUE
            );
        }
    }

    fn most_nodes_need_no_current_context(driver) {
        let stage = Stage::new(driver)?;
        let (graph, context, mut handle) = (stage.graph()?, stage.context(), 0);
        let (mut node, mut executable) = (null_mut(), null_mut());
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        // The memory tells the context.
        graph.fill(&stage.fill(0, 1, 4), null_mut(), &[])?;
        graph.copy(&stage.copy(4, 64, 4), null_mut(), &[])?;
        graph.fill(&stage.fill(8, 1, 4), context, &[])?;
        graph.empty(&[])?;
        let function = CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: null_mut() };
        call!(driver.cuGraphAddHostNode(&mut node, graph.raw, null_mut(), 0, &function))?;
        call!(driver.cuGraphConditionalHandleCreate(&mut handle, stage.graph()?.raw, context, 0, 0))?;
        answers!(
            driver.cuGraphInstantiateWithFlags(&mut executable, graph.raw, 0),
            CUDA_ERROR_INVALID_CONTEXT
        );
        stage.primary.make_current()?;
        graph.instantiate()?.run()?;
        assert_eq!(stage.words::<3>()?, [0x0101_0101, 0, 0x0101_0101]);
    }

    /// Nodes of a capture show their parameters as if they had been added.
    fn captured_work_shows_its_parameters(driver) {
        let stage = Stage::new(driver)?;
        let (mut stream, mut raw, memory) = (null_mut(), null_mut(), stage.memory);
        let bytes = [1_u8; 64];
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
        call!(driver.cuMemcpyHtoDAsync_v2(memory, bytes.as_ptr().cast(), 64, stream))?;
        call!(driver.cuMemsetD8Async(memory, 7, 100, stream))?;
        call!(driver.cuMemsetD2D32Async(memory, 256, 7, 8, 3, stream))?;
        call!(driver.cuStreamEndCapture(stream, &mut raw))?;
        let (mut nodes, mut count) = ([null_mut(); 3], 3);
        call!(driver.cuGraphGetNodes(raw, nodes.as_mut_ptr(), &mut count))?;
        let (mut copy, mut fill): (CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS) = (zeroed(), zeroed());
        call!(driver.cuGraphMemcpyNodeGetParams(nodes[0], &mut copy))?;
        assert_eq!((copy.srcMemoryType, copy.srcHost), (CUmemorytype::CU_MEMORYTYPE_HOST, bytes.as_ptr().cast()));
        assert_eq!((copy.dstDevice, copy.WidthInBytes, copy.Height, copy.Depth), (memory, 64, 1, 1));
        call!(driver.cuGraphMemsetNodeGetParams(nodes[1], &mut fill))?;
        assert_eq!((fill.dst, fill.value, fill.elementSize, fill.width, fill.height), (memory, 7, 1, 100, 1));
        call!(driver.cuGraphMemsetNodeGetParams(nodes[2], &mut fill))?;
        assert_eq!((fill.pitch, fill.value, fill.elementSize, fill.width, fill.height), (256, 7, 4, 8, 3));
        call!(driver.cuGraphDestroy(raw))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
    }
}
