//! A driver of six functions, whose behaviour each test sets for its own thread.
#![expect(unsafe_code, reason = "hands out C functions as a driver does")]
#![expect(non_snake_case, reason = "the functions have the names of those they stand for")]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use warploom_driver::sys::types::{
    CUdeviceptr_v2, CUdriverProcAddressQueryResult, CUevent, CUhostFn, CUresult, CUstream, cuuint64_t,
};
use warploom_driver::{Driver, Result, Source};

thread_local! {
    /// The version that the next driver reports.
    pub(crate) static VERSION: Cell<i32> = const { Cell::new(12020) };
    /// The code that every function but the first two returns.
    pub(crate) static STATUS: Cell<CUresult> = const { Cell::new(CUresult::CUDA_SUCCESS) };
    /// Names that are answered with success and no pointer.
    pub(crate) static NULL: Cell<&'static str> = const { Cell::new("") };
    /// Names that are not found.
    pub(crate) static ABSENT: Cell<&'static str> = const { Cell::new("") };
    /// The requests to a resolver: name, version and flags.
    pub(crate) static ASKED: RefCell<Vec<(String, i32, u64)>> = const { RefCell::new(Vec::new()) };
}

unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> CUresult {
    // SAFETY: the caller passes a writable integer.
    unsafe { version.write(VERSION.get()) };
    // Only a driver that cannot even tell its version answers this call with something else than success.
    if ABSENT.get() == "version" { CUresult::CUDA_ERROR_STUB_LIBRARY } else { CUresult::CUDA_SUCCESS }
}

unsafe extern "C" fn cuInit(flags: c_uint) -> CUresult {
    if flags == 0 { STATUS.get() } else { CUresult::CUDA_ERROR_INVALID_VALUE }
}

unsafe extern "C" fn cuMemAlloc(pointer: *mut CUdeviceptr_v2, size: usize) -> CUresult {
    // SAFETY: the caller passes a writable address.
    unsafe { pointer.write(size as CUdeviceptr_v2) };
    STATUS.get()
}

unsafe extern "C" fn cuEventQuery(_event: CUevent) -> CUresult {
    STATUS.get()
}

/// Runs the function at once, inside the call.
unsafe extern "C" fn cuLaunchHostFunc(_stream: CUstream, function: CUhostFn, data: *mut c_void) -> CUresult {
    if let Some(function) = function {
        // SAFETY: the caller passes the data its function expects.
        unsafe { function(data) };
    }
    STATUS.get()
}

unsafe extern "C" fn resolve(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    _status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    // SAFETY: the caller passes a terminated name.
    let name = unsafe { CStr::from_ptr(symbol) }.to_str().expect("C names are ASCII");
    ASKED.with_borrow_mut(|asked| asked.push((name.to_owned(), version, flags)));
    let found = match (name, version) {
        ("cuDriverGetVersion", 2020) => cuDriverGetVersion as *mut c_void,
        ("cuInit", 2000) => cuInit as *mut c_void,
        ("cuMemAlloc", 3020) => cuMemAlloc as *mut c_void,
        ("cuEventQuery", 2000) => cuEventQuery as *mut c_void,
        ("cuLaunchHostFunc", 10000) => cuLaunchHostFunc as *mut c_void,
        _ => return CUresult::CUDA_ERROR_NOT_FOUND,
    };
    // SAFETY: the caller passes a writable pointer.
    unsafe { pfn.write(if NULL.get() == name { std::ptr::null_mut() } else { found }) };
    // A resolver that fails may leave anything behind.
    if ABSENT.get() == name { CUresult::CUDA_ERROR_NOT_FOUND } else { CUresult::CUDA_SUCCESS }
}

/// A source of the functions above, kept alive by `keep_alive`.
pub(crate) fn source(keep_alive: Arc<()>) -> Source {
    // SAFETY: `resolve` hands out functions of this program, with the C signatures of the name and version
    // asked for.
    unsafe { Source::new(resolve, keep_alive, "fake") }
}

/// A driver of the functions above.
pub(crate) fn driver() -> Result<Driver> {
    Driver::open(source(Arc::new(())))
}

/// Calls `cuMemAlloc_v2`, and gives the address.
pub(crate) fn allocate(driver: &Driver, size: usize) -> Result<CUdeviceptr_v2> {
    let mut pointer = 0;
    // SAFETY: `pointer` is writable.
    unsafe { driver.cuMemAlloc_v2(&raw mut pointer, size)? };
    Ok(pointer)
}

/// Calls `cuEventQuery`.
pub(crate) fn query(driver: &Driver) -> Result<()> {
    // SAFETY: the fake does not look at the event.
    unsafe { driver.cuEventQuery(std::ptr::null_mut()) }
}

/// Calls `cuLaunchHostFunc` with a function that calls `cuEventQuery` of the same driver.
pub(crate) fn query_from_a_callback(driver: &Driver) -> Result<()> {
    unsafe extern "C" fn callback(data: *mut c_void) {
        // SAFETY: the caller below passes a driver that lives through the call.
        let driver = unsafe { &*data.cast::<Driver>() };
        drop(query(driver));
    }
    let data = std::ptr::from_ref(driver).cast_mut().cast();
    // SAFETY: the fake runs `callback` with `data` inside this call, and does not look at the stream.
    unsafe { driver.cuLaunchHostFunc(std::ptr::null_mut(), Some(callback), data) }
}
