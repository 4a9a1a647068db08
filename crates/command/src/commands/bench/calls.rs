//! Host time of operations that programs do often.
#![expect(unsafe_code, reason = "launches a kernel that does nothing")]

use std::time::Instant;

use warploom::{Buffer, DevicePool, GraphDef, LaunchConfig, Result};

use super::{Bench, kernels, median};
use crate::human::Progress;
use crate::report::CallReport;

/// Bytes of copies, fills and allocations.
const BYTES: usize = 4096;
/// Operations of a round; few enough that a device's queue never fills up, when a call would wait for it.
const TIMES: u32 = 100;

pub(super) fn measure(bench: &Bench, progress: &mut Progress) -> Result<Vec<CallReport>> {
    let context = bench.driver().device(0)?.context()?;
    let (stream, other, pool) = (context.stream()?, context.stream()?, DevicePool::new(&context)?);
    // Memory that is freed stays in the pool, so that an allocation is not one of the operating system.
    pool.set_release_threshold(u64::MAX)?;
    let nothing = context.load(kernels::TEXT)?.kernel("nothing")?;
    let shape = nothing.check(&LaunchConfig::new(1, 32), &context)?;
    let (from, mut to) = (pool.zeroed::<u8>(BYTES, &stream)?, pool.zeroed::<u8>(BYTES, &stream)?);
    let mut filled = pool.zeroed::<u8>(BYTES, &stream)?;
    let (mut event, waited) = (stream.record()?, other.record()?);
    let graph = GraphDef::new(&context)?;
    // SAFETY: the kernel has no parameters and does nothing.
    unsafe { graph.entry().kernel(&nothing, &LaunchConfig::new(1, 32), ()) }?;
    let exec = graph.instantiate()?;
    let mut kept: Vec<Buffer<u8>> = Vec::new();

    let mut meter = Meter { bench, rounds: if bench.quick { 11 } else { 101 }, all: Vec::new(), progress };
    meter.progress.start("calls", 8);
    // SAFETY: the kernel has no parameters and does nothing.
    meter.time("launch a kernel", || unsafe { nothing.launch(&stream, &shape, ()) }, || context.synchronize())?;
    meter.time("launch a graph of one kernel", || exec.launch(&stream), || context.synchronize())?;
    let allocate = |kept: &mut Vec<Buffer<u8>>| pool.allocate(BYTES, &stream).map(|buffer| kept.push(buffer));
    let clear = |kept: &mut Vec<Buffer<u8>>| {
        kept.clear();
        context.synchronize()
    };
    meter.time_with(&mut kept, "allocate 4 KiB from a pool", allocate, clear)?;
    let refill = |kept: &mut Vec<Buffer<u8>>| {
        while kept.len() < TIMES as usize {
            kept.push(pool.allocate(BYTES, &stream)?);
        }
        context.synchronize()
    };
    refill(&mut kept)?;
    let free = |kept: &mut Vec<Buffer<u8>>| kept.pop().map_or(Ok(()), Buffer::close);
    meter.time_with(&mut kept, "free 4 KiB to a pool", free, refill)?;
    meter.time("copy 4 KiB on a device", || from.copy_to(&mut to, &stream), || context.synchronize())?;
    meter.time("fill 4 KiB", || filled.fill(7, &stream), || context.synchronize())?;
    meter.time("record an event", || stream.record_into(&mut event), || context.synchronize())?;
    meter.time("wait for an event", || stream.wait(&waited), || context.synchronize())?;
    Ok(meter.all)
}

/// Times operations, round by round.
struct Meter<'b> {
    bench: &'b Bench,
    rounds: usize,
    all: Vec<CallReport>,
    progress: &'b mut Progress,
}

impl Meter<'_> {
    fn time(
        &mut self,
        operation: &'static str,
        mut once: impl FnMut() -> Result<()>,
        mut settle: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        self.time_with(&mut (), operation, |()| once(), |()| settle())
    }

    /// As [`Meter::time`], with a value that both use.
    fn time_with<S>(
        &mut self,
        state: &mut S,
        operation: &'static str,
        mut once: impl FnMut(&mut S) -> Result<()>,
        mut settle: impl FnMut(&mut S) -> Result<()>,
    ) -> Result<()> {
        let mut rounds = Vec::with_capacity(self.rounds);
        // The first round warms up, and its calls are counted.
        let counter = self.bench.driver().count_calls();
        for _ in 0..TIMES {
            once(state)?;
        }
        let driver_calls = counter.total() as f64 / f64::from(TIMES);
        drop(counter);
        settle(state)?;
        for _ in 0..self.rounds {
            let started = Instant::now();
            for _ in 0..TIMES {
                once(state)?;
            }
            rounds.push(started.elapsed().as_secs_f64() * 1e9 / f64::from(TIMES));
            settle(state)?;
        }
        let (nanoseconds, fastest) = median(rounds);
        self.all.push(CallReport { operation, nanoseconds, fastest, driver_calls });
        self.progress.step();
        Ok(())
    }
}
