//! Launching what was captured.
#![expect(unsafe_code, reason = "host functions have C's type, and C's structures are filled with zeros")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicU32, Ordering};

use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{CUgraph, CUgraphExec, CUresult};
use warploom_testkit::{TestResult, answers, call, driver_tests};

use crate::support::{INVALIDATED, LOCAL, RELAXED, Stage};

fn instantiate(driver: &Driver, graph: CUgraph) -> TestResult<CUgraphExec> {
    let mut executable = null_mut();
    call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
    Ok(executable)
}

unsafe extern "C" fn count(data: *mut c_void) {
    // SAFETY: the test's own counter, which it keeps until the stream is done.
    let counter = unsafe { &*data.cast::<AtomicU32>() };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Adds 1 to the word that its argument points to.
const INCREMENT: &std::ffi::CStr = c".version 7.0
.target sm_70
.address_size 64
.visible .entry increment(.param .u64 word)
{
    .reg .u64 %a;
    .reg .u32 %v;
    ld.param.u64 %a, [word];
    ld.global.u32 %v, [%a];
    add.u32 %v, %v, 1;
    st.global.u32 [%a], %v;
    ret;
}
";

driver_tests! {
    fn a_graph_does_its_work_as_often_as_it_is_launched(driver) {
        let stage = Stage::new(driver)?;
        let (stream, memory) = (stage.stream()?, stage.memory);
        let (mut module, mut function) = (null_mut(), null_mut());
        call!(driver.cuModuleLoadData(&mut module, INCREMENT.as_ptr().cast()))?;
        call!(driver.cuModuleGetFunction(&mut function, module, c"increment".as_ptr()))?;
        call!(driver.cuMemsetD32_v2(memory, 10, 1024))?;
        call!(driver.cuCtxSynchronize())?;
        let counter = AtomicU32::new(0);
        let data = (&raw const counter).cast_mut().cast();

        stage.begin(stream, LOCAL)?;
        let mut word = memory + 16;
        let mut arguments = [(&raw mut word).cast()];
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, arguments.as_mut_ptr(), null_mut()))?;
        call!(driver.cuMemcpyDtoDAsync_v2(memory + 64, word, 4, stream))?;
        call!(driver.cuMemsetD16Async(memory + 128, 3, 2, stream))?;
        call!(driver.cuLaunchHostFunc(stream, Some(count), data))?;
        let graph = stage.end(stream)?;
        // The argument was read when the launch was captured.
        word = 0;
        assert_eq!(word, 0);
        let executable = instantiate(driver, graph.raw)?;
        drop(graph);
        for _ in 0..3 {
            call!(driver.cuGraphLaunch(executable, stream))?;
        }
        call!(driver.cuStreamSynchronize(stream))?;
        let mut words = [0_u32; 33];
        call!(driver.cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), memory, 132))?;
        assert_eq!((words[4], words[16], words[32], words[0]), (13, 13, 0x0003_0003, 10));
        assert_eq!(counter.load(Ordering::Relaxed), 3);
        call!(driver.cuGraphExecDestroy(executable))?;
        call!(driver.cuModuleUnload(module))?;
    }

    fn forks_run_before_what_they_are_joined_to(driver) {
        let stage = Stage::new(driver)?;
        let (first, second, memory) = (stage.stream()?, stage.stream()?, stage.memory);
        stage.begin(first, LOCAL)?;
        call!(driver.cuMemsetD8Async(memory, 1, 64, first))?;
        stage.wait(second, first)?;
        call!(driver.cuMemsetD8Async(memory + 64, 2, 64, second))?;
        call!(driver.cuMemcpyDtoDAsync_v2(memory + 128, memory, 64, first))?;
        stage.wait(first, second)?;
        call!(driver.cuMemcpyDtoDAsync_v2(memory + 192, memory + 64, 64, first))?;
        let graph = stage.end(first)?;
        let executable = instantiate(driver, graph.raw)?;
        call!(driver.cuGraphUpload(executable, second))?;
        call!(driver.cuGraphLaunch(executable, second))?;
        call!(driver.cuStreamSynchronize(second))?;
        let mut bytes = [0_u8; 256];
        call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 256))?;
        assert_eq!([bytes[0], bytes[64], bytes[128], bytes[192]], [1, 2, 1, 2]);
        call!(driver.cuGraphExecDestroy(executable))?;
    }

    fn events_of_a_graph_are_recorded_when_it_is_launched(driver) {
        let stage = Stage::new(driver)?;
        let (stream, event) = (stage.stream()?, stage.event()?);
        stage.begin(stream, LOCAL)?;
        stage.fill(stream)?;
        call!(driver.cuEventRecordWithFlags(event, stream, 1))?;
        let graph = stage.end(stream)?;
        let executable = instantiate(driver, graph.raw)?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuEventSynchronize(event))?;
        call!(driver.cuStreamSynchronize(stream))?;
        call!(driver.cuGraphExecDestroy(executable))?;
    }

    fn an_empty_graph_can_be_launched(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut graph) = (stage.stream()?, null_mut());
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        let executable = instantiate(driver, graph)?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuGraphLaunch(executable, null_mut()))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuGraphExecDestroy(executable))?;
        call!(driver.cuGraphDestroy(graph))?;
    }

    fn bad_launches_are_refused(driver) {
        let stage = Stage::new(driver)?;
        let stream = stage.captured(LOCAL)?;
        let graph = stage.end(stream)?;
        let mut executable = null_mut();
        for flags in [2, 3, 5, 7, 16] {
            answers!(
                driver.cuGraphInstantiateWithFlags(&mut executable, graph.raw, flags),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        answers!(driver.cuGraphInstantiateWithFlags(null_mut(), graph.raw, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphInstantiateWithFlags(&mut executable, null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphLaunch(null_mut(), stream), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGraphExecDestroy(null_mut()), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuGraphInstantiateWithFlags(&mut executable, graph.raw, 0), CUDA_ERROR_INVALID_CONTEXT);
        stage.primary.make_current()?;
    }

    fn a_launch_cannot_be_captured_and_others_are_not_minded(driver) {
        let stage = Stage::new(driver)?;
        let (stream, other) = (stage.captured(LOCAL)?, stage.stream()?);
        let graph = stage.end(stream)?;
        let executable = instantiate(driver, graph.raw)?;
        stage.begin(stream, LOCAL)?;
        call!(driver.cuGraphLaunch(executable, other))?;
        let mut second = null_mut();
        stage.end(stream)?;
        stage.begin(stream, RELAXED)?;
        answers!(driver.cuGraphLaunch(executable, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        assert_eq!(stage.status(stream)?, INVALIDATED);
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        stage.begin(stream, LOCAL)?;
        answers!(
            driver.cuGraphInstantiateWithFlags(&mut second, graph.raw, 0),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
        );
        assert_eq!(stage.end_answers(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        call!(driver.cuStreamSynchronize(other))?;
        call!(driver.cuGraphExecDestroy(executable))?;
    }

    fn memory_that_a_graph_allocates_and_frees_is_there_in_every_launch(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut address) = (stage.stream()?, 0);
        stage.begin(stream, LOCAL)?;
        call!(driver.cuMemAllocAsync(&mut address, 4096, stream))?;
        call!(driver.cuMemsetD8Async(address, 9, 4096, stream))?;
        call!(driver.cuMemcpyDtoDAsync_v2(stage.memory, address, 4096, stream))?;
        call!(driver.cuMemFreeAsync(address, stream))?;
        let graph = stage.end(stream)?;
        let executable = instantiate(driver, graph.raw)?;
        for _ in 0..3 {
            call!(driver.cuMemsetD8Async(stage.memory, 0, 4096, stream))?;
            call!(driver.cuGraphLaunch(executable, stream))?;
            let mut bytes = vec![0u8; 4096];
            call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), stage.memory, 4096, stream))?;
            call!(driver.cuStreamSynchronize(stream))?;
            assert!(bytes.iter().all(|byte| *byte == 9));
        }
        call!(driver.cuGraphExecDestroy(executable))?;
    }

    fn memory_that_a_graph_does_not_free_stays_until_the_program_frees_it(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut address) = (stage.stream()?, 0);
        stage.begin(stream, LOCAL)?;
        call!(driver.cuMemAllocAsync(&mut address, 64, stream))?;
        call!(driver.cuMemsetD8Async(address, 5, 64, stream))?;
        let graph = stage.end(stream)?;
        let executable = instantiate(driver, graph.raw)?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        answers!(driver.cuGraphLaunch(executable, stream), CUDA_ERROR_INVALID_VALUE);
        let mut bytes = [0u8; 64];
        call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), address, 64, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        assert_eq!(bytes, [5; 64]);
        call!(driver.cuMemFreeAsync(address, stream))?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        call!(driver.cuMemFree_v2(address))?;
        call!(driver.cuGraphExecDestroy(executable))?;
    }

    fn a_launch_frees_what_the_one_before_left_if_it_is_told_to(driver) {
        let stage = Stage::new(driver)?;
        let (stream, mut address, mut executable) = (stage.stream()?, 0, null_mut());
        stage.begin(stream, LOCAL)?;
        call!(driver.cuMemAllocAsync(&mut address, 64, stream))?;
        let graph = stage.end(stream)?;
        call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph.raw, 1))?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuGraphLaunch(executable, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        call!(driver.cuMemFreeAsync(address, stream))?;
        call!(driver.cuStreamSynchronize(stream))?;
        call!(driver.cuGraphExecDestroy(executable))?;
    }
}
