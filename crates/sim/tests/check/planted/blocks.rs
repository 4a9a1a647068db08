//! Copies and fills of rows: what touches, and what only passes by.

use std::ptr::{null, null_mut};

use warploom_testkit::driver::Error;
use warploom_testkit::sys::types::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype};
use warploom_testkit::{TestResult, call};

use super::bench::{Bench, Stream};
use super::program::{innocent, planted};

const DEVICE: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_DEVICE;

/// Copies four rows of `width` bytes, 64 apart on both sides, that start `column` bytes into theirs.
fn copy_rows(bench: &Bench, to: u64, from: u64, (column, width): (usize, usize), on: Stream) -> Result<(), Error> {
    let rows = CUDA_MEMCPY2D {
        srcXInBytes: column,
        srcY: 0,
        srcMemoryType: DEVICE,
        srcHost: null(),
        srcDevice: from,
        srcArray: null_mut(),
        srcPitch: 64,
        dstXInBytes: column,
        dstY: 0,
        dstMemoryType: DEVICE,
        dstHost: null_mut(),
        dstDevice: to,
        dstArray: null_mut(),
        dstPitch: 64,
        WidthInBytes: width,
        Height: 4,
    };
    let driver = &bench.driver;
    call!(driver.cuMemcpy2DAsync_v2(&rows, on.raw()))
}

/// Copies two slices of two rows of 16 bytes; rows are 32 and slices 128 bytes apart, and `row` is the first
/// of each.
fn copy_slices(bench: &Bench, to: u64, from: u64, row: usize, on: Stream) -> Result<(), Error> {
    let slices = CUDA_MEMCPY3D {
        srcXInBytes: 0,
        srcY: row,
        srcZ: 0,
        srcLOD: 0,
        srcMemoryType: DEVICE,
        srcHost: null(),
        srcDevice: from,
        srcArray: null_mut(),
        reserved0: null_mut(),
        srcPitch: 32,
        srcHeight: 4,
        dstXInBytes: 0,
        dstY: row,
        dstZ: 0,
        dstLOD: 0,
        dstMemoryType: DEVICE,
        dstHost: null_mut(),
        dstDevice: to,
        dstArray: null_mut(),
        reserved1: null_mut(),
        dstPitch: 32,
        dstHeight: 4,
        WidthInBytes: 16,
        Height: 2,
        Depth: 2,
    };
    let driver = &bench.driver;
    call!(driver.cuMemcpy3DAsync_v2(&slices, on.raw()))
}

#[test]
fn the_columns_of_two_copies_overlap_by_a_byte() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(256)?, bench.alloc(256)?);
        copy_rows(bench, to, from, (0, 32), first)?;
        let column = if bench.fixed { 32 } else { 31 };
        copy_rows(bench, to, from, (column, 32), second)?;
        Ok(())
    })
    .finds("race: cuMemcpy2DAsync_v2 on A writes, cuMemcpy2DAsync_v2 on B writes 31..32 of m1; B after A")
    .check()
}

#[test]
fn a_line_that_crosses_the_rows_of_a_copy_meets_them() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(256)?, bench.alloc(256)?);
        copy_rows(bench, to, from, (0, 32), first)?;
        let start = if bench.fixed { 96 } else { 95 };
        bench.fill(to + start, 32, second)?;
        Ok(())
    })
    .finds("race: cuMemcpy2DAsync_v2 on A writes, cuMemsetD8Async on B writes 95..96 of m1; B after A")
    .check()
}

#[test]
fn filled_rows_overlap_by_a_byte() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, driver) = (bench.alloc(256)?, &bench.driver);
        call!(driver.cuMemsetD2D8Async(memory, 64, 1, 32, 4, first.raw()))?;
        let width = if bench.fixed { 32 } else { 33 };
        call!(driver.cuMemsetD2D8Async(memory + 64 - 32, 64, 2, width, 3, second.raw()))?;
        Ok(())
    })
    .finds("race: cuMemsetD2D8Async on A writes, cuMemsetD2D8Async on B writes 64..65 of m0; B after A")
    .check()
}

#[test]
fn filled_rows_of_words_are_as_wide_as_their_words() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (memory, driver) = (bench.alloc(256)?, &bench.driver);
        call!(driver.cuMemsetD2D32Async(memory, 64, 1, 8, 4, first.raw()))?;
        let start = if bench.fixed { 32 } else { 28 };
        call!(driver.cuMemsetD32Async(memory + start, 2, 1, second.raw()))?;
        Ok(())
    })
    .finds("race: cuMemsetD2D32Async on A writes, cuMemsetD32Async on B writes 28..32 of m0; B after A")
    .check()
}

#[test]
fn slices_share_a_row() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(256)?, bench.alloc(256)?);
        copy_slices(bench, to, from, 0, first)?;
        let row = if bench.fixed { 2 } else { 1 };
        copy_slices(bench, to, from, row, second)?;
        Ok(())
    })
    .finds("race: cuMemcpy3DAsync_v2 on A writes, cuMemcpy3DAsync_v2 on B writes 32..48 of m1; B after A")
    .check()
}

#[test]
fn rows_that_interleave_do_not_touch() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (from, to) = (bench.filled(256)?, bench.alloc(256)?);
        copy_rows(bench, to, from, (0, 20), first)?;
        copy_rows(bench, to, from, (20, 44), second)?;
        Ok(())
    })
}
