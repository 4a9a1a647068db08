//! One cooperative kernel on several devices: cuLaunchCooperativeKernelMultiDevice.

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_testkit::sys::types::{CUDA_LAUNCH_PARAMS, CUfunction, CUstream};
use warploom_testkit::{ASYNCHRONOUS, Primary, TestResult, answers, call, driver_tests, open};

use crate::support::{Rig, TEXT, zero};

fn params(function: CUfunction, stream: CUstream, arguments: &mut [*mut c_void; 2]) -> CUDA_LAUNCH_PARAMS {
    CUDA_LAUNCH_PARAMS {
        function,
        gridDimX: 2,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 4,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream,
        kernelParams: arguments.as_mut_ptr(),
    }
}

driver_tests! {
    fn a_kernel_runs_on_a_list_of_one_device(driver) {
        let rig = Rig::new(driver)?;
        let (function, mut stream, mut out, mut value) = (rig.function(c"shape")?, null_mut(), rig.out, 3u32);
        call!(driver.cuStreamCreate(&mut stream, 1))?;
        let mut arguments = [(&raw mut out).cast(), (&raw mut value).cast()];
        let mut list = [params(function, stream, &mut arguments)];
        call!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 1, 0))?;
        assert_eq!(rig.take()?, [4, 1, 1, 2, 1, 1, 0, 3]);
        call!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 1, 3))?;
        assert_eq!(rig.take()?, [4, 1, 1, 2, 1, 1, 0, 3]);
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(null_mut(), 1, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 0, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 1, 4), CUDA_ERROR_INVALID_VALUE);
        list[0].gridDimX = 1_000_000;
        let too_large = call!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 1, 0));
        assert_eq!(too_large.err().and_then(|error| error.code()).map(|code| code.0), Some(720));
        list[0].gridDimX = 1;
        list[0].hStream = null_mut();
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 1, 0), CUDA_ERROR_INVALID_HANDLE);
        list[0] = params(null_mut(), stream, &mut arguments);
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 1, 0), CUDA_ERROR_INVALID_HANDLE);
        call!(driver.cuStreamDestroy_v2(stream))?;
        rig.close()?;
    }
}

#[test]
fn kernels_of_two_devices_wait_for_both_streams() -> TestResult {
    for &mode in ASYNCHRONOUS {
        let (_machine, driver) = open(Topology::preset("dgx-h100")?, mode)?;
        let driver = &driver;
        let (first, second) = (Primary::of(driver, 0)?, Primary::of(driver, 1)?);
        let (mut list, mut outs) = (Vec::new(), [0; 2]);
        let mut streams = [null_mut(); 2];
        let mut arguments = [[null_mut(); 2]; 2];
        let mut value = 6u32;
        for (index, device) in [&first, &second].into_iter().enumerate() {
            call!(driver.cuCtxSetCurrent(device.context))?;
            let (mut module, mut function) = (null_mut(), null_mut());
            call!(driver.cuModuleLoadData(&mut module, TEXT.as_ptr().cast()))?;
            call!(driver.cuModuleGetFunction(&mut function, module, c"shape".as_ptr()))?;
            call!(driver.cuMemAlloc_v2(&mut outs[index], 32))?;
            zero(driver, outs[index])?;
            call!(driver.cuStreamCreate(&mut streams[index], 1))?;
            arguments[index] = [(&raw mut outs[index]).cast(), (&raw mut value).cast()];
            list.push(params(function, streams[index], &mut arguments[index]));
        }
        call!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 2, 0))?;
        // Waiting for one stream is enough: later work waits for the kernels of all.
        call!(driver.cuStreamSynchronize(streams[0]))?;
        call!(driver.cuStreamQuery(streams[1]))?;
        for out in outs {
            let mut words = [0u32; 8];
            call!(driver.cuMemcpyDtoH_v2(words.as_mut_ptr().cast(), out, 32))?;
            assert_eq!(words, [4, 1, 1, 2, 1, 1, 0, 6], "{mode:?}");
        }
        list[1].gridDimX = 1;
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 2, 0), CUDA_ERROR_INVALID_VALUE);
        list[1] = CUDA_LAUNCH_PARAMS { ..list[0] };
        answers!(driver.cuLaunchCooperativeKernelMultiDevice(list.as_mut_ptr(), 2, 0), CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}
