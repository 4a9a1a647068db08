//! Cost of machines and their memory: time and memory to start one, and time per allocation.
//!
//! Run it with `cargo bench -p warploom-sim --bench memory`.
#![expect(clippy::print_stdout, reason = "a benchmark reports")]

use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Mode;
use warploom_testkit::sim::topology::Topology;
use warploom_testkit::sys::types::CUpointer_attribute;
use warploom_testkit::{Primary, TestResult, call, open};

const ROUNDS: usize = 7;
const CALLS: u32 = 20_000;

/// The best of some rounds, in nanoseconds per call.
fn measure(mut work: impl FnMut() -> TestResult) -> TestResult<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        for _ in 0..CALLS {
            work()?;
        }
        best = best.min(started.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS));
    }
    Ok(best)
}

fn resident_kib() -> TestResult<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmRSS")).ok_or("no resident size")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}

fn report(what: &str, nanoseconds: f64) {
    println!("{what:<58} {nanoseconds:>9.0} ns");
}

fn start_machines() -> TestResult {
    let (mut best, mut resident) = (Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let machine = open(Topology::preset("dgx-h100")?, Mode::Threads)?;
        best = best.min(started.elapsed());
        resident = resident.max(resident_kib()?);
        drop(machine);
    }
    report("start a machine of 8 devices of 80 GB", best.as_secs_f64() * 1e9);
    println!("{:<58} {resident:>9} KiB, of the whole process", "resident with such a machine");
    Ok(())
}

fn pair(driver: &Driver, bytes: usize) -> TestResult {
    let mut address = 0;
    call!(driver.cuMemAlloc_v2(&mut address, bytes))?;
    Ok(call!(driver.cuMemFree_v2(address))?)
}

fn main() -> TestResult {
    start_machines()?;
    let (_machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    report("cuMemAlloc + cuMemFree, 4 KiB, nothing else allocated", measure(|| pair(driver, 4096))?);
    report("cuMemAlloc + cuMemFree, 4 MiB, nothing else allocated", measure(|| pair(driver, 4 << 20))?);

    let mut live = Vec::new();
    for index in 0..200_000 {
        let mut address = 0;
        call!(driver.cuMemAlloc_v2(&mut address, 512 * (1 + index % 9)))?;
        live.push(address);
    }
    // Every other one goes, so that there are as many holes as allocations.
    let mut kept = Vec::new();
    for (index, address) in live.into_iter().enumerate() {
        if index % 2 == 0 {
            call!(driver.cuMemFree_v2(address))?;
        } else {
            kept.push(address);
        }
    }
    report("cuMemAlloc + cuMemFree, 4 KiB, 100 000 others and holes", measure(|| pair(driver, 4096))?);
    report("cuMemAlloc + cuMemFree, 4 MiB, 100 000 others and holes", measure(|| pair(driver, 4 << 20))?);

    let mut next = 0;
    let ask = measure(|| {
        let mut kind = 0u32;
        next = (next + 7919) % kept.len();
        let attribute = CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        Ok(call!(driver.cuPointerGetAttribute((&raw mut kind).cast(), attribute, kept[next] + 5))?)
    })?;
    report("cuPointerGetAttribute, 100 000 allocations", ask);

    for bytes in [4096, 4 << 20] {
        let lock = measure(|| {
            let mut memory = null_mut();
            call!(driver.cuMemHostAlloc(&mut memory, bytes, 0))?;
            Ok(call!(driver.cuMemFreeHost(memory))?)
        })?;
        report(&format!("cuMemHostAlloc + cuMemFreeHost, {} KiB", bytes >> 10), lock);
    }
    Ok(())
}
