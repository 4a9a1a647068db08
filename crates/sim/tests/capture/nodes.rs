//! Kinds of the nodes that captured calls become.
#![expect(unsafe_code, reason = "host functions have C's type, and C's structures are filled with zeros")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::sys::types::{CUDA_MEMCPY2D, CUmemorytype, CUresult};
use warploom_testkit::{answers, call, driver_tests};

use crate::support::{ACTIVE, COPY, FILL, HOST, KERNEL, LOCAL, NONE, RECORD, RELAXED, Stage, VALUES, WAIT};

unsafe extern "C" fn nothing(_: *mut c_void) {}

/// A kernel that does nothing.
const NOTHING: &std::ffi::CStr = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing() { ret; }\n";

driver_tests! {
    fn everything_that_a_graph_can_have_becomes_a_node_behind_the_last(driver) {
        let stage = Stage::new(driver)?;
        let (stream, memory) = (stage.stream()?, stage.memory);
        let (mut module, mut function) = (null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, NOTHING.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()))?;
        let (outside, inside, mut pinned) = (stage.reached()?, stage.event()?, null_mut());
        call!(driver.cuMemAllocHost_v2(&mut pinned, 64))?;
        let mut pageable = [0_u8; 64];
        let rows = CUDA_MEMCPY2D {
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcDevice: memory + 8192,
            srcPitch: 128,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstDevice: memory,
            dstPitch: 256,
            WidthInBytes: 64,
            Height: 4,
            ..zeroed()
        };

        stage.begin(stream, RELAXED)?;
        call!(driver.cuMemsetD8Async(memory, 1, 64, stream))?;
        call!(driver.cuMemsetD2D32Async(memory, 256, 1, 4, 4, stream))?;
        call!(driver.cuMemcpyDtoDAsync_v2(memory, memory + 4096, 64, stream))?;
        call!(driver.cuMemcpyHtoDAsync_v2(memory, pinned, 64, stream))?;
        call!(driver.cuMemcpyDtoHAsync_v2(pageable.as_mut_ptr().cast(), memory, 64, stream))?;
        call!(driver.cuMemcpy2DAsync_v2(&rows, stream))?;
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()))?;
        call!(driver.cuLaunchHostFunc(stream, Some(nothing), null_mut()))?;
        call!(driver.cuStreamWriteValue32_v2(stream, memory, 1, 0))?;
        call!(driver.cuStreamWaitValue32_v2(stream, memory, 1, 0))?;
        call!(driver.cuEventRecordWithFlags(inside, stream, 1))?;
        call!(driver.cuStreamWaitEvent(stream, outside, 1))?;
        let graph = stage.end(stream)?;
        let kinds = [FILL, FILL, COPY, COPY, COPY, COPY, KERNEL, HOST, VALUES, VALUES, RECORD, WAIT];
        assert_eq!(graph.kinds()?, kinds);
        assert_eq!(graph.edges()?, (1..kinds.len()).map(|node| (node - 1, node)).collect::<Vec<_>>());
        drop(graph);
        call!(driver.cuMemFreeHost(pinned))?;
        call!(driver.cuModuleUnload(module))?;
    }

    fn nothing_is_no_node(driver) {
        let stage = Stage::new(driver)?;
        let (stream, memory) = (stage.stream()?, stage.memory);
        let (event, never) = (stage.event()?, stage.event()?);
        stage.begin(stream, LOCAL)?;
        call!(driver.cuMemsetD8Async(memory, 1, 0, stream))?;
        call!(driver.cuMemcpyDtoDAsync_v2(memory, memory + 64, 0, stream))?;
        call!(driver.cuEventRecord(event, stream))?;
        call!(driver.cuEventRecordWithFlags(event, stream, 0))?;
        call!(driver.cuStreamWaitEvent(stream, event, 0))?;
        call!(driver.cuStreamWaitEvent(stream, never, 0))?;
        assert!(stage.end(stream)?.nodes()?.is_empty());
    }

    fn operations_that_no_graph_can_have_invalidate_the_capture(driver) {
        let stage = Stage::new(driver)?;
        unsafe extern "C" fn called(_: warploom_testkit::sys::types::CUstream, _: CUresult, _: *mut c_void) {}
        let (memory, context) = (stage.memory, stage.primary.context);
        let mut managed = 0;
        call!(driver.cuMemAllocManaged(&mut managed, 1 << 21, 1))?;
        let mut id = 0;
        for case in 0..5 {
            let stream = stage.captured(RELAXED)?;
            match case {
                0 => answers!(
                    driver.cuStreamAddCallback(stream, Some(called), null_mut(), 0),
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                ),
                1 => answers!(
                    driver.cuStreamAttachMemAsync(stream, managed, 0, 4),
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                ),
                2 => answers!(
                    driver.cuMemPrefetchAsync(managed, 1 << 16, 0, stream),
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                ),
                3 => answers!(
                    driver.cuMemcpyPeerAsync(memory, context, memory + 4096, context, 64, stream),
                    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                ),
                _ => answers!(driver.cuStreamGetId(stream, &mut id), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
            }
            assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "{case}");
        }
        call!(driver.cuMemFree_v2(managed))?;
    }

    fn a_batch_of_copies_is_refused_and_spoils_nothing(driver) {
        let stage = Stage::new(driver)?;
        let (stream, memory) = (stage.captured(LOCAL)?, stage.memory);
        let (mut to, mut from) = ([memory, memory + 4096], [memory + 8192, memory + 16384]);
        let (mut sizes, mut starts) = ([64_usize; 2], [0_usize]);
        let mut attributes = warploom_testkit::sys::types::CUmemcpyAttributes {
            srcAccessOrder: warploom_testkit::sys::types::CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
            ..zeroed()
        };
        answers!(
            driver.cuMemcpyBatchAsync_v2(
                to.as_mut_ptr(),
                from.as_mut_ptr(),
                sizes.as_mut_ptr(),
                2,
                &mut attributes,
                starts.as_mut_ptr(),
                1,
                stream
            ),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        );
        assert_eq!(stage.status(stream)?, ACTIVE);
        assert_eq!(stage.end(stream)?.kinds()?, [FILL]);
    }

    fn a_launch_that_is_refused_invalidates_the_capture(driver) {
        let stage = Stage::new(driver)?;
        let (mut module, mut function) = (null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, NOTHING.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()))?;
        let stream = stage.captured(LOCAL)?;
        answers!(
            driver.cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        assert_eq!(stage.status(stream)?, NONE);
        call!(driver.cuModuleUnload(module))?;
    }

    fn the_synchronous_copies_of_a_captured_per_thread_stream_are_refused(driver) {
        // They have no stream to name, and go to the legacy one here, which a per-thread stream blocks.
        let stage = Stage::new(driver)?;
        let stream = std::ptr::without_provenance_mut(2);
        stage.begin(stream, RELAXED)?;
        let byte = [0_u8];
        answers!(
            driver.cuMemcpyHtoD_v2(stage.memory, byte.as_ptr().cast(), 1),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        );
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
}

fn zeroed<T>() -> T {
    // SAFETY: only used for C structures of numbers and pointers, for which zeros are values.
    unsafe { std::mem::zeroed() }
}
