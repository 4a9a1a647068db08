//! Streams that meet through a value in memory.

use std::ptr::null_mut;

use warploom_testkit::driver::{Driver, Error};
use warploom_testkit::sim::{Checks, FindingKind, Machine};
use warploom_testkit::sys::types::CUstreamBatchMemOpParams;
use warploom_testkit::{Primary, TestResult, answers, call, modes};

use super::bench::{Bench, Stream};
use super::program::{innocent, planted};

fn write(bench: &Bench, word: u64, value: u32, stream: Stream) -> Result<(), Error> {
    let driver = &bench.driver;
    call!(driver.cuStreamWriteValue32_v2(stream.raw(), word, value, 0))
}

/// Waits until the word is at least `value`.
fn wait(bench: &Bench, word: u64, value: u32, stream: Stream) -> Result<(), Error> {
    let driver = &bench.driver;
    call!(driver.cuStreamWaitValue32_v2(stream.raw(), word, value, 0))
}

#[test]
fn a_meeting_through_a_value_orders_what_is_around_it() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, word) = (bench.alloc(64)?, bench.filled(8)?);
        bench.fill(memory, 64, first)?;
        write(bench, word, 0x0606_0606, first)?;
        wait(bench, word, 0x0606_0606, second)?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn a_wait_may_be_enqueued_before_the_write_that_ends_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, word) = (bench.alloc(64)?, bench.filled(8)?);
        wait(bench, word, 0x0606_0606, second)?;
        bench.fill(memory, 64, second)?;
        bench.fill(memory + 32, 0, first)?;
        write(bench, word, 0x0606_0606, first)?;
        bench.sync(second)?;
        bench.fill(memory, 64, first)?;
        Ok(())
    })
    .asynchronous()
    .stays_quiet()
}

#[test]
fn a_word_that_streams_meet_at_is_overwritten_by_a_fill() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let word = bench.filled(8)?;
        write(bench, word, 1, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        bench.fill(word, 8, second)?;
        Ok(())
    })
    .finds("race: cuStreamWriteValue32_v2 on A writes a value to, cuMemsetD8Async on B writes 0..4 of m0; B after A")
    .says("writes a value to them")
    .check()
}

#[test]
fn a_word_is_read_while_a_stream_writes_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (word, to) = (bench.filled(8)?, bench.alloc(8)?);
        write(bench, word + 4, 1, first)?;
        if bench.fixed {
            bench.sync(first)?;
        }
        bench.copy(to, word, 8, second)?;
        Ok(())
    })
    .finds(
        "race: cuStreamWriteValue32_v2 on A writes a value to, cuMemcpyDtoDAsync_v2 on B reads 4..8 of m0; B after A",
    )
    .check()
}

#[test]
fn several_streams_may_write_the_word_they_meet_at() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let word = bench.filled(8)?;
        write(bench, word, 1, first)?;
        write(bench, word, 2, second)?;
        Ok(())
    })
}

#[test]
fn of_a_batch_with_a_race_in_it_nothing_is_done_where_calls_fail() -> TestResult {
    for mode in modes(2) {
        let machine = Machine::builder().mode(mode).checks(Checks::fail()).start()?;
        let driver = Driver::open(&machine)?;
        driver.initialize()?;
        let _primary = Primary::of(&driver, 0)?;
        let (mut first, mut second, mut memory, mut bytes) = (null_mut(), null_mut(), 0, [0_u8; 16]);
        call!(driver.cuStreamCreate(&mut first, 1))?;
        call!(driver.cuStreamCreate(&mut second, 1))?;
        call!(driver.cuMemAlloc_v2(&mut memory, 16))?;
        call!(driver.cuMemsetD8Async(memory, 3, 16, first))?;
        call!(driver.cuStreamSynchronize(first))?;
        call!(driver.cuMemsetD8Async(memory + 8, 4, 8, first))?;
        let write = |address: u64| CUstreamBatchMemOpParams { pad: [2, address, 7, 0, 0, 0] };
        let mut batch = [write(memory), write(memory + 8)];
        answers!(driver.cuStreamBatchMemOp_v2(second, 2, batch.as_mut_ptr(), 0), CUDA_ERROR_ILLEGAL_STATE);
        assert!(matches!(machine.findings().as_slice(), [finding] if matches!(finding.kind, FindingKind::Race { .. })));
        call!(driver.cuCtxSynchronize())?;
        call!(driver.cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), memory, 16))?;
        assert_eq!(bytes, [3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4], "{mode:?}");
        call!(driver.cuStreamBatchMemOp_v2(second, 2, batch.as_mut_ptr(), 0))?;
    }
    Ok(())
}
