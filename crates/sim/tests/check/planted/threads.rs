//! Host threads, and how they hand things over.

use std::thread::scope;

use warploom_testkit::TestResult;
use warploom_testkit::driver::Error;
use warploom_testkit::sim::HandOver;

use super::bench::{Bench, PER_THREAD};
use super::program::{innocent, planted};

/// Runs `body` on another thread, in the bench's context, and gives what that thread hands over at its end.
fn on_another_thread(bench: &Bench, body: impl FnOnce() -> Result<(), Error> + Send) -> TestResult<HandOver> {
    let run = || {
        bench.enter().and_then(|()| body())?;
        Ok::<_, Error>(bench.machine.hand_over())
    };
    Ok(scope(|scope| scope.spawn(run).join()).map_err(|_| "the thread panicked")??)
}

#[test]
fn work_of_another_thread_is_not_taken_over() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        let start = bench.machine.hand_over();
        let end = on_another_thread(bench, || {
            bench.machine.take_over(&start);
            bench.fill(memory, 64, first)?;
            bench.sync(first)
        })?;
        if bench.fixed {
            bench.machine.take_over(&end);
        }
        bench.fill(memory, 64, second)?;
        bench.machine.take_over(&end);
        Ok(())
    })
    .with_hand_overs()
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_thread_uses_memory_that_it_was_not_given() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let start = bench.machine.hand_over();
        let end = on_another_thread(bench, || {
            if bench.fixed {
                bench.machine.take_over(&start);
            }
            bench.fill(memory, 64, stream)
        })?;
        bench.machine.take_over(&end);
        Ok(())
    })
    .with_hand_overs()
    .finds("use before allocation: cuMemsetD8Async on A writes 0..64 of m0 of cuMemAlloc_v2; host after host")
    .says("Machine::hand_over and Machine::take_over")
    .check()
}

#[test]
fn two_threads_touch_page_locked_memory() -> TestResult {
    planted(|bench| {
        let shared = bench.pinned(64)?;
        let start = bench.machine.hand_over();
        let end = on_another_thread(bench, || {
            bench.machine.take_over(&start);
            drop(bench.machine.host_access(shared, 32, true));
            Ok(())
        })?;
        if bench.fixed {
            bench.machine.take_over(&end);
        }
        drop(bench.machine.host_access(shared, 64, false)?);
        bench.machine.take_over(&end);
        Ok(())
    })
    .with_hand_overs()
    .unstoppable()
    .finds("race: the host writes, the host reads 0..32 of m0; host after host")
    .says("order the two accesses; between threads, say so with Machine::hand_over and Machine::take_over")
    .check()
}

#[test]
fn a_copy_reads_what_another_thread_wrote_and_did_not_hand_over() -> TestResult {
    planted(|bench| {
        let (stream, shared) = (bench.non_blocking()?, bench.pinned(64)?);
        let memory = bench.alloc(64)?;
        let start = bench.machine.hand_over();
        let end = on_another_thread(bench, || {
            bench.machine.take_over(&start);
            drop(bench.machine.host_access(shared, 64, true));
            Ok(())
        })?;
        if bench.fixed {
            bench.machine.take_over(&end);
        }
        bench.copy(memory, shared, 64, stream)?;
        bench.machine.take_over(&end);
        Ok(())
    })
    .with_hand_overs()
    .finds("race: the host writes, cuMemcpyDtoDAsync_v2 on A reads 0..64 of m0; A after host")
    .check()
}

#[test]
fn each_thread_has_a_default_stream_of_its_own() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(64)?;
        on_another_thread(bench, || {
            bench.fill(memory, 64, PER_THREAD)?;
            if bench.fixed { bench.sync(PER_THREAD) } else { Ok(()) }
        })?;
        bench.fill(memory, 64, PER_THREAD)?;
        Ok(())
    })
    .finds(
        "race: cuMemsetD8Async on per-thread writes, cuMemsetD8Async on per-thread writes 0..64 of m0; \
         per-thread after per-thread",
    )
    .check()
}

#[test]
fn threads_that_were_seen_to_take_turns_are_ordered() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        on_another_thread(bench, || {
            bench.fill(memory, 64, first)?;
            bench.sync(first)
        })?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn an_event_orders_the_work_of_two_threads() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        let start = bench.machine.hand_over();
        let end = on_another_thread(bench, || {
            bench.machine.take_over(&start);
            bench.fill(memory, 64, first)?;
            bench.record(done, first)
        })?;
        bench.wait(second, done)?;
        bench.fill(memory, 64, second)?;
        bench.machine.take_over(&end);
        Ok(())
    })
    .with_hand_overs()
    .stays_quiet()
}
