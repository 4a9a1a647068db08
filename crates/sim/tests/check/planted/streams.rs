//! Kinds of streams, and what orders them without a wait.

use warploom_testkit::{TestResult, call};

use super::bench::{DEFAULT, PER_THREAD};
use super::program::{innocent, planted};

#[test]
fn a_non_blocking_stream_does_not_wait_for_the_default_stream() -> TestResult {
    planted(|bench| {
        let stream = if bench.fixed { bench.stream()? } else { bench.non_blocking()? };
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, DEFAULT)?;
        bench.fill(memory, 64, stream)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on default 0 writes, cuMemsetD8Async on A writes 0..64 of m0; A after default 0")
    .says("on the default stream of device 0")
    .check()
}

#[test]
fn the_default_stream_does_not_wait_for_a_non_blocking_stream() -> TestResult {
    planted(|bench| {
        let stream = if bench.fixed { bench.stream()? } else { bench.non_blocking()? };
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, stream)?;
        // A copy without a stream is one of the default stream.
        bench.download(memory, 64)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemcpyDtoH_v2 on default 0 reads 0..64 of m0; default 0 after A")
    .check()
}

#[test]
fn a_default_stream_orders_the_blocking_streams_around_it() -> TestResult {
    innocent(|bench| {
        let (first, second) = (bench.stream()?, bench.stream()?);
        let (memory, other) = (bench.alloc(64)?, bench.alloc(8)?);
        bench.fill(memory, 64, first)?;
        bench.fill(other, 8, DEFAULT)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn blocking_streams_do_not_wait_for_each_other() -> TestResult {
    planted(|bench| {
        let (first, second) = (bench.stream()?, bench.stream()?);
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn the_default_stream_of_a_thread_is_a_stream_of_its_own() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, PER_THREAD)?;
        if bench.fixed {
            bench.sync(PER_THREAD)?;
        }
        bench.fill(memory, 64, stream)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on per-thread writes, cuMemsetD8Async on A writes 0..64 of m0; A after per-thread")
    .says("a per-thread default stream")
    .check()
}

#[test]
fn destroying_a_stream_does_not_wait_for_its_work() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, first)?;
        if bench.fixed {
            bench.sync(first)?;
        }
        bench.destroy_stream(first)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn the_host_synchronises_with_the_wrong_stream() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, first)?;
        bench.sync(if bench.fixed { first } else { second })?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_stream_that_was_seen_to_be_idle_orders_what_comes_next() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, driver) = (bench.alloc(64)?, &bench.driver);
        bench.fill(memory, 64, first)?;
        while call!(driver.cuStreamQuery(first.raw())).is_err() {
            std::thread::yield_now();
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn synchronising_a_context_orders_everything_in_it() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, driver) = (bench.alloc(64)?, &bench.driver);
        bench.fill(memory, 64, first)?;
        bench.destroy_stream(first)?;
        call!(driver.cuCtxSynchronize())?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}
