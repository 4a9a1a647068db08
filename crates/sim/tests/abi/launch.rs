//! Launches of CUDA 2.0: configuration and arguments set call by call.

use std::ptr::{null, null_mut};

use warploom_sim::Mode;
use warploom_sim::topology::Topology;
use warploom_testkit::driver::Driver;
use warploom_testkit::sys::types::{
    CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute, CUlibrary, CUsharedconfig, CUstreamCaptureMode,
};
use warploom_testkit::{TestResult, answers, call, driver_tests, open};

use crate::support::Rig;

const CACHE: CUfunc_cache = CUfunc_cache::CU_FUNC_CACHE_PREFER_NONE;
const BANKS: CUsharedconfig = CUsharedconfig::CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;

/// The function that writes its configuration, with an address to write to and a second argument.
fn prepared(rig: &Rig<'_>, value: u32) -> TestResult<CUfunction> {
    let (driver, function, mut out) = (rig.driver, rig.function(c"shape")?, rig.out);
    call!(driver.cuParamSetv(function, 0, (&raw mut out).cast(), size_of::<CUdeviceptr>() as u32))?;
    call!(driver.cuParamSeti(function, 8, value))?;
    Ok(function)
}

/// The code of a launch with a number of bytes of arguments, and the words it wrote.
fn with_size(driver: &Driver, size: u32) -> TestResult<(i32, [u32; 8])> {
    let rig = Rig::new(driver)?;
    let function = prepared(&rig, 77)?;
    call!(driver.cuParamSetSize(function, size))?;
    let code = call!(driver.cuLaunch(function)).err().and_then(|error| error.code()).map_or(0, |code| code.0 as i32);
    let words = rig.take()?;
    rig.close()?;
    Ok((code, words))
}

driver_tests! {
    fn a_launch_uses_the_state_that_was_set_before(driver) {
        let rig = Rig::new(driver)?;
        let function = prepared(&rig, 77)?;
        call!(driver.cuParamSetSize(function, 12))?;
        call!(driver.cuLaunch(function))?;
        assert_eq!(rig.take()?, [1, 1, 1, 1, 1, 1, 0, 77], "one thread, unless something else is set");
        call!(driver.cuFuncSetBlockShape(function, 2, 3, 4))?;
        call!(driver.cuFuncSetSharedSize(function, 100))?;
        call!(driver.cuLaunchGrid(function, 5, 6))?;
        assert_eq!(rig.take()?, [2, 3, 4, 5, 6, 1, 100, 77]);
        call!(driver.cuLaunch(function))?;
        assert_eq!(rig.take()?, [2, 3, 4, 1, 1, 1, 100, 77], "the state stays");
        let mut stream = null_mut();
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuParamSetf(function, 8, 1.5))?;
        call!(driver.cuLaunchGridAsync(function, 7, 1, stream))?;
        assert_eq!(rig.take()?, [2, 3, 4, 7, 1, 1, 100, 1.5f32.to_bits()]);
        call!(driver.cuStreamDestroy_v2(stream))?;
        rig.close()?;
    }

    fn arguments_beyond_the_size_are_zero(driver) {
        assert_eq!(with_size(driver, 0)?, (0, [0; 8]), "the address is null");
        assert_eq!(with_size(driver, 8)?, (0, [1, 1, 1, 1, 1, 1, 0, 0]));
        assert_eq!(with_size(driver, 9)?, (0, [1, 1, 1, 1, 1, 1, 0, 77]), "sizes are rounded up to 4");
        assert_eq!(with_size(driver, 13)?, (701, [0; 8]), "more than the kernel takes");
        let rig = Rig::new(driver)?;
        let function = prepared(&rig, 77)?;
        call!(driver.cuLaunch(function))?;
        assert_eq!(rig.take()?, [0; 8], "the size is 0 unless it is set");
        call!(driver.cuParamSetSize(function, 12))?;
        call!(driver.cuLaunch(function))?;
        assert_eq!(rig.take()?, [1, 1, 1, 1, 1, 1, 0, 77], "they are kept meanwhile");
        rig.close()?;
    }

    fn other_launches_replace_the_state(driver) {
        let rig = Rig::new(driver)?;
        let function = prepared(&rig, 77)?;
        call!(driver.cuParamSetSize(function, 12))?;
        let (mut out, mut value) = (rig.out, 5u32);
        let mut arguments = [(&raw mut out).cast(), (&raw mut value).cast()];
        let arguments = arguments.as_mut_ptr();
        call!(driver.cuLaunchKernel(function, 1, 1, 1, 7, 1, 1, 8, null_mut(), arguments, null_mut()))?;
        rig.take()?;
        call!(driver.cuLaunchGrid(function, 2, 1))?;
        assert_eq!(rig.take()?, [7, 1, 1, 2, 1, 1, 8, 5]);
        rig.close()?;
    }

    fn a_configuration_beyond_the_limits_is_refused_when_it_is_set(driver) {
        let rig = Rig::new(driver)?;
        let (function, narrow) = (rig.function(c"shape")?, rig.function(c"none")?);
        for [x, y, z] in [[0, 1, 1], [1, 0, 1], [1, 1, 0], [-1, 1, 1], [1025, 1, 1], [32, 33, 1], [1, 1, 65]] {
            answers!(driver.cuFuncSetBlockShape(function, x, y, z), CUDA_ERROR_INVALID_VALUE);
        }
        call!(driver.cuFuncSetBlockShape(function, 32, 32, 1))?;
        call!(driver.cuFuncSetBlockShape(narrow, 64, 1, 1))?;
        answers!(driver.cuFuncSetBlockShape(narrow, 65, 1, 1), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuFuncSetSharedSize(function, 48 << 10))?;
        answers!(driver.cuFuncSetSharedSize(function, (48 << 10) + 1), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuParamSetSize(function, 32764))?;
        answers!(driver.cuParamSetSize(function, 32765), CUDA_ERROR_INVALID_VALUE);
        call!(driver.cuParamSetSize(function, u32::MAX))?;
        for [width, height] in [[0, 1], [1, 0], [-1, 1], [1, -1], [1, 65536]] {
            answers!(driver.cuLaunchGrid(narrow, width, height), CUDA_ERROR_INVALID_VALUE);
        }
        rig.close()?;
    }

    fn arguments_end_where_the_driver_ends_them(driver) {
        let rig = Rig::new(driver)?;
        let function = rig.function(c"shape")?;
        for offset in [0, 1, 13, 32760] {
            call!(driver.cuParamSeti(function, offset, 5))?;
            call!(driver.cuParamSetf(function, offset, 5.0))?;
        }
        for offset in [32761, 32764, 65536] {
            answers!(driver.cuParamSeti(function, offset, 5), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuParamSetf(function, offset, 5.0), CUDA_ERROR_INVALID_VALUE);
        }
        let mut bytes = vec![0u8; 32765];
        let bytes = bytes.as_mut_ptr();
        for (offset, size) in [(0, 0), (15, 2), (32764, 0), (0, 32764)] {
            call!(driver.cuParamSetv(function, offset, bytes.cast(), size))?;
        }
        for (offset, size) in [(32763, 1), (32764, 1), (0, 32765), (1, 32764)] {
            answers!(driver.cuParamSetv(function, offset, bytes.cast(), size), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuParamSetv(function, 0, null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        rig.close()?;
    }

    sim fn a_negative_offset_is_refused(driver) {
        let rig = Rig::new(driver)?;
        let (function, mut bytes) = (rig.function(c"shape")?, [0u8; 4]);
        answers!(driver.cuParamSeti(function, -4, 5), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuParamSetv(function, -4, bytes.as_mut_ptr().cast(), 4), CUDA_ERROR_INVALID_VALUE);
        rig.close()?;
    }

    fn the_functions_context_must_be_current(driver) {
        let rig = Rig::new(driver)?;
        let function = rig.function(c"none")?;
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        answers!(driver.cuFuncSetBlockShape(function, 1, 1, 1), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuFuncSetSharedSize(function, 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuParamSetSize(function, 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuParamSeti(function, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuLaunch(function), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuLaunchGrid(function, 1, 1), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuFuncSetCacheConfig(function, CACHE))?;
        call!(driver.cuFuncSetSharedMemConfig(function, BANKS))?;
        let mut other = null_mut();
        call!(driver.cuCtxCreate_v2(&mut other, 0, 0))?;
        answers!(driver.cuFuncSetBlockShape(function, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE);
        answers!(driver.cuLaunch(function), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuFuncSetSharedMemConfig(function, BANKS))?;
        call!(driver.cuCtxDestroy_v2(other))?;
        call!(driver.cuCtxSetCurrent(rig.context))?;
        rig.close()?;
    }

    fn a_kernel_of_a_library_is_launched_as_a_function(driver) {
        let rig = Rig::new(driver)?;
        let (library, kernel) = library_kernel(driver)?;
        let (mut value, attribute) = (0, CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
        answers!(driver.cuFuncSetAttribute(kernel, attribute, 0), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), null_mut()))?;
        call!(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut value, kernel, 32, 0))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuLibraryUnload(library))?;
        rig.close()?;
    }

    fn a_relaxed_capture_lets_such_launches_run(driver) {
        let rig = Rig::new(driver)?;
        let function = prepared(&rig, 9)?;
        call!(driver.cuParamSetSize(function, 12))?;
        let (mut stream, mut graph, mut nodes) = (null_mut(), null_mut(), 0);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))?;
        call!(driver.cuFuncSetBlockShape(function, 3, 1, 1))?;
        answers!(driver.cuLaunchGridAsync(function, 2, 1, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        answers!(driver.cuStreamEndCapture(stream, &mut graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        call!(driver.cuStreamBeginCapture_v2(stream, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED))?;
        call!(driver.cuLaunchGridAsync(function, 2, 1, stream))?;
        call!(driver.cuStreamEndCapture(stream, &mut graph))?;
        call!(driver.cuGraphGetNodes(graph, null_mut(), &mut nodes))?;
        assert_eq!((nodes, rig.take()?), (0, [3, 1, 1, 2, 1, 1, 0, 9]), "no node: it ran");
        call!(driver.cuGraphDestroy(graph))?;
        call!(driver.cuStreamDestroy_v2(stream))?;
        rig.close()?;
    }
}

/// A library, and a kernel of it as a function.
fn library_kernel(driver: &Driver) -> TestResult<(CUlibrary, CUfunction)> {
    let (mut library, mut kernel) = (null_mut(), null_mut());
    let text = crate::support::TEXT.as_ptr().cast();
    call!(driver.cuLibraryLoadData(&mut library, text, null_mut(), null_mut(), 0, null_mut(), null_mut(), 0))?;
    call!(driver.cuLibraryGetKernel(&mut kernel, library, c"none".as_ptr()))?;
    Ok((library, kernel.cast()))
}

/// Some of these crash an H200's driver; they are refused here.
#[test]
fn a_kernel_of_a_library_is_no_function() -> TestResult {
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let rig = Rig::new(driver)?;
    let (library, kernel) = library_kernel(driver)?;
    let (mut value, mut name, mut module) = (0, null(), null_mut());
    answers!(driver.cuFuncSetBlockShape(kernel, 1, 1, 1), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuLaunch(kernel), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuFuncSetSharedMemConfig(kernel, BANKS), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuFuncSetCacheConfig(kernel, CACHE), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuFuncGetAttribute(&mut value, CUfunction_attribute(0), kernel), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuFuncGetName(&mut name, kernel), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuFuncGetModule(&mut module, kernel), CUDA_ERROR_INVALID_HANDLE);
    answers!(driver.cuFuncLoad(kernel), CUDA_ERROR_INVALID_HANDLE);
    call!(driver.cuLibraryUnload(library))?;
    rig.close()?;
    Ok(())
}
