//! Cost of the simulator itself: time per call, and time and memory per pending op.
//!
//! `cargo bench -p warploom-sim --bench engine` prints two tables. The real driver's figures are medians
//! measured on one H200 with driver 580; they are there to compare orders of magnitude.
#![expect(clippy::print_stdout, reason = "prints its tables")]

mod common;

use std::hint::black_box;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Machine, Mode, Order};
use warploom_testkit::sys::types::{CUdeviceptr, CUevent, CUstream};
use warploom_testkit::{Primary, TestResult, call};

use common::{resident, start};

const STREAMS: usize = 64;

/// A machine with streams and something to work on.
struct Bench {
    machine: Machine,
    driver: Driver,
    streams: Vec<CUstream>,
    event: CUevent,
    word: CUdeviceptr,
    _primary: Primary,
}

impl Bench {
    fn new(mode: Mode) -> TestResult<Bench> {
        let (machine, driver, primary) = start(Machine::builder().mode(mode).patience(Duration::from_secs(60)))?;
        let mut streams = vec![null_mut(); STREAMS];
        for stream in &mut streams {
            call!(driver.cuStreamCreate(stream, 1))?;
        }
        let (mut event, mut word) = (null_mut(), 0);
        call!(driver.cuEventCreate(&mut event, 0))?;
        call!(driver.cuMemAlloc_v2(&mut word, 4096))?;
        Ok(Bench { machine, driver, streams, event, word, _primary: primary })
    }
}

/// The median over rounds of the time one of `count` calls takes.
fn median(count: u32, mut round: impl FnMut(u32) -> TestResult) -> TestResult<f64> {
    let mut times = Vec::new();
    for _ in 0..21 {
        let start = Instant::now();
        round(count)?;
        times.push(start.elapsed().as_nanos() as f64 / f64::from(count));
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

fn calls(mode: Mode) -> TestResult<[f64; 6]> {
    let bench = Bench::new(mode)?;
    let (driver, stream, other) = (&bench.driver, bench.streams[0], bench.streams[1]);
    let record = median(10_000, |count| {
        for _ in 0..count {
            call!(driver.cuEventRecord(bench.event, stream))?;
        }
        Ok(call!(driver.cuStreamSynchronize(stream))?)
    })?;
    let wait = median(10_000, |count| {
        for _ in 0..count {
            call!(driver.cuStreamWaitEvent(other, bench.event, 0))?;
        }
        Ok(call!(driver.cuStreamSynchronize(other))?)
    })?;
    let query = median(10_000, |count| {
        for _ in 0..count {
            call!(driver.cuEventQuery(bench.event))?;
        }
        Ok(())
    })?;
    let stream_query = median(10_000, |count| {
        for _ in 0..count {
            call!(driver.cuStreamQuery(stream))?;
        }
        Ok(())
    })?;
    let mut submitting = Vec::new();
    let through = median(10_000, |count| {
        let start = Instant::now();
        for value in 0..count {
            call!(driver.cuStreamWriteValue32_v2(stream, bench.word, value, 0))?;
        }
        submitting.push(start.elapsed().as_nanos() as f64 / f64::from(count));
        Ok(call!(driver.cuStreamSynchronize(stream))?)
    })?;
    submitting.sort_by(f64::total_cmp);
    Ok([record, wait, query, stream_query, submitting[submitting.len() / 2], through])
}

/// Nanoseconds to enqueue an op, bytes it takes while it waits, nanoseconds to run it.
fn pending(count: u32) -> TestResult<[f64; 3]> {
    let bench = Bench::new(Mode::Deterministic(Order::Lazy))?;
    let driver = &bench.driver;
    let before = resident()?;
    let start = Instant::now();
    for value in 0..count {
        let stream = bench.streams[value as usize % STREAMS];
        call!(driver.cuStreamWriteValue32_v2(stream, bench.word, value, 0))?;
    }
    let enqueuing = start.elapsed();
    assert_eq!(black_box(bench.machine.unfinished_ops()), count as usize);
    let bytes = resident()? - before;
    let start = Instant::now();
    call!(driver.cuCtxSynchronize())?;
    let running = start.elapsed();
    assert_eq!(bench.machine.unfinished_ops(), 0);
    let each = |time: Duration| time.as_nanos() as f64 / f64::from(count);
    Ok([each(enqueuing), bytes / f64::from(count), each(running)])
}

fn main() -> TestResult {
    let modes = [
        ("threads", Mode::Threads),
        ("eager", Mode::Deterministic(Order::Eager)),
        ("lazy", Mode::Deterministic(Order::Lazy)),
    ];
    let names = ["event record", "stream wait", "event query", "stream query", "enqueue a write", "… and run it"];
    let real = ["271", "312", "1494", "", "1247 (memset)", ""];
    let mut columns = Vec::new();
    for (_, mode) in modes {
        columns.push(calls(mode)?);
    }
    println!("{:<18}{:>10}{:>10}{:>10}   real driver      ns per call", "", modes[0].0, modes[1].0, modes[2].0);
    for (row, (name, real)) in names.iter().zip(real).enumerate() {
        println!("{name:<18}{:>10.0}{:>10.0}{:>10.0}   {real}", columns[0][row], columns[1][row], columns[2][row]);
    }
    println!();
    println!("{:<18}{:>14}{:>14}{:>14}", "pending ops", "ns to enqueue", "bytes per op", "ns to run");
    for count in [10_000, 100_000, 1_000_000] {
        let [enqueuing, bytes, running] = pending(count)?;
        println!("{count:<18}{enqueuing:>14.0}{bytes:>14.0}{running:>14.0}");
        assert!(count < 100_000 || bytes <= 300.0, "{bytes} bytes per op are too many");
    }
    Ok(())
}
