//! Host memory: what is done all the time takes none.
#![expect(
    unsafe_code,
    reason = "counts allocations, and stands in for driver functions that would allocate themselves"
)]
#![expect(non_snake_case, reason = "the functions have the names of those they stand for")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use warploom::driver::Source;
use warploom::sys::GetProcAddress;
use warploom::sys::types::{CUdriverProcAddressQueryResult, CUevent, CUresult, CUstream, cuuint64_t};
use warploom::{Devices, Driver, Result};
use warploom_sim::Machine;
use warploom_testkit::TestResult;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Where the simulated machine's own functions are found.
    static SIMULATED: Cell<Option<GetProcAddress>> = const { Cell::new(None) };
}

/// The system's allocator, which counts.
struct Counting;

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

unsafe extern "C" fn cuEventRecord(_event: CUevent, _stream: CUstream) -> CUresult {
    CUresult::CUDA_SUCCESS
}

unsafe extern "C" fn cuStreamWaitEvent(_stream: CUstream, _event: CUevent, _flags: c_uint) -> CUresult {
    CUresult::CUDA_SUCCESS
}

unsafe extern "C" fn cuEventQuery(_event: CUevent) -> CUresult {
    CUresult::CUDA_ERROR_NOT_READY
}

unsafe extern "C" fn cuStreamQuery(_stream: CUstream) -> CUresult {
    CUresult::CUDA_ERROR_NOT_READY
}

unsafe extern "C" fn cuStreamSynchronize(_stream: CUstream) -> CUresult {
    CUresult::CUDA_SUCCESS
}

/// The functions above, and a simulated machine's for all others.
unsafe extern "C" fn resolve(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    version: c_int,
    flags: cuuint64_t,
    status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    // SAFETY: the caller passes a terminated name.
    let name = unsafe { CStr::from_ptr(symbol) };
    let found = match name.to_bytes() {
        b"cuEventRecord" => cuEventRecord as *mut c_void,
        b"cuStreamWaitEvent" => cuStreamWaitEvent as *mut c_void,
        b"cuEventQuery" => cuEventQuery as *mut c_void,
        b"cuStreamQuery" => cuStreamQuery as *mut c_void,
        b"cuStreamSynchronize" => cuStreamSynchronize as *mut c_void,
        _ => {
            let Some(simulated) = SIMULATED.get() else { return CUresult::CUDA_ERROR_NOT_FOUND };
            // SAFETY: the arguments are the caller's.
            return unsafe { simulated(symbol, pfn, version, flags, status) };
        }
    };
    // SAFETY: the caller passes a writable pointer.
    unsafe { pfn.write(found) };
    CUresult::CUDA_SUCCESS
}

/// A simulated machine whose functions that are called all the time do nothing.
fn driver() -> TestResult<Driver> {
    let machine = Source::from(&Machine::preset("h200")?);
    SIMULATED.set(Some(machine.resolve()));
    // SAFETY: `resolve` hands out functions with the C signatures of their names, or the machine's, which is kept.
    Ok(Driver::open(unsafe { Source::new(resolve, machine.keep_alive().clone(), "quiet") })?)
}

/// Asserts that memory is never allocated on this thread while something is done over and over.
#[track_caller]
fn allocates_nothing<R>(work: impl Fn() -> Result<R>) {
    let before = ALLOCATIONS.get();
    let failures = (0..100).filter(|_| work().is_err()).count();
    assert_eq!((ALLOCATIONS.get() - before, failures), (0, 0));
}

#[test]
fn recording_waiting_and_asking_allocate_nothing() -> TestResult {
    let driver = driver()?;
    let context = driver.device(0)?.context()?;
    let (stream, other) = (context.stream()?, context.stream()?);
    let (event, timed) = (stream.record()?, stream.record_timed()?);
    allocates_nothing(|| stream.record_into(&event));
    allocates_nothing(|| stream.record_into(&timed));
    allocates_nothing(|| stream.wait(&event));
    allocates_nothing(|| event.is_complete());
    allocates_nothing(|| stream.is_idle());
    allocates_nothing(|| stream.synchronize());
    drop(stream.record()?);
    allocates_nothing(|| stream.record().map(drop));
    allocates_nothing(|| stream.wait_for(&other));
    Ok(())
}
