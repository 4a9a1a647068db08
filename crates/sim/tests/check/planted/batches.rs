//! Copies that go in one call, and have no order among themselves.

use warploom_testkit::driver::Error;
use warploom_testkit::sys::types::{CUmemLocation, CUmemLocationType, CUmemcpyAttributes, CUmemcpySrcAccessOrder};
use warploom_testkit::{TestResult, call};

use super::bench::{Bench, Stream};
use super::program::{failing, innocent, planted};

/// Copies given as destination, source and size, in one batch.
fn batch<const N: usize>(bench: &Bench, copies: [(u64, u64, usize); N], stream: Stream) -> Result<(), Error> {
    let (mut to, mut from, mut sizes) =
        (copies.map(|copy| copy.0), copies.map(|copy| copy.1), copies.map(|copy| copy.2));
    let nowhere = CUmemLocation::new(CUmemLocationType(0), 0);
    let in_stream_order = CUmemcpySrcAccessOrder(1);
    let mut attributes =
        CUmemcpyAttributes { srcAccessOrder: in_stream_order, srcLocHint: nowhere, dstLocHint: nowhere, flags: 0 };
    let (mut start, driver) = (0, &bench.driver);
    let [to, from] = [to.as_mut_ptr(), from.as_mut_ptr()];
    call!(driver.cuMemcpyBatchAsync_v2(to, from, sizes.as_mut_ptr(), N, &mut attributes, &mut start, 1, stream.raw()))
}

#[test]
fn two_copies_of_a_batch_write_the_same_bytes() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        let second = if bench.fixed { 32 } else { 31 };
        batch(bench, [(to, from, 32), (to + second, from, 32)], stream)?;
        Ok(())
    })
    .finds("race: cuMemcpyBatchAsync_v2 on A writes, cuMemcpyBatchAsync_v2 on A writes 31..32 of m1; separate calls")
    .says("the copies of a batch have no order: put these two into calls of their own")
    .check()
}

#[test]
fn a_copy_of_a_batch_reads_what_another_writes() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let (from, between, to) = (bench.filled(64)?, bench.filled(64)?, bench.alloc(64)?);
        if bench.fixed {
            batch(bench, [(between, from, 64)], stream)?;
            batch(bench, [(to, between, 64)], stream)?;
        } else {
            batch(bench, [(between, from, 64), (to, between, 64)], stream)?;
        }
        Ok(())
    })
    .finds("race: cuMemcpyBatchAsync_v2 on A writes, cuMemcpyBatchAsync_v2 on A reads 0..64 of m1; separate calls")
    .check()
}

#[test]
fn a_batch_does_not_wait_for_another_stream() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        bench.fill(from + 40, 8, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        batch(bench, [(to, from, 32), (to + 32, from + 32, 32)], second)?;
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemcpyBatchAsync_v2 on B reads 40..48 of m0; B after A")
    .check()
}

#[test]
fn another_stream_does_not_wait_for_a_batch() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        batch(bench, [(to, from, 32), (to + 32, from + 32, 32)], first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        bench.fill(to + 60, 4, second)?;
        Ok(())
    })
    .finds("race: cuMemcpyBatchAsync_v2 on A writes, cuMemsetD8Async on B writes 60..64 of m1; B after A")
    .check()
}

#[test]
fn later_work_of_the_stream_comes_behind_the_whole_batch() -> TestResult {
    innocent(|bench| {
        let stream = bench.non_blocking()?;
        let (from, to) = (bench.filled(64)?, bench.alloc(64)?);
        bench.fill(to, 64, stream)?;
        batch(bench, [(to, from, 32), (to + 32, from + 32, 32)], stream)?;
        batch(bench, [(to + 32, from, 32), (to, from + 32, 32)], stream)?;
        bench.fill(from, 64, stream)?;
        Ok(())
    })
}

#[test]
fn a_batch_that_fails_copies_nothing_and_is_forgotten() -> TestResult {
    use warploom_testkit::code_of;
    use warploom_testkit::sim::{Mode, Order};
    use warploom_testkit::sys::types::CUresult;

    let bench = failing(Mode::Deterministic(Order::Lazy))?;
    let (stream, other) = bench.two_streams()?;
    let (from, to, fresh) = (bench.filled(64)?, bench.filled(64)?, bench.alloc(64)?);
    bench.fill(from, 64, stream)?;
    let copies = [(fresh, from, 32), (to, from, 32), (to + 16, from, 32)];
    assert_eq!(code_of(batch(&bench, copies, stream)), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    assert_eq!(bench.machine.findings().len(), 1);
    // Its copies do not count: another stream may write where they would have.
    bench.fill(to, 64, other)?;
    bench.sync(other)?;
    assert_eq!(bench.download(to, 64)?, [7; 64]);
    assert_eq!(bench.machine.take_findings().len(), 1);
    // And what the first would have written is still unwritten.
    assert_eq!(code_of(bench.download(fresh, 64).map(drop)), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    Ok(())
}
