//! Starting up, versions, names of codes, and finding functions.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use warploom_driver::Driver;
use warploom_sim::Machine;
use warploom_sys::Function;
use warploom_sys::types::{
    CUdriverProcAddressQueryResult as Query, CUflushGPUDirectRDMAWritesScope as Scope,
    CUflushGPUDirectRDMAWritesTarget as Target, CUmoduleLoadingMode, CUresult, CUuuid,
};
use warploom_testkit::{Primary, TestResult, answers, call, code_of, driver_tests};

const UNTOUCHED: *mut c_void = std::ptr::without_provenance_mut(0xabab_abab);

/// The pointer and the status that `cuGetProcAddress_v2` writes.
fn look_up(driver: &Driver, name: &CStr, version: i32, flags: u64) -> TestResult<(*mut c_void, Query)> {
    let (mut pointer, mut status) = (UNTOUCHED, Query(77));
    call!(driver.cuGetProcAddress_v2(name.as_ptr(), &mut pointer, version, flags, &mut status))?;
    Ok((pointer, status))
}

fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: a string that the driver keeps for the life of the process, or null.
    #[expect(unsafe_code, reason = "reads a C string")]
    let text = (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) });
    text.map(|text| text.to_string_lossy().into_owned())
}

driver_tests! {
    fn flags_of_init_must_be_zero(driver) {
        answers!(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuInit(u32::MAX), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuInit(0), CUDA_SUCCESS);
    }

    fn a_machine_has_devices(driver) {
        let mut count = 0;
        call!(driver.cuDeviceGetCount(&mut count))?;
        assert!(count >= 1);
        let primary = Primary::of(driver, 0);
        drop(primary);
    }

    fn a_code_has_a_name_and_a_text(driver) {
        for (code, name) in [(0, "CUDA_SUCCESS"), (1, "CUDA_ERROR_INVALID_VALUE"), (999, "CUDA_ERROR_UNKNOWN")] {
            let mut pointer = null();
            call!(driver.cuGetErrorName(CUresult(code), &mut pointer))?;
            assert_eq!(text(pointer).as_deref(), Some(name));
            call!(driver.cuGetErrorString(CUresult(code), &mut pointer))?;
            assert!(text(pointer).is_some_and(|text| !text.is_empty() && text != name));
        }
    }

    fn an_unknown_code_has_a_null_name(driver) {
        for code in [9, 99, 150, 998, 1000, u32::MAX] {
            let mut pointer = c"before".as_ptr();
            answers!(driver.cuGetErrorName(CUresult(code), &mut pointer), CUDA_ERROR_INVALID_VALUE);
            assert!(pointer.is_null());
            pointer = c"before".as_ptr();
            answers!(driver.cuGetErrorString(CUresult(code), &mut pointer), CUDA_ERROR_INVALID_VALUE);
            assert!(pointer.is_null());
        }
    }

    fn the_version_is_told_and_needs_somewhere_to_go(driver) {
        let mut version = 0;
        call!(driver.cuDriverGetVersion(&mut version))?;
        assert!(version >= 12000, "{version}");
        answers!(driver.cuDriverGetVersion(null_mut()), CUDA_ERROR_INVALID_VALUE);
    }

    fn a_version_chooses_the_abi(driver) {
        for (name, versions) in [
            (c"cuCtxCreate", &[3020, 11040, 12050][..]),
            (c"cuMemAdvise", &[8000, 12020]),
            (c"cuDeviceGetUuid", &[9020, 11040]),
            (c"cuEventElapsedTime", &[2000, 12080]),
        ] {
            let mut seen = Vec::new();
            for version in versions {
                let (pointer, status) = look_up(driver, name, *version, 0)?;
                assert_eq!(status, Query::CU_GET_PROC_ADDRESS_SUCCESS);
                assert!(!pointer.is_null() && !seen.contains(&pointer), "{name:?} {version}");
                assert_eq!(look_up(driver, name, version + 1, 0)?.0, pointer);
                seen.push(pointer);
            }
            // Anything below zero is the newest.
            assert_eq!(seen.last().copied(), Some(look_up(driver, name, -1, 0)?.0));
        }
    }

    fn a_look_up_that_finds_nothing_succeeds_with_null(driver) {
        for (name, version, why) in [
            (c"cuNoSuchThing", 12000, Query::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
            (c"", 12000, Query::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
            (c"CUINIT", 12000, Query::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
            (c"cuMemAlloc_v2", 12000, Query::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
            (c"cuStreamQuery_ptsz", 12000, Query::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND),
            (c"cuMemAdvise", 7050, Query::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
            (c"cuMemAdvise", 0, Query::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT),
        ] {
            assert_eq!(look_up(driver, name, version, 0)?, (null_mut(), why), "{name:?} {version}");
        }
        let mut pointer = UNTOUCHED;
        call!(driver.cuGetProcAddress_v2(c"cuNope".as_ptr(), &mut pointer, 12000, 0, null_mut()))?;
        assert!(pointer.is_null());
    }

    fn the_older_look_up_reports_a_miss_and_leaves_the_pointer(driver) {
        for (name, version) in [(c"cuNoSuchThing", 12000), (c"cuMemAlloc_v2", 12000), (c"cuMemAdvise", 7050)] {
            let mut pointer = UNTOUCHED;
            answers!(driver.cuGetProcAddress(name.as_ptr(), &mut pointer, version, 0), CUDA_ERROR_NOT_FOUND);
            assert_eq!(pointer, UNTOUCHED);
        }
        let mut pointer = UNTOUCHED;
        call!(driver.cuGetProcAddress(c"cuMemAdvise".as_ptr(), &mut pointer, 12020, 0))?;
        assert_eq!(pointer, look_up(driver, c"cuMemAdvise", 12020, 0)?.0);
    }

    fn unknown_flags_and_versions_beyond_the_driver_are_refused(driver) {
        let mut version = 0;
        call!(driver.cuDriverGetVersion(&mut version))?;
        for (name, version, flags) in [(c"cuInit", 12000, 4), (c"cuInit", 12000, 1 << 40), (c"cuNope", version + 10, 0)] {
            let (mut pointer, mut status) = (UNTOUCHED, Query(77));
            let name = name.as_ptr();
            answers!(
                driver.cuGetProcAddress_v2(name, &mut pointer, version, flags, &mut status),
                CUDA_ERROR_INVALID_VALUE
            );
            answers!(driver.cuGetProcAddress(name, &mut pointer, version, flags), CUDA_ERROR_INVALID_VALUE);
            assert_eq!((pointer, status), (UNTOUCHED, Query(77)));
        }
    }

    fn a_per_thread_variant_has_a_version_of_its_own(driver) {
        for flags in [2, 3] {
            let legacy = look_up(driver, c"cuMemcpyHtoD", 7000, 1)?.0;
            let (per_thread, status) = look_up(driver, c"cuMemcpyHtoD", 7000, flags)?;
            assert_eq!(status, Query::CU_GET_PROC_ADDRESS_SUCCESS);
            assert!(!per_thread.is_null() && per_thread != legacy);
            let early = look_up(driver, c"cuMemcpyHtoD", 6050, flags)?;
            assert_eq!(early, (null_mut(), Query::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
            // A function that has no such variant is what it always is.
            let plain = look_up(driver, c"cuStreamDestroy", 12000, 0)?;
            assert_eq!(look_up(driver, c"cuStreamDestroy", 12000, flags)?, plain);
        }
    }

    fn unknown_export_tables_are_refused(driver) {
        let mut table = UNTOUCHED.cast_const();
        let id = CUuuid { bytes: [0; 16] };
        answers!(driver.cuGetExportTable(&mut table, &id), CUDA_ERROR_INVALID_VALUE);
        assert!(table.is_null());
        answers!(driver.cuGetExportTable(null_mut(), &id), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuGetExportTable(&mut table, null()), CUDA_ERROR_INVALID_VALUE);
    }

    fn modules_are_loaded_lazily(driver) {
        let mut mode = CUmoduleLoadingMode(77);
        call!(driver.cuModuleGetLoadingMode(&mut mode))?;
        assert_eq!(mode, CUmoduleLoadingMode::CU_MODULE_LAZY_LOADING);
    }

    fn remote_writes_are_flushed_for_the_current_context_only(driver) {
        let current = Target::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
        let owner = Scope::CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER;
        answers!(driver.cuFlushGPUDirectRDMAWrites(current, owner), CUDA_ERROR_INVALID_CONTEXT);
        let primary = Primary::of(driver, 0)?;
        answers!(driver.cuFlushGPUDirectRDMAWrites(current, owner), CUDA_SUCCESS);
        answers!(driver.cuFlushGPUDirectRDMAWrites(current, Scope(200)), CUDA_SUCCESS);
        for (target, scope) in [(0, 0), (0, 50), (0, 300), (1, 100)] {
            answers!(driver.cuFlushGPUDirectRDMAWrites(Target(target), Scope(scope)), CUDA_ERROR_INVALID_VALUE);
        }
        drop(primary);
    }
}

#[test]
fn null_arguments_that_crash_a_real_driver_are_refused() -> TestResult {
    let driver = Driver::open(&Machine::builder().start()?)?;
    driver.initialize()?;
    answers!(driver.cuGetErrorName(CUresult(1), null_mut()), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuGetErrorString(CUresult(1), null_mut()), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuModuleGetLoadingMode(null_mut()), CUDA_ERROR_INVALID_VALUE);
    let mut pointer = null_mut();
    answers!(driver.cuGetProcAddress(null(), &mut pointer, 12000, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuGetProcAddress(c"cuInit".as_ptr(), null_mut(), 12000, 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuGetProcAddress_v2(null(), &mut pointer, 12000, 0, null_mut()), CUDA_ERROR_INVALID_VALUE);
    Ok(())
}

#[test]
fn before_init_little_works() -> TestResult {
    let driver = Driver::open(&Machine::builder().start()?)?;
    let (mut number, mut pointer, mut context) = (0, null(), null_mut());
    call!(driver.cuDriverGetVersion(&mut number))?;
    call!(driver.cuGetErrorName(CUresult(1), &mut pointer))?;
    assert!(!look_up(&driver, c"cuMemAlloc", 13000, 0)?.0.is_null());

    answers!(driver.cuDeviceGetCount(&mut number), CUDA_ERROR_NOT_INITIALIZED);
    answers!(driver.cuCtxGetCurrent(&mut context), CUDA_ERROR_NOT_INITIALIZED);
    answers!(driver.cuCtxSetCurrent(null_mut()), CUDA_ERROR_NOT_INITIALIZED);
    answers!(driver.cuDevicePrimaryCtxRetain(&mut context, 0), CUDA_ERROR_NOT_INITIALIZED);
    answers!(driver.cuStreamQuery(null_mut()), CUDA_ERROR_NOT_INITIALIZED);
    answers!(driver.cuModuleGetLoadingMode(null_mut()), CUDA_ERROR_NOT_INITIALIZED);
    // These look at the handle before anything else.
    answers!(driver.cuCtxDestroy_v2(null_mut()), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuStreamDestroy_v2(null_mut()), CUDA_ERROR_INVALID_HANDLE);

    answers!(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuDeviceGetCount(&mut number), CUDA_ERROR_NOT_INITIALIZED);
    call!(driver.cuInit(0))?;
    answers!(driver.cuDeviceGetCount(&mut number), CUDA_SUCCESS);
    Ok(())
}

#[test]
fn young_codes_are_unknown_to_older_drivers() -> TestResult {
    let driver = Driver::open(&Machine::builder().start()?)?;
    let mut pointer = c"before".as_ptr();
    let code = CUresult::CUDA_ERROR_FABRIC_NOT_READY;
    answers!(driver.cuGetErrorName(code, &mut pointer), CUDA_ERROR_INVALID_VALUE);
    assert!(pointer.is_null());
    Ok(())
}

#[test]
fn every_function_of_the_list_is_found_at_its_version() -> TestResult {
    let driver = Driver::open(&Machine::builder().start()?)?;
    let mut version = 0;
    call!(driver.cuDriverGetVersion(&mut version))?;
    for function in Function::ALL.iter().filter(|function| function.version() <= version) {
        let name = std::ffi::CString::new(function.base_name())?;
        let (pointer, status) = look_up(&driver, &name, function.version(), 0)?;
        assert_eq!(status, Query::CU_GET_PROC_ADDRESS_SUCCESS, "{function}");
        assert!(!pointer.is_null(), "{function}");
        let first = Function::ALL.iter().filter(|other| other.base_name() == function.base_name());
        let first = first.map(|other| other.version()).min().unwrap_or(0);
        let early = look_up(&driver, &name, first - 10, 0)?;
        assert_eq!(early, (null_mut(), Query::CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT), "{function}");
    }
    assert_eq!(code_of(call!(driver.cuInit(0))), CUresult::CUDA_SUCCESS);
    Ok(())
}
