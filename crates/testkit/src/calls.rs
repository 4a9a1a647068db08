//! Calls of C functions from tests, and comparison of their answers.

use warploom_driver::Error;
use warploom_sys::types::CUresult;

/// The return type of test bodies; `?` works on everything.
pub type TestResult<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The code a call answered, success included. Panics on an error that no driver gave: then the test is
/// wrong.
#[track_caller]
pub fn code_of(result: Result<(), Error>) -> CUresult {
    match result {
        Ok(()) => CUresult::CUDA_SUCCESS,
        Err(error) => error.code().unwrap_or_else(|| panic!("not an answer of the driver: {error}")),
    }
}

/// Calls a driver function: `call!(driver.cuStreamQuery(stream))` is a `Result`.
///
/// Tests hand over pointers to their own variables and buffers of the size they say; that is the whole safety
/// argument, made once here. A test that must break the contract on purpose says so with an `unsafe` block of
/// its own.
#[macro_export]
macro_rules! call {
    ($driver:ident . $function:ident ( $($argument:expr),* $(,)? )) => {{
#[expect(unsafe_code, reason = "the one place where tests call C")]
        // SAFETY: the arguments are a test's own variables and buffers, alive until the call returns, or
        // numbers that the function must refuse.
        let result = unsafe { $driver.$function($($argument),*) };
        result
    }};
}

/// Asserts the code a call answers: `answers!(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE)`.
#[macro_export]
macro_rules! answers {
    ($driver:ident . $function:ident ( $($argument:expr),* $(,)? ), $code:ident) => {
        assert_eq!(
            $crate::code_of($crate::call!($driver.$function($($argument),*))),
            $crate::sys::types::CUresult::$code,
            concat!(stringify!($function), "(", stringify!($($argument),*), ")")
        )
    };
}
