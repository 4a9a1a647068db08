//! Benchmark of a call through a `Driver`, next to one through the bare table.
//!
//! The driver is a fake whose function does next to nothing, so the difference is all ours. Run it with
//! `cargo bench -p warploom-driver`.
#![expect(unsafe_code, reason = "a fake driver, and calls into it")]
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

use std::error::Error;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use warploom_driver::sys::types::{CUdriverProcAddressQueryResult, CUresult, cuuint64_t};
use warploom_driver::{Driver, Source};

const ROUNDS: usize = 15;
const CALLS: u32 = 2_000_000;

unsafe extern "C" fn version(out: *mut c_int) -> CUresult {
    // SAFETY: callers pass a writable integer.
    unsafe { out.write(12020) };
    CUresult::CUDA_SUCCESS
}

unsafe extern "C" fn resolve(
    symbol: *const c_char,
    pfn: *mut *mut c_void,
    _version: c_int,
    _flags: cuuint64_t,
    _status: *mut CUdriverProcAddressQueryResult,
) -> CUresult {
    // SAFETY: callers pass a terminated name.
    if unsafe { CStr::from_ptr(symbol) } != c"cuDriverGetVersion" {
        return CUresult::CUDA_ERROR_NOT_FOUND;
    }
    // SAFETY: callers pass a writable pointer.
    unsafe { pfn.write(version as *mut c_void) };
    CUresult::CUDA_SUCCESS
}

/// The best of some rounds, in nanoseconds per call.
fn measure(mut call: impl FnMut()) -> f64 {
    let round = |_| {
        let started = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn main() -> Result<(), Box<dyn Error>> {
    // SAFETY: `resolve` hands out one function, which has the C signature of its name and lives as long as
    // the program.
    let driver = Driver::open(unsafe { Source::new(resolve, Arc::new(()), "fake") })?;
    let mut out = 0;
    let bare = driver.table().cuDriverGetVersion.ok_or("the fake driver has this function")?;
    let table = measure(|| {
        // SAFETY: `out` is writable.
        black_box(unsafe { black_box(bare)(&raw mut out) });
    });
    let method = |driver: &Driver| {
        let mut out = 0;
        measure(|| {
            // SAFETY: `out` is writable.
            black_box(unsafe { black_box(driver).cuDriverGetVersion(&raw mut out) }.is_ok());
        })
    };
    println!("{:<30} {:>8} {:>8}", "", "ns/call", "ratio");
    let report = |what: &str, nanoseconds: f64| println!("{what:<30} {nanoseconds:>8.2} {:>8.2}", nanoseconds / table);
    report("pointer from the table", table);
    report("method of the driver", method(&driver));
    let counter = driver.count_calls();
    report("method, while counted", method(&driver));
    drop(counter);
    driver.set_tracing(true);
    report("method, traced to no one", method(&driver));
    Ok(())
}
