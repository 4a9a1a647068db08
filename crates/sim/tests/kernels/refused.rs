//! Launches that are refused.

use std::ptr::null_mut;

use warploom_testkit::{Primary, answers, call, driver_tests};

use crate::arguments;
use crate::support::{Module, bounds, upload, vector};

driver_tests! {
    fn shapes_that_no_device_runs_are_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let (n, a) = (32_u32, upload(driver, &[1; 32])?);
        let mut arguments = arguments!(a, a, a, n);
        for ([gx, gy, gz], [bx, by, bz], shared) in [
            ([0, 1, 1], [32, 1, 1], 0),
            ([1, 1, 1], [32, 0, 1], 0),
            ([1, 70_000, 1], [32, 1, 1], 0),
            ([1, 1, 1], [1025, 1, 1], 0),
            ([1, 1, 1], [32, 33, 1], 0),
            ([1, 1, 1], [1, 1, 65], 0),
            ([1, 1, 1], [32, 1, 1], 60_000),
            ([1, 1, 1], [32, 1, 1], 1 << 20),
        ] {
            answers!(
                driver.cuLaunchKernel(
                    add, gx, gy, gz, bx, by, bz, shared, null_mut(), arguments.as_mut_ptr(), null_mut()
                ),
                CUDA_ERROR_INVALID_VALUE
            );
        }
        call!(driver.cuMemFree_v2(a))?;
    }

    fn a_list_of_extras_with_nothing_in_it_is_none(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let (n, a) = (32_u32, upload(driver, &[1; 32])?);
        let mut arguments = arguments!(a, a, a, n);
        let mut extra = [null_mut()];
        call!(driver.cuLaunchKernel(
            add, 1, 1, 1, 32, 1, 1, 0, null_mut(), arguments.as_mut_ptr(), extra.as_mut_ptr()
        ))?;
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuMemFree_v2(a))?;
    }

    fn bounds_that_a_kernel_declares_are_held_to(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &bounds())?;
        let bounded = module.function("bounded")?;
        let a = upload(driver, &[1; 256])?;
        let mut arguments = arguments!(a);
        answers!(
            driver.cuLaunchKernel(
                bounded, 1, 1, 1, 256, 1, 1, 0, null_mut(), arguments.as_mut_ptr(), null_mut()
            ),
            CUDA_ERROR_INVALID_VALUE
        );
        call!(driver.cuMemFree_v2(a))?;
    }

    sim fn a_launch_without_its_arguments_is_refused(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        answers!(
            driver.cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, null_mut(), null_mut(), null_mut()),
            CUDA_ERROR_INVALID_VALUE
        );
    }

    fn a_cooperative_launch_must_fit_the_device(driver) {
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &vector())?;
        let add = module.function("add_u32")?;
        let (n, a) = (32_u32, upload(driver, &[1; 32])?);
        let mut arguments = arguments!(a, a, a, n);
        answers!(
            driver.cuLaunchCooperativeKernel(
                add, 1_000_000, 1, 1, 1024, 1, 1, 0, null_mut(), arguments.as_mut_ptr()
            ),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
        );
        call!(driver.cuMemFree_v2(a))?;
    }
}
