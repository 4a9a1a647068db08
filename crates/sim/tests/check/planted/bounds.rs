//! Memory that is not there, or not enough of it.

use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, call};

use super::program::{innocent, planted};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

#[test]
fn a_fill_ends_a_byte_behind_its_memory() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(100)?);
        let bytes = if bench.fixed { 100 } else { 101 };
        bench.fill(memory, bytes, stream)?;
        Ok(())
    })
    .finds("out of bounds: cuMemsetD8Async writes 0..101 of m0, 1 outside")
    .says("bytes 0..101 of the 100 bytes at")
    .says("1 of them is outside")
    .refused(INVALID)
    .check()
}

#[test]
fn a_copy_starts_a_byte_before_its_memory() -> TestResult {
    planted(|bench| {
        // Something else is in front, and far enough away not to be meant.
        let (stream, to) = (bench.non_blocking()?, bench.alloc(64)?);
        let from = bench.filled(64)?;
        let start = if bench.fixed { from } else { from - 1 };
        bench.copy(to, start, 64, stream)?;
        Ok(())
    })
    .finds("out of bounds: cuMemcpyDtoDAsync_v2 reads -1..63 of m1, 1 outside")
    .refused(INVALID)
    .check()
}

#[test]
fn a_copy_starts_where_its_memory_ends() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(100)?;
        let start = if bench.fixed { 96 } else { 100 };
        bench.upload(memory + start, 4)?;
        Ok(())
    })
    .finds("out of bounds: cuMemcpyHtoD_v2 writes 100..104 of m0, 4 outside")
    .refused(INVALID)
    .check()
}

#[test]
fn the_last_row_of_a_fill_does_not_fit() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(4 * 64)?);
        let (driver, rows) = (&bench.driver, if bench.fixed { 4 } else { 5 });
        call!(driver.cuMemsetD2D8Async(memory, 64, 1, 48, rows, stream.raw()))?;
        Ok(())
    })
    .finds("out of bounds: cuMemsetD2D8Async writes 0..304 of m0, 48 outside")
    .says("48 of them are outside")
    .refused(INVALID)
    .check()
}

#[test]
fn a_word_is_written_behind_its_memory() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        let (driver, at) = (&bench.driver, if bench.fixed { 60 } else { 64 });
        call!(driver.cuStreamWriteValue32_v2(stream.raw(), memory + at, 1, 0))?;
        Ok(())
    })
    .finds("out of bounds: cuStreamWriteValue32_v2 writes 64..68 of m0, 4 outside")
    .refused(INVALID)
    .check()
}

#[test]
fn pool_memory_is_as_long_as_it_was_asked_for() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        // The pool takes 512 bytes for these.
        let memory = bench.alloc_async(100, stream)?;
        bench.fill(memory, if bench.fixed { 100 } else { 101 }, stream)?;
        Ok(())
    })
    .finds("out of bounds: cuMemsetD8Async writes 0..101 of m0, 1 outside")
    .refused(INVALID)
    .check()
}

#[test]
fn a_pointer_leads_nowhere() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        // Far from anything: the pointer was multiplied where its index should have been.
        let to = if bench.fixed { memory } else { memory << 8 };
        bench.fill(to, 64, stream)?;
        Ok(())
    })
    .finds("wild pointer: cuMemsetD8Async writes 64 bytes")
    .says("where nothing is allocated")
    .refused(INVALID)
    .check()
}

#[test]
fn a_host_pointer_leads_nowhere() -> TestResult {
    planted(|bench| {
        let (memory, driver, bytes) = (bench.filled(64)?, &bench.driver, [0_u8; 64]);
        let target = if bench.fixed { bytes.as_ptr() } else { std::ptr::null() };
        call!(driver.cuMemcpyDtoH_v2(target.cast_mut().cast(), memory, 64))?;
        Ok(())
    })
    .finds("wild pointer: cuMemcpyDtoH_v2 writes 64 bytes")
    .refused(INVALID)
    .check()
}

#[test]
fn memory_is_used_after_it_was_freed() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(100)?);
        if !bench.fixed {
            bench.free(memory)?;
        }
        bench.fill(memory + 10, 20, stream)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async writes 10..30 of m0, cuMemFree_v2 frees; too late")
    .says("has freed")
    .refused(INVALID)
    .check()
}

#[test]
fn the_last_to_be_freed_is_named() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        // Two small pieces, and then a large one in the place of both.
        let (first, second) = (bench.alloc(64)?, bench.alloc(64)?);
        bench.free(second)?;
        bench.free(first)?;
        let large = bench.alloc(4096)?;
        assert_eq!(large, first);
        if !bench.fixed {
            bench.free(large)?;
        }
        bench.fill(second + 64, 16, stream)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async writes 576..592 of m2, cuMemFree_v2 frees; too late")
    .refused(INVALID)
    .check()
}

#[test]
fn neighbours_are_told_apart() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let (one, other) = (bench.alloc(100)?, bench.alloc(100)?);
        bench.fill(one, 100, first)?;
        bench.fill(other, 100, second)?;
        Ok(())
    })
}
