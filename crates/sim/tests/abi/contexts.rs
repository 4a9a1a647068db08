//! Contexts, memory, streams and events in superseded ABIs.

use std::ffi::c_uint;
use std::ptr::null_mut;

use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{answers, call, code_of, driver_tests};

use crate::support::Rig;

driver_tests! {
    fn an_old_context_is_of_an_older_version_and_refuses_wide_addresses(driver) {
        let (mut context, mut version, mut address, mut stream) = (null_mut(), 0, 0, null_mut());
        call!(driver.cuCtxCreate(&mut context, 0, 0))?;
        call!(driver.cuCtxGetApiVersion(context, &mut version))?;
        assert_eq!(version, 3010);
        answers!(driver.cuMemAlloc_v2(&mut address, 64), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemFree_v2(0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemsetD8_v2(0, 0, 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemcpyAsync(0, 0, 0, null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuStreamCreate(&mut stream, 0))?;
        call!(driver.cuStreamDestroy(stream))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuCtxDestroy(context))?;
        // Once more, an H200 answers CONTEXT_IS_DESTROYED or INVALID_CONTEXT, depending on what the process
        // did before.
        let again = code_of(call!(driver.cuCtxDestroy(context)));
        assert!([CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED, CUresult::CUDA_ERROR_INVALID_CONTEXT].contains(&again), "{again}");
        answers!(driver.cuCtxCreate(null_mut(), 0, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxCreate(&mut context, 0, 99), CUDA_ERROR_INVALID_DEVICE);
    }

    fn functions_of_narrow_addresses_need_an_old_context(driver) {
        let rig = Rig::new(driver)?;
        let (mut address, mut bytes): (c_uint, c_uint) = (0, 0);
        answers!(driver.cuMemAlloc(&mut address, 64), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemGetInfo(&mut address, &mut bytes), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemFree(0x1000), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemcpyDtoD(0x1000, 0x2000, 16), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuMemsetD8(0x1000, 0, 16), CUDA_ERROR_INVALID_CONTEXT);
        rig.close()?;
    }

    fn a_context_is_pushed_once_by_the_old_function(driver) {
        let (mut context, mut popped) = (null_mut(), null_mut());
        call!(driver.cuCtxCreate_v2(&mut context, 0, 0))?;
        answers!(driver.cuCtxPushCurrent(context), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuCtxPopCurrent(&mut popped))?;
        assert_eq!(popped, context);
        answers!(driver.cuCtxPopCurrent(&mut popped), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuCtxPushCurrent(context))?;
        call!(driver.cuCtxPopCurrent(null_mut()))?;
        call!(driver.cuCtxDestroy_v2(context))?;
    }

    fn the_old_functions_of_primary_contexts_differ(driver) {
        let (mut context, mut flags, mut active) = (null_mut(), 0, 0);
        call!(driver.cuDevicePrimaryCtxRelease(0))?;
        answers!(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
        call!(driver.cuDevicePrimaryCtxSetFlags(0, 4))?;
        call!(driver.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
        assert_eq!((flags, active), (4, 0));
        call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
        answers!(driver.cuDevicePrimaryCtxSetFlags(0, 1), CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE);
        call!(driver.cuDevicePrimaryCtxReset(0))?;
        call!(driver.cuDevicePrimaryCtxRelease(0))?;
        call!(driver.cuDevicePrimaryCtxRelease(0))?;
        answers!(driver.cuDevicePrimaryCtxRelease(99), CUDA_ERROR_INVALID_DEVICE);
    }

    fn events_memory_and_linkers_work_under_their_old_names(driver) {
        let rig = Rig::new(driver)?;
        let (mut event, mut link, mut bytes) = (null_mut(), null_mut(), 0);
        call!(driver.cuEventCreate(&mut event, 0))?;
        call!(driver.cuEventDestroy(event))?;
        call!(driver.cuLinkCreate(0, null_mut(), null_mut(), &mut link))?;
        call!(driver.cuLinkDestroy(link))?;
        call!(driver.cuDeviceTotalMem(&mut bytes, 0))?;
        let mut all = 0;
        call!(driver.cuDeviceTotalMem_v2(&mut all, 0))?;
        assert_eq!(bytes, c_uint::try_from(all).unwrap_or(c_uint::MAX));
        let mut page = vec![0u8; 8192];
        let start = page.as_mut_ptr().wrapping_add(page.as_ptr().align_offset(4096));
        call!(driver.cuMemHostRegister(start.cast(), 4096, 0))?;
        call!(driver.cuMemHostUnregister(start.cast()))?;
        rig.close()?;
    }
}
