//! Two streams, the same bytes, and no order.

use warploom_testkit::sim::Mode;
use warploom_testkit::{TestResult, call};

use super::bench::pointer;
use super::program::{innocent, planted};

#[test]
fn a_stream_reads_what_another_is_still_writing() -> TestResult {
    planted(|bench| {
        let (writer, reader) = bench.two_streams()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        bench.fill(from, 64, writer)?;
        if bench.fixed {
            bench.order(writer, reader)?;
        }
        bench.copy(to, from, 64, reader)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemcpyDtoDAsync_v2 on B reads 0..64 of m0; B after A")
    .says("record an event on stream")
    .says("(cuStreamWaitEvent)")
    .check()
}

#[test]
fn a_stream_overwrites_what_another_is_still_reading() -> TestResult {
    planted(|bench| {
        let (reader, writer) = bench.two_streams()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        bench.copy(to, from, 64, reader)?;
        if bench.fixed {
            bench.sync(reader)?;
        }
        bench.fill(from, 64, writer)?;
        Ok(())
    })
    .finds("race: cuMemcpyDtoDAsync_v2 on A reads, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .says("or synchronise with stream")
    .check()
}

#[test]
fn two_streams_write_the_same_bytes() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
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
fn two_writes_share_a_single_byte() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 33, first)?;
        let start = if bench.fixed { 33 } else { 32 };
        bench.fill(memory + start, 31, second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemsetD8Async on B writes 32..33 of m0; B after A")
    .check()
}

#[test]
fn one_wait_of_two_is_missing() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let last = bench.non_blocking()?;
        let (left, right) = (bench.alloc(32)?, bench.alloc(32)?);
        let sum = bench.alloc(64)?;
        bench.fill(left, 32, first)?;
        bench.fill(right, 32, second)?;
        bench.order(first, last)?;
        if bench.fixed {
            bench.order(second, last)?;
        }
        bench.copy(sum, left, 32, last)?;
        bench.copy(sum + 32, right, 32, last)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on B writes, cuMemcpyDtoDAsync_v2 on C reads 0..32 of m1; C after B")
    .check()
}

#[test]
fn a_writer_waits_for_one_of_two_readers() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let writer = bench.non_blocking()?;
        let (memory, one, other) = (bench.filled(32)?, bench.alloc(32)?, bench.alloc(32)?);
        bench.copy(one, memory, 32, first)?;
        bench.copy(other, memory, 32, second)?;
        bench.order(second, writer)?;
        if bench.fixed {
            bench.order(first, writer)?;
        }
        bench.fill(memory, 32, writer)?;
        Ok(())
    })
    .finds("race: cuMemcpyDtoDAsync_v2 on A reads, cuMemsetD8Async on C writes 0..32 of m0; C after A")
    .check()
}

#[test]
fn the_last_buffer_of_two_is_refilled_too_early() -> TestResult {
    planted(|bench| {
        let (uploads, work) = bench.two_streams()?;
        let (first, second, sum) = (bench.alloc(32)?, bench.alloc(32)?, bench.filled(32)?);
        let free = [bench.event()?, bench.event()?];
        for turn in 0..4 {
            let (buffer, free) = (if turn % 2 == 0 { first } else { second }, free[turn % 2]);
            // The bug: the last turn forgets that its buffer may be in use.
            if turn < 3 || bench.fixed {
                bench.wait(uploads, free)?;
            }
            bench.fill(buffer, 32, uploads)?;
            bench.order(uploads, work)?;
            bench.copy(sum, buffer, 32, work)?;
            bench.record(free, work)?;
        }
        Ok(())
    })
    .finds("race: cuMemcpyDtoDAsync_v2 on B reads, cuMemsetD8Async on A writes 0..32 of m1; A after B")
    .check()
}

#[test]
fn a_copy_of_pageable_bytes_races_with_the_device_s_own() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, driver) = (bench.alloc(64)?, &bench.driver);
        let bytes = [1_u8; 16];
        // Small copies from pageable memory are staged: the call is back before the device has the bytes.
        call!(driver.cuMemcpyHtoDAsync_v2(memory + 8, bytes.as_ptr().cast(), bytes.len(), first.raw()))?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        bench.fill(memory, 64, second)?;
        Ok(())
    })
    .finds("race: cuMemcpyHtoDAsync_v2 on A writes, cuMemsetD8Async on B writes 8..24 of m0; B after A")
    .check()
}

#[test]
fn a_copy_into_pageable_memory_is_over_when_its_call_is() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, driver) = (bench.filled(64)?, &bench.driver);
        let mut bytes = [0_u8; 64];
        call!(driver.cuMemcpyDtoHAsync_v2(bytes.as_mut_ptr().cast(), memory, bytes.len(), first.raw()))?;
        bench.fill(memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn page_locked_memory_races_like_any_other() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (shared, memory) = (bench.pinned(64)?, bench.filled(64)?);
        bench.copy_out(shared, memory, 64, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        let driver = &bench.driver;
        call!(driver.cuMemcpyHtoDAsync_v2(memory, pointer(shared), 64, second.raw()))?;
        Ok(())
    })
    .finds("race: cuMemcpyDtoHAsync_v2 on A writes, cuMemcpyHtoDAsync_v2 on B reads 0..64 of m0; B after A")
    .finds("race: cuMemcpyDtoHAsync_v2 on A reads, cuMemcpyHtoDAsync_v2 on B writes 0..64 of m1; B after A")
    .check()
}

#[test]
fn readers_need_no_order() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, one, other) = (bench.filled(64)?, bench.alloc(64)?, bench.alloc(64)?);
        bench.copy(one, memory, 64, first)?;
        bench.copy(other, memory, 64, second)?;
        Ok(())
    })
}

#[test]
fn a_wait_is_passed_on_through_a_third_stream() -> TestResult {
    innocent(|bench| {
        let (first, last) = bench.two_streams()?;
        let between = bench.non_blocking()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, first)?;
        bench.order(first, between)?;
        bench.order(between, last)?;
        bench.fill(memory, 64, last)?;
        Ok(())
    })
}

/// A call that a check fails has no effect: it enqueues nothing, and later checks do not count it.
#[test]
fn a_call_that_fails_enqueues_and_changes_nothing() -> TestResult {
    use super::program::failing;
    use warploom_testkit::sim::Order;
    use warploom_testkit::sys::types::CUresult;

    let bench = failing(Mode::Deterministic(Order::Lazy))?;
    let (first, second) = bench.two_streams()?;
    let memory = bench.filled(64)?;
    bench.fill(memory, 32, first)?;
    let before = bench.machine.unfinished_ops();
    assert_eq!(before, 1);
    let driver = &bench.driver;
    let failed = call!(driver.cuMemsetD8Async(memory, 9, 64, second.raw()));
    assert_eq!(warploom_testkit::code_of(failed), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    assert_eq!(bench.machine.unfinished_ops(), before);
    assert_eq!(bench.machine.findings().len(), 1);

    // It does not count: a third stream that is ordered after the first alone has no race.
    let third = bench.non_blocking()?;
    bench.order(first, third)?;
    bench.fill(memory, 32, third)?;
    bench.sync(third)?;
    bench.sync(second)?;
    assert_eq!(bench.download(memory, 64)?, [[7; 32], [5; 32]].concat());
    assert_eq!(bench.machine.findings().len(), 1);
    Ok(())
}
