//! Primary contexts: one per device, shared by everyone who retains it.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sys::types::CUcontext;
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests};

/// Flags and whether it is active.
fn state(driver: &Driver) -> TestResult<(u32, bool)> {
    let (mut flags, mut active) = (77, 77);
    call!(driver.cuDevicePrimaryCtxGetState(0, &mut flags, &mut active))?;
    Ok((flags, active != 0))
}

fn retain(driver: &Driver) -> TestResult<CUcontext> {
    let mut context = null_mut();
    call!(driver.cuDevicePrimaryCtxRetain(&mut context, 0))?;
    Ok(context)
}

fn id(driver: &Driver, context: CUcontext) -> TestResult<u64> {
    let mut id = 0;
    call!(driver.cuCtxGetId(context, &mut id))?;
    Ok(id)
}

driver_tests! {
    fn the_first_retain_activates_and_the_last_release_ends(driver) {
        assert_eq!(state(driver)?, (0, false));
        let first = retain(driver)?;
        let mut current = first;
        call!(driver.cuCtxGetCurrent(&mut current))?;
        assert!(current.is_null(), "a retain makes nothing current");
        assert_eq!(retain(driver)?, first);
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        assert_eq!(state(driver)?, (0, true));
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        assert_eq!(state(driver)?, (0, false));
        answers!(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    }

    fn a_released_context_comes_back_under_its_handle_with_a_new_number(driver) {
        let first = retain(driver)?;
        call!(driver.cuCtxSetCurrent(first))?;
        let before = id(driver, first)?;
        assert_eq!(id(driver, null_mut())?, before);
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;

        let (mut current, mut device, mut flags, mut number) = (null_mut(), 77, 77, 77);
        call!(driver.cuCtxGetCurrent(&mut current))?;
        assert_eq!(current, first, "it stays current");
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        answers!(driver.cuCtxGetId(first, &mut number), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        assert_eq!(number, 77);
        call!(driver.cuCtxGetDevice(&mut device))?;
        call!(driver.cuCtxGetFlags(&mut flags))?;
        assert_eq!((device, flags), (0, 0));
        answers!(driver.cuCtxSetCurrent(first), CUDA_SUCCESS);

        assert_eq!(retain(driver)?, first);
        assert!(id(driver, first)? > before);
        answers!(driver.cuCtxSynchronize(), CUDA_SUCCESS);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
    }

    fn the_last_release_frees_what_lived_in_the_context(driver) {
        let mut memory = 0;
        let primary = Primary::of(driver, 0)?;
        call!(driver.cuMemAlloc_v2(&mut memory, 4096))?;
        drop(primary);
        let primary = Primary::of(driver, 0)?;
        answers!(driver.cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
        drop(primary);
    }

    fn a_reset_ends_the_context_although_it_is_retained(driver) {
        answers!(driver.cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        let context = retain(driver)?;
        call!(driver.cuCtxSetCurrent(context))?;
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        assert_eq!(state(driver)?, (0, false));
        let mut current = null_mut();
        call!(driver.cuCtxGetCurrent(&mut current))?;
        assert_eq!(current, context);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
        call!(driver.cuCtxSetCurrent(null_mut()))?;
        assert_eq!(retain(driver)?, context);
        // Once for the retain before the reset, once for the one behind it.
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        assert_eq!(state(driver)?, (0, false));
    }

    fn a_reset_context_is_still_to_be_released_as_often_as_it_was_retained(driver) {
        retain(driver)?;
        retain(driver)?;
        call!(driver.cuDevicePrimaryCtxReset_v2(0))?;
        for _ in 0..2 {
            assert_eq!(state(driver)?, (0, false));
            call!(driver.cuDevicePrimaryCtxRelease_v2(0))?;
        }
        answers!(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_INVALID_CONTEXT);
    }

    fn flags_last_until_the_last_release(driver) {
        for flags in [0, 1, 2, 4, 0x10, 0x20, 0x40, 0x80] {
            call!(driver.cuDevicePrimaryCtxSetFlags_v2(0, flags))?;
            assert_eq!(state(driver)?, (flags, false));
            for bad in [3, 5, 6, 7, 8, 0x18, 0xff, 0x100, u32::MAX] {
                answers!(driver.cuDevicePrimaryCtxSetFlags_v2(0, bad), CUDA_ERROR_INVALID_VALUE);
            }
            assert_eq!(state(driver)?, (flags, false));
        }
        call!(driver.cuDevicePrimaryCtxSetFlags_v2(0, 4))?;
        let primary = Primary::of(driver, 0)?;
        let mut shown = 0;
        for flags in [4, 0, 1, 2, 0x10] {
            call!(driver.cuDevicePrimaryCtxSetFlags_v2(0, flags))?;
            assert_eq!(state(driver)?, (flags, true));
            call!(driver.cuCtxGetFlags(&mut shown))?;
            assert_eq!(shown, flags | 8, "host memory is always mapped");
        }
        drop(primary);
        assert_eq!(state(driver)?, (0, false));
    }

    fn a_primary_context_is_not_destroyed_by_its_handle(driver) {
        let primary = Primary::of(driver, 0)?;
        answers!(driver.cuCtxDestroy_v2(primary.context), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxSynchronize(), CUDA_SUCCESS);
        drop(primary);
    }

    fn a_device_that_is_not_there_has_no_primary_context(driver) {
        for device in [-1, 99] {
            let (mut context, mut flags, mut active) = (null_mut(), 77, 77);
            answers!(driver.cuDevicePrimaryCtxRetain(&mut context, device), CUDA_ERROR_INVALID_DEVICE);
            answers!(driver.cuDevicePrimaryCtxRelease_v2(device), CUDA_ERROR_INVALID_DEVICE);
            answers!(driver.cuDevicePrimaryCtxReset_v2(device), CUDA_ERROR_INVALID_DEVICE);
            answers!(driver.cuDevicePrimaryCtxSetFlags_v2(device, 0), CUDA_ERROR_INVALID_DEVICE);
            answers!(
                driver.cuDevicePrimaryCtxGetState(device, &mut flags, &mut active),
                CUDA_ERROR_INVALID_DEVICE
            );
            assert!(context.is_null() && (flags, active) == (77, 77));
        }
        answers!(driver.cuDevicePrimaryCtxRetain(null_mut(), 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuDevicePrimaryCtxGetState(0, null_mut(), null_mut()), CUDA_ERROR_INVALID_VALUE);
    }
}
