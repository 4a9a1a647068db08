//! Texts of errors.

use std::path::PathBuf;

use warploom_driver::sys::types::CUresult;
use warploom_driver::{Attempt, DriverError, DriverNotFound, DriverVersion, Error, Function, NotADriver};

/// C.4
#[test]
fn a_failed_call_has_its_function_status_and_explanation() {
    let error = DriverError { function: Function::cuMemAlloc_v2, code: CUresult::CUDA_ERROR_OUT_OF_MEMORY };
    assert_eq!(
        Error::from(error).to_string(),
        "cuMemAlloc_v2 failed: CUDA_ERROR_OUT_OF_MEMORY (2): \
         too little memory is left on the device or the host; free some or ask for less"
    );
    assert_eq!(error.name(), Some("CUDA_ERROR_OUT_OF_MEMORY"));
    assert!(error.explanation().is_some());
}

#[test]
fn a_fault_in_a_kernel_says_that_the_process_is_lost() {
    let error = DriverError { function: Function::cuStreamSynchronize, code: CUresult::CUDA_ERROR_ILLEGAL_ADDRESS };
    assert_eq!(
        error.to_string(),
        "cuStreamSynchronize failed: CUDA_ERROR_ILLEGAL_ADDRESS (700): \
         a kernel read or wrote memory that is not there; the process cannot recover, end it and find the access"
    );
}

#[test]
fn a_code_from_a_newer_driver_is_an_error_like_any_other() {
    let error = DriverError { function: Function::cuInit, code: CUresult(4711) };
    assert_eq!(error.to_string(), "cuInit failed: unknown status (4711): newer than the codes warploom knows");
    assert_eq!((error.name(), error.explanation()), (None, None));
    assert!(!error.is_context_fatal() && !error.is_out_of_memory() && !error.is_not_ready());
}

#[test]
fn a_function_newer_than_the_driver_names_the_version_it_needs() {
    let unsupported = |have| Error::Unsupported {
        function: Function::cuMemcpyBatchAsync_v2,
        needs: DriverVersion::from_raw(Function::cuMemcpyBatchAsync_v2.version()),
        have,
    };
    assert_eq!(
        unsupported(DriverVersion::new(12, 2)).to_string(),
        "cuMemcpyBatchAsync_v2 needs driver 13.0, this one is 12.2"
    );
    assert_eq!(
        unsupported(DriverVersion::new(13, 0)).to_string(),
        "cuMemcpyBatchAsync_v2 is missing from this driver, though 13.0 should have it"
    );
}

#[test]
fn a_missing_driver_lists_attempts_and_remedies() {
    let attempt = |path: &str, why: &str| Attempt { path: PathBuf::from(path), why: why.to_owned() };
    let tried = vec![attempt("libcuda.so.1", "no such file"), attempt("/opt/libcuda.so", "too short")];
    assert_eq!(
        Error::DriverNotFound(Box::new(DriverNotFound { tried })).to_string(),
        "no CUDA driver found, tried libcuda.so.1 (no such file), /opt/libcuda.so (too short); \
         install the NVIDIA driver, name its library in WARPLOOM_LIBCUDA, or use a simulated machine"
    );
}

#[test]
fn a_library_that_is_no_driver_is_named_with_its_missing_function() {
    let stranger = |why: Option<&str>| {
        let why = why.map(str::to_owned);
        Error::NotADriver(Box::new(NotADriver { path: "/opt/x".into(), missing: Function::cuGetProcAddress_v2, why }))
    };
    assert_eq!(stranger(None).to_string(), "/opt/x is not a CUDA driver: it has no cuGetProcAddress_v2");
    assert_eq!(
        stranger(Some("too short")).to_string(),
        "/opt/x is not a CUDA driver: it has no cuGetProcAddress_v2 (too short)"
    );
}
