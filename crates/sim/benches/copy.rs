//! Host cost of copies and fills, and bandwidth of large ones, next to the same bytes copied without a
//! driver.
#![expect(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Machine;
use warploom_testkit::sys::types::CUstream;
use warploom_testkit::{Primary, TestResult, call};

const SMALL: usize = 4096;
const LARGE: usize = 1 << 30;
/// Calls before the stream is drained: what the host pays, not what the queue holds.
const BURST: usize = 100;

fn main() -> TestResult {
    let machine = Machine::preset("h200")?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    let driver = &driver;
    let primary = Primary::of(driver, 0)?;
    let mut stream = null_mut();
    call!(driver.cuStreamCreate(&mut stream, 1))?;
    let [mut first, mut second] = [0, 0];
    call!(driver.cuMemAlloc_v2(&mut first, LARGE))?;
    call!(driver.cuMemAlloc_v2(&mut second, LARGE))?;
    // A page that was never written is a page of zeros that all of them share, and faster than memory.
    for memory in [first, second] {
        call!(driver.cuMemsetD8_v2(memory, 1, LARGE))?;
    }
    call!(driver.cuCtxSynchronize())?;

    host_cost(driver, stream, "4 KiB device to device", 5463, || {
        Ok(call!(driver.cuMemcpyDtoDAsync_v2(second, first, SMALL, stream))?)
    })?;
    host_cost(driver, stream, "4 KiB fill", 1247, || Ok(call!(driver.cuMemsetD8Async(first, 1, SMALL, stream))?))?;
    let small = vec![1_u8; SMALL];
    host_cost(driver, stream, "4 KiB pageable to device", 9177, || {
        Ok(call!(driver.cuMemcpyHtoD_v2(first, small.as_ptr().cast(), SMALL))?)
    })?;

    let mut host = vec![1_u8; LARGE];
    let mut other = vec![2_u8; LARGE];
    let plain = fastest(|| {
        other.copy_from_slice(&host);
        Ok(())
    })?;
    println!("{:<28}{:>8.2} GB/s", "1 GiB without a driver", rate(plain));
    let report = |what: &str, took: Duration| {
        println!("{what:<28}{:>8.2} GB/s  {:>5.2} of plain", rate(took), plain.as_secs_f64() / took.as_secs_f64());
    };
    report(
        "1 GiB device to device",
        fastest(|| {
            call!(driver.cuMemcpyDtoDAsync_v2(second, first, LARGE, stream))?;
            Ok(call!(driver.cuStreamSynchronize(stream))?)
        })?,
    );
    report(
        "1 GiB pageable to device",
        fastest(|| Ok(call!(driver.cuMemcpyHtoD_v2(first, host.as_ptr().cast(), LARGE))?))?,
    );
    report(
        "1 GiB device to pageable",
        fastest(|| Ok(call!(driver.cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), first, LARGE))?))?,
    );
    let mut locked = null_mut();
    if call!(driver.cuMemHostAlloc(&mut locked, LARGE, 0)).is_ok() {
        call!(driver.cuMemsetD8_v2(locked.addr() as u64, 1, LARGE))?;
        report(
            "1 GiB page-locked to device",
            fastest(|| {
                call!(driver.cuMemcpyHtoDAsync_v2(first, locked, LARGE, stream))?;
                Ok(call!(driver.cuStreamSynchronize(stream))?)
            })?,
        );
        call!(driver.cuMemFreeHost(locked))?;
    }
    call!(driver.cuStreamDestroy_v2(stream))?;
    call!(driver.cuMemFree_v2(first))?;
    call!(driver.cuMemFree_v2(second))?;
    drop(primary);
    Ok(())
}

/// Prints the median time of a call, beside that of an H200.
fn host_cost(
    driver: &Driver,
    stream: CUstream,
    what: &str,
    real: u64,
    mut call: impl FnMut() -> TestResult,
) -> TestResult {
    let mut times = Vec::new();
    for _ in 0..200 {
        for _ in 0..BURST {
            let start = Instant::now();
            call()?;
            times.push(start.elapsed());
        }
        call!(driver.cuStreamSynchronize(stream))?;
    }
    times.sort_unstable();
    let median = times[times.len() / 2].as_nanos();
    println!("{what:<28}{median:>8} ns/call  (H200: {real})");
    Ok(())
}

/// The fastest of some passes; the first is not counted, because it touches the pages.
fn fastest(mut pass: impl FnMut() -> TestResult) -> TestResult<Duration> {
    pass()?;
    let mut best = Duration::MAX;
    for _ in 0..4 {
        let start = Instant::now();
        pass()?;
        best = best.min(start.elapsed());
    }
    Ok(best)
}

fn rate(took: Duration) -> f64 {
    LARGE as f64 / took.as_secs_f64() / 1e9
}
