//! Settings of a context: limits, flags, preferences.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sim::Mode;
use warploom_sim::topology::{DeviceModel, Topology};
use warploom_sys::types::{
    CUexecAffinityParam, CUexecAffinityParam_st__bindgen_ty_1, CUexecAffinitySmCount, CUexecAffinityType, CUfunc_cache,
    CUlimit, CUsharedconfig,
};
use warploom_testkit::{Primary, TestResult, answers, call, driver_tests, open};

fn limit(driver: &Driver, limit: CUlimit) -> TestResult<usize> {
    let mut value = 0;
    call!(driver.cuCtxGetLimit(&mut value, limit))?;
    Ok(value)
}

/// Sets limits one after another, and compares what each becomes.
fn becomes(driver: &Driver, which: CUlimit, pairs: &[(usize, usize)]) -> TestResult {
    for (asked, got) in pairs {
        call!(driver.cuCtxSetLimit(which, *asked))?;
        assert_eq!(limit(driver, which)?, *got, "{which:?} set to {asked}");
    }
    Ok(())
}

driver_tests! {
    fn limits_start_with_what_an_h200_has(driver) {
        let primary = Primary::of(driver, 0)?;
        for (which, value) in [
            (CUlimit::CU_LIMIT_STACK_SIZE, 1024),
            (CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE, 8_650_752),
            (CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20),
            (CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048),
            (CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64),
            (CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 11_796_480),
            (CUlimit::CU_LIMIT_SHMEM_SIZE, 232_448),
            (CUlimit::CU_LIMIT_CIG_ENABLED, 0),
        ] {
            assert_eq!(limit(driver, which)?, value, "{which:?}");
        }
        drop(primary);
    }

    fn limits_are_rounded_and_clamped(driver) {
        let primary = Primary::of(driver, 0)?;
        // A request that does not change the size of stacks is remembered as it was made.
        let stacks = [(0, 0), (1, 16), (15, 15), (16, 16), (17, 32), (1000, 1008), (4096, 4096), (1024, 1024)];
        becomes(driver, CUlimit::CU_LIMIT_STACK_SIZE, &stacks)?;
        let buffers = [(0, 524_288), (1 << 20, 1 << 20), ((8 << 20) + 1, 8_388_864), (8_650_752, 8_650_752)];
        becomes(driver, CUlimit::CU_LIMIT_PRINTF_FIFO_SIZE, &buffers)?;
        let heaps = [(0, 4 << 20), (3 << 20, 4 << 20), ((8 << 20) + 1, 8_454_144), (8 << 20, 8 << 20)];
        becomes(driver, CUlimit::CU_LIMIT_MALLOC_HEAP_SIZE, &heaps)?;
        let launches = [(0, 32), (17, 32), (33, 33), (100_000, 100_000), (1 << 20, 599_186), (2048, 2048)];
        becomes(driver, CUlimit::CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, &launches)?;
        becomes(driver, CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY, &[(0, 0), (17, 17), (128, 128), (64, 64)])?;
        let lines = [(0, 0), (1, 3_932_160), (8_388_609, 11_796_480)];
        becomes(driver, CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, &lines)?;
        drop(primary);
    }

    fn a_limit_beyond_the_device_is_refused_and_changes_nothing(driver) {
        let primary = Primary::of(driver, 0)?;
        for (which, value) in [
            (CUlimit::CU_LIMIT_STACK_SIZE, 524_288),
            (CUlimit::CU_LIMIT_STACK_SIZE, 1 << 30),
            (CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 129),
            (CUlimit::CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 40 << 20),
        ] {
            let before = limit(driver, which)?;
            answers!(driver.cuCtxSetLimit(which, value), CUDA_ERROR_INVALID_VALUE);
            assert_eq!(limit(driver, which)?, before);
        }
        drop(primary);
    }

    fn large_stacks_are_taken_from_the_device(driver) {
        let primary = Primary::of(driver, 0)?;
        let (mut before, mut after, mut total) = (0, 0, 0);
        call!(driver.cuMemGetInfo_v2(&mut before, &mut total))?;
        call!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_STACK_SIZE, 65_536))?;
        call!(driver.cuMemGetInfo_v2(&mut after, &mut total))?;
        // For each of 2048 threads on each of 132 multiprocessors.
        assert!(before - after > 60_000 * 2048 * 132, "{before} {after}");
        drop(primary);
        let primary = Primary::of(driver, 0)?;
        call!(driver.cuMemGetInfo_v2(&mut after, &mut total))?;
        assert!(after + (1 << 30) > before, "the context's end gives them back: {before} {after}");
        drop(primary);
    }

    fn some_limits_cannot_be_set_and_some_are_not_there(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut value = 77;
        for which in [CUlimit::CU_LIMIT_SHMEM_SIZE, CUlimit::CU_LIMIT_CIG_ENABLED] {
            answers!(driver.cuCtxSetLimit(which, 0), CUDA_ERROR_NOT_PERMITTED);
        }
        for which in [CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, CUlimit::CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED] {
            answers!(driver.cuCtxSetLimit(which, 1), CUDA_ERROR_UNSUPPORTED_LIMIT);
            answers!(driver.cuCtxGetLimit(&mut value, which), CUDA_ERROR_UNSUPPORTED_LIMIT);
        }
        for which in [10, 11, 12, 99, u32::MAX] {
            answers!(driver.cuCtxSetLimit(CUlimit(which), 0), CUDA_ERROR_INVALID_VALUE);
            answers!(driver.cuCtxGetLimit(&mut value, CUlimit(which)), CUDA_ERROR_INVALID_VALUE);
        }
        assert_eq!(value, 77);
        answers!(driver.cuCtxGetLimit(null_mut(), CUlimit(0)), CUDA_ERROR_INVALID_VALUE);
        drop(primary);
    }

    fn flags_of_a_running_context_change_how_it_waits(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut flags = 0;
        for (asked, shown) in [
            (0, 8), (1, 9), (2, 10), (4, 12), (8, 8), (0x10, 24), (0x18, 24), (0x20, 8), (0x40, 8), (0x80, 136), (0, 8),
        ] {
            call!(driver.cuCtxSetFlags(asked))?;
            call!(driver.cuCtxGetFlags(&mut flags))?;
            assert_eq!(flags, shown, "{asked:#x}");
        }
        for bad in [3, 5, 7, 0x1f, 0x100] {
            answers!(driver.cuCtxSetFlags(bad), CUDA_ERROR_INVALID_VALUE);
        }
        answers!(driver.cuCtxGetFlags(null_mut()), CUDA_ERROR_INVALID_VALUE);
        drop(primary);
    }

    fn a_cache_preference_is_remembered(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut config = CUfunc_cache(77);
        call!(driver.cuCtxGetCacheConfig(&mut config))?;
        assert_eq!(config, CUfunc_cache(0));
        for preference in [3, 2, 1, 0] {
            call!(driver.cuCtxSetCacheConfig(CUfunc_cache(preference)))?;
            for bad in [4, 99, u32::MAX] {
                answers!(driver.cuCtxSetCacheConfig(CUfunc_cache(bad)), CUDA_ERROR_INVALID_VALUE);
            }
            call!(driver.cuCtxGetCacheConfig(&mut config))?;
            assert_eq!(config, CUfunc_cache(preference));
        }
        answers!(driver.cuCtxGetCacheConfig(null_mut()), CUDA_ERROR_INVALID_VALUE);
        drop(primary);
    }

    fn banks_stay_four_bytes_wide(driver) {
        let primary = Primary::of(driver, 0)?;
        for size in [0, 1, 2] {
            call!(driver.cuCtxSetSharedMemConfig(CUsharedconfig(size)))?;
            let mut config = CUsharedconfig(77);
            call!(driver.cuCtxGetSharedMemConfig(&mut config))?;
            assert_eq!(config, CUsharedconfig::CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
        }
        answers!(driver.cuCtxSetSharedMemConfig(CUsharedconfig(3)), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxGetSharedMemConfig(null_mut()), CUDA_ERROR_INVALID_VALUE);
        drop(primary);
    }

    fn either_end_of_the_priority_range_may_be_null(driver) {
        let primary = Primary::of(driver, 0)?;
        let (mut least, mut greatest) = (77, 77);
        call!(driver.cuCtxGetStreamPriorityRange(&mut least, null_mut()))?;
        call!(driver.cuCtxGetStreamPriorityRange(null_mut(), &mut greatest))?;
        assert_eq!((least, greatest), (0, -5));
        answers!(driver.cuCtxGetStreamPriorityRange(null_mut(), null_mut()), CUDA_SUCCESS);
        answers!(driver.cuCtxResetPersistingL2Cache(), CUDA_SUCCESS);
        drop(primary);
    }

    fn a_context_has_all_multiprocessors(driver) {
        let primary = Primary::of(driver, 0)?;
        let mut affinity = CUexecAffinityParam {
            type_: CUexecAffinityType(77),
            param: CUexecAffinityParam_st__bindgen_ty_1 { smCount: CUexecAffinitySmCount { val: 77 } },
        };
        call!(driver.cuCtxGetExecAffinity(&mut affinity, CUexecAffinityType(0)))?;
        assert_eq!(affinity.type_, CUexecAffinityType(0));
        // SAFETY: the only member, and the driver wrote it.
        #[expect(unsafe_code, reason = "reads a C union")]
        let count = unsafe { affinity.param.smCount.val };
        assert_eq!(count, 132);
        for kind in [1, u32::MAX] {
            answers!(
                driver.cuCtxGetExecAffinity(&mut affinity, CUexecAffinityType(kind)),
                CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY
            );
        }
        answers!(driver.cuCtxGetExecAffinity(null_mut(), CUexecAffinityType(0)), CUDA_ERROR_INVALID_VALUE);
        drop(primary);
    }

    fn a_context_is_no_peer_of_its_own_device(driver) {
        let primary = Primary::of(driver, 0)?;
        answers!(driver.cuCtxEnablePeerAccess(primary.context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        answers!(driver.cuCtxEnablePeerAccess(primary.context, 1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxEnablePeerAccess(null_mut(), 0), CUDA_ERROR_INVALID_CONTEXT);
        answers!(driver.cuCtxDisablePeerAccess(primary.context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        answers!(driver.cuCtxDisablePeerAccess(null_mut()), CUDA_ERROR_INVALID_CONTEXT);
        let mut other = null_mut();
        call!(driver.cuCtxCreate_v2(&mut other, 0, 0))?;
        answers!(driver.cuCtxEnablePeerAccess(primary.context, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
        answers!(driver.cuCtxDisablePeerAccess(primary.context), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
        call!(driver.cuCtxDestroy_v2(other))?;
        drop(primary);
    }
}

#[test]
fn older_devices_wait_on_the_device_and_older_drivers_know_fewer_limits() -> TestResult {
    let topology = Topology::builder().device(DeviceModel::A100).driver_version(12, 2).build()?;
    let (_machine, driver) = open(topology, Mode::Sync)?;
    let primary = Primary::of(&driver, 0)?;
    assert_eq!(limit(&driver, CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH)?, 2);
    becomes(&driver, CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, &[(24, 24)])?;
    answers!(driver.cuCtxSetLimit(CUlimit::CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 25), CUDA_ERROR_INVALID_VALUE);
    let mut value = 0;
    answers!(driver.cuCtxGetLimit(&mut value, CUlimit::CU_LIMIT_SHMEM_SIZE), CUDA_ERROR_INVALID_VALUE);
    drop(primary);
    Ok(())
}
