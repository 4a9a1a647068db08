//! Waits that are there and do not do what they look like.

use warploom_testkit::{TestResult, call};

use super::program::{innocent, planted};

#[test]
fn a_wait_before_the_record_waits_for_nothing() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        bench.fill(memory, 64, first)?;
        if bench.fixed {
            bench.record(done, first)?;
            bench.wait(second, done)?;
        } else {
            bench.wait(second, done)?;
            bench.record(done, first)?;
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_record_before_the_work_does_not_cover_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        if !bench.fixed {
            bench.record(done, first)?;
        }
        bench.fill(memory, 64, first)?;
        if bench.fixed {
            bench.record(done, first)?;
        }
        bench.wait(second, done)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn a_wait_keeps_to_the_record_it_found() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        bench.fill(memory, 32, first)?;
        bench.record(done, first)?;
        bench.wait(second, done)?;
        bench.fill(memory + 32, 32, first)?;
        bench.record(done, first)?;
        if bench.fixed {
            bench.wait(second, done)?;
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 32..64 of m0; B after A")
    .check()
}

#[test]
fn an_event_that_another_stream_records_too_loses_its_first_record() -> TestResult {
    planted(|bench| {
        let (first, other) = bench.two_streams()?;
        let second = bench.non_blocking()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        bench.fill(memory, 64, first)?;
        bench.record(done, first)?;
        if !bench.fixed {
            bench.record(done, other)?;
        }
        bench.wait(second, done)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on C writes 0..64 of m0; C after A")
    .check()
}

#[test]
fn a_destroyed_event_still_orders_who_waited_for_it() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        bench.fill(memory, 64, first)?;
        bench.record(done, first)?;
        bench.wait(second, done)?;
        bench.destroy_event(done)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn the_host_synchronises_with_the_wrong_event() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, [early, late]) = (bench.alloc(64)?, [bench.event()?, bench.event()?]);
        bench.record(early, first)?;
        bench.fill(memory, 64, first)?;
        bench.record(late, first)?;
        let driver = &bench.driver;
        let awaited = if bench.fixed { late } else { early };
        call!(driver.cuEventSynchronize(awaited.raw()))?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn an_event_that_was_seen_to_be_reached_orders_what_comes_next() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, done) = (bench.alloc(64)?, bench.event()?);
        bench.fill(memory, 64, first)?;
        bench.record(done, first)?;
        let driver = &bench.driver;
        while call!(driver.cuEventQuery(done.raw())).is_err() {
            std::thread::yield_now();
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}
