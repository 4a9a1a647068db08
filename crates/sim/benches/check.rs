//! Cost of checking: the same calls on a machine without checks, on one with checks, and on one that also
//! keeps a backtrace of each caller.
//!
//! `cargo bench -p warploom-sim --bench check` prints nanoseconds per call with 64 streams in use, the
//! ratios, and the memory that a tracked range takes.
#![expect(clippy::print_stdout, reason = "prints its tables")]

mod common;

use std::ptr::null_mut;
use std::time::Instant;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Backtraces, Checks, Machine, Mode, Order};
use warploom_testkit::sys::types::{CUdeviceptr, CUevent, CUstream};
use warploom_testkit::{Primary, TestResult, call};

use common::{resident, start};

const STREAMS: usize = 64;
/// Of each stream's two buffers.
const BYTES: usize = 4096;

struct Bench {
    driver: Driver,
    streams: Vec<CUstream>,
    events: Vec<CUevent>,
    buffers: Vec<[CUdeviceptr; 2]>,
    _primary: Primary,
    machine: Machine,
}

impl Bench {
    fn new(mode: Mode, checks: Checks) -> TestResult<Bench> {
        let (machine, driver, primary) = start(Machine::builder().mode(mode).checks(checks))?;
        let (mut streams, mut events, mut buffers) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..STREAMS {
            let (mut stream, mut event, mut pair) = (null_mut(), null_mut(), [0; 2]);
            call!(driver.cuStreamCreate(&mut stream, 1))?;
            call!(driver.cuEventCreate(&mut event, 2))?;
            for buffer in &mut pair {
                call!(driver.cuMemAlloc_v2(buffer, BYTES))?;
                call!(driver.cuMemsetD8_v2(*buffer, 0, BYTES))?;
            }
            streams.push(stream);
            events.push(event);
            buffers.push(pair);
        }
        call!(driver.cuCtxSynchronize())?;
        Ok(Bench { driver, streams, events, buffers, _primary: primary, machine })
    }
}

/// One call, or a few that belong together, on stream `at`.
type Turn = fn(&Bench, usize) -> TestResult;

const ROWS: [(&str, Turn); 7] = [
    ("fill, 4 KiB", |bench, at| {
        let driver = &bench.driver;
        Ok(call!(driver.cuMemsetD8Async(bench.buffers[at][0], 1, BYTES, bench.streams[at]))?)
    }),
    ("copy on the device, 4 KiB", |bench, at| {
        let (driver, [to, from]) = (&bench.driver, bench.buffers[at]);
        Ok(call!(driver.cuMemcpyDtoDAsync_v2(to, from, BYTES, bench.streams[at]))?)
    }),
    ("copies of 64 bytes, at 64 places", |bench, at| {
        let (driver, [to, from]) = (&bench.driver, bench.buffers[at]);
        let offset = (at as u64 * 7 + to) % 64 * 64;
        Ok(call!(driver.cuMemcpyDtoDAsync_v2(to + offset, from + offset, 64, bench.streams[at]))?)
    }),
    ("copy of the neighbour's, with record and wait", |bench, at| {
        let (driver, next) = (&bench.driver, (at + 1) % STREAMS);
        call!(driver.cuEventRecord(bench.events[next], bench.streams[next]))?;
        call!(driver.cuStreamWaitEvent(bench.streams[at], bench.events[next], 0))?;
        let (to, from) = (bench.buffers[at][0], bench.buffers[next][1]);
        Ok(call!(driver.cuMemcpyDtoDAsync_v2(to, from, BYTES, bench.streams[at]))?)
    }),
    ("event record", |bench, at| {
        let driver = &bench.driver;
        Ok(call!(driver.cuEventRecord(bench.events[at], bench.streams[at]))?)
    }),
    ("stream wait", |bench, at| {
        let (driver, next) = (&bench.driver, (at + 1) % STREAMS);
        Ok(call!(driver.cuStreamWaitEvent(bench.streams[at], bench.events[next], 0))?)
    }),
    ("pool allocation, fill and free", |bench, at| {
        let (driver, stream, mut memory) = (&bench.driver, bench.streams[at], 0);
        call!(driver.cuMemAllocAsync(&mut memory, BYTES, stream))?;
        call!(driver.cuMemsetD8Async(memory, 1, BYTES, stream))?;
        Ok(call!(driver.cuMemFreeAsync(memory, stream))?)
    }),
];

/// The median over rounds of nanoseconds per turn, work included.
fn measure(bench: &Bench, turn: Turn) -> TestResult<f64> {
    let mut times = Vec::new();
    for _ in 0..31 {
        let start = Instant::now();
        for index in 0..STREAMS * 40 {
            turn(bench, index % STREAMS)?;
        }
        let driver = &bench.driver;
        call!(driver.cuCtxSynchronize())?;
        times.push(start.elapsed().as_nanos() as f64 / (STREAMS * 40) as f64);
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Bytes that each of many separate ranges takes, while none of them can be forgotten.
fn bytes_per_range() -> TestResult<f64> {
    const RANGES: u64 = 200_000;
    let bench = Bench::new(Mode::Deterministic(Order::Eager), Checks::report())?;
    let (driver, mut memory) = (&bench.driver, 0);
    call!(driver.cuMemAlloc_v2(&mut memory, RANGES as usize * 2))?;
    call!(driver.cuMemsetD8_v2(memory, 0, RANGES as usize * 2))?;
    let before = resident()?;
    for range in 0..RANGES {
        call!(driver.cuMemsetD8Async(memory + range * 2, 1, 1, bench.streams[0]))?;
    }
    Ok((resident()? - before) / RANGES as f64)
}

fn main() -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Threads] {
        println!("\n{mode:?}, {STREAMS} streams: ns per turn");
        println!("{:<46} {:>8} {:>8} {:>7} {:>10} {:>7}", "", "off", "on", "ratio", "callers", "ratio");
        let settings = [Checks::off(), Checks::report(), Checks::report().backtraces(Backtraces::All)];
        let benches = settings.into_iter().map(|checks| Bench::new(mode, checks)).collect::<TestResult<Vec<_>>>()?;
        for (name, turn) in ROWS {
            let mut times = [0.0; 3];
            for (time, bench) in times.iter_mut().zip(&benches) {
                *time = measure(bench, turn)?;
            }
            let [off, on, callers] = times;
            println!("{name:<46} {off:>8.0} {on:>8.0} {:>7.2} {callers:>10.0} {:>7.2}", on / off, callers / off);
        }
        for bench in &benches {
            let findings = bench.machine.findings();
            assert!(findings.is_empty(), "the program is right: {}", findings[0]);
        }
    }
    println!("\nbytes per tracked range: {:.0}", bytes_per_range()?);
    Ok(())
}
