//! Calls: arguments in, status out.

use warploom_driver::sys::types::CUresult;
use warploom_driver::{DriverError, DriverVersion, Error, Function, Result, ResultExt};

use crate::fake;

#[test]
fn a_call_passes_its_arguments_and_outputs() -> Result<()> {
    assert_eq!(fake::allocate(&fake::driver()?, 4096)?, 4096);
    Ok(())
}

#[test]
fn a_call_passes_them_while_it_is_watched_too() -> Result<()> {
    let driver = fake::driver()?;
    let _counter = driver.count_calls();
    assert_eq!(fake::allocate(&driver, 4096)?, 4096);
    fake::STATUS.set(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    assert!(fake::allocate(&driver, 4096).is_err_and(|error| error.is_out_of_memory()));
    Ok(())
}

#[test]
fn a_failing_status_becomes_an_error_with_function_and_code() -> Result<()> {
    let driver = fake::driver()?;
    fake::STATUS.set(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    let error = fake::allocate(&driver, 1).expect_err("there is no memory");
    let (function, code) = (Function::cuMemAlloc_v2, CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    assert_eq!(error, Error::Driver(DriverError { function, code }));
    assert_eq!(error.code(), Some(code));
    Ok(())
}

#[test]
fn a_function_the_driver_lacks_is_refused_without_a_call() -> Result<()> {
    fake::NULL.set("cuMemAlloc");
    let driver = fake::driver()?;
    let counter = driver.count_calls();
    let error = fake::allocate(&driver, 1).expect_err("there is no such function");
    let (needs, have) = (DriverVersion::new(3, 2), DriverVersion::new(12, 2));
    assert_eq!(error, Error::Unsupported { function: Function::cuMemAlloc_v2, needs, have });
    assert_eq!((error.code(), counter.total()), (None, 0));
    Ok(())
}

#[test]
fn initializing_calls_cu_init_once() -> Result<()> {
    let driver = fake::driver()?;
    let calls = driver.record_calls();
    driver.initialize()?;
    assert_eq!(calls.calls(), [(Function::cuInit, CUresult::CUDA_SUCCESS)]);
    Ok(())
}

#[test]
fn opening_does_not_initialize() -> Result<()> {
    // Every function but the version fails here; opening must not call any of them.
    fake::STATUS.set(CUresult::CUDA_ERROR_NO_DEVICE);
    let driver = fake::driver()?;
    assert_eq!(driver.initialize().expect_err("no device").code(), Some(CUresult::CUDA_ERROR_NO_DEVICE));
    Ok(())
}

#[test]
fn a_query_tells_unfinished_work_from_failure() -> Result<()> {
    let driver = fake::driver()?;
    assert!(fake::query(&driver).ready()?);
    fake::STATUS.set(CUresult::CUDA_ERROR_NOT_READY);
    assert!(!fake::query(&driver).ready()?);
    fake::STATUS.set(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS);
    let error = fake::query(&driver).ready().expect_err("a fault is not unfinished work");
    assert!(error.is_context_fatal() && !error.is_not_ready());
    Ok(())
}

#[test]
fn a_result_fits_two_registers() {
    assert!(size_of::<Result<()>>() <= 16, "{} bytes", size_of::<Result<()>>());
}
