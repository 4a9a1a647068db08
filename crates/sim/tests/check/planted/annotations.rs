//! Blocks of an allocation that the program hands out itself.
#![expect(unsafe_code, reason = "calls the functions of an export table")]

use warploom_testkit::TestResult;
use warploom_testkit::driver::{Error, MemoryAnnotations};
use warploom_testkit::sim::{Machine, Mode};
use warploom_testkit::sys::types::CUresult;

use super::bench::{Bench, Stream};
use super::program::{failing, innocent, planted};

/// The bytes of a segment, of which blocks are lent.
const SEGMENT: usize = 4096;

fn annotations(bench: &Bench) -> TestResult<MemoryAnnotations> {
    Ok(bench.driver.memory_annotations().ok_or("the machine checks nothing")?)
}

fn lend(bench: &Bench, address: u64, bytes: usize, stream: Stream) -> TestResult {
    bench.name(address);
    // SAFETY: the bench keeps the stream alive.
    Ok(unsafe { annotations(bench)?.lend(address, bytes, stream.raw()) }?)
}

fn release(bench: &Bench, address: u64, stream: Stream) -> TestResult {
    // SAFETY: as above.
    Ok(unsafe { annotations(bench)?.release(address, stream.raw()) }?)
}

#[test]
fn a_block_is_used_after_it_came_back() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let segment = bench.alloc_async(SEGMENT, stream)?;
        let block = segment + 512;
        lend(bench, block, 100, stream)?;
        bench.fill(block, 100, stream)?;
        if bench.fixed {
            bench.fill(block + 8, 8, stream)?;
        }
        release(bench, block, stream)?;
        if !bench.fixed {
            bench.fill(block + 8, 8, stream)?;
        }
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async on A writes 8..16 of m1, the program's own allocator on A frees; too late")
    .says("which the program's own allocator (call")
    .check()
}

#[test]
fn a_block_comes_back_before_its_uses_are_over() -> TestResult {
    planted(|bench| {
        let (user, other) = bench.two_streams()?;
        let segment = bench.alloc_async(SEGMENT, user)?;
        lend(bench, segment + 512, 100, user)?;
        bench.fill(segment + 520, 8, user)?;
        if bench.fixed {
            bench.order(user, other)?;
        }
        release(bench, segment + 512, other)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async on A writes 8..16 of m1, the program's own allocator on B frees; B after A")
    .check()
}

#[test]
fn a_block_is_lent_to_a_stream_that_has_not_waited() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let segment = bench.alloc_async(SEGMENT, first)?;
        bench.order(first, second)?;
        lend(bench, segment + 512, 100, first)?;
        release(bench, segment + 512, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        lend(bench, segment + 512, 100, second)?;
        Ok(())
    })
    .finds("race: the program's own allocator on A frees, the program's own allocator on B allocates 0..100 of m2; B after A")
    .check()
}

#[test]
fn a_block_is_lent_before_its_allocation() -> TestResult {
    planted(|bench| {
        let (maker, other) = bench.two_streams()?;
        let segment = bench.alloc_async(SEGMENT, maker)?;
        if bench.fixed {
            bench.order(maker, other)?;
        }
        lend(bench, segment + 512, 100, other)?;
        Ok(())
    })
    .finds("use before allocation: the program's own allocator on B allocates 512..612 of m0 of cuMemAllocAsync on A; B after A")
    .check()
}

#[test]
fn an_allocation_is_freed_before_its_blocks_are_back() -> TestResult {
    planted(|bench| {
        let (user, other) = bench.two_streams()?;
        let segment = bench.alloc_async(SEGMENT, user)?;
        bench.order(user, other)?;
        lend(bench, segment + 512, 100, user)?;
        release(bench, segment + 512, user)?;
        if bench.fixed {
            bench.order(user, other)?;
        }
        bench.free_async(segment, other)?;
        Ok(())
    })
    .finds("use after free: the program's own allocator on A frees 0..100 of m1, cuMemFreeAsync on B frees; B after A")
    .check()
}

#[test]
fn bytes_between_blocks_are_used() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let segment = bench.alloc_async(SEGMENT, stream)?;
        lend(bench, segment + 512, 100, stream)?;
        bench.fill(segment + 512, if bench.fixed { 100 } else { 120 }, stream)?;
        Ok(())
    })
    .finds("out of bounds: cuMemsetD8Async on A writes 100..120 of m1, 20 outside")
    .check()
}

#[test]
fn a_block_is_uninitialised_each_time() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let segment = bench.alloc_async(SEGMENT, stream)?;
        lend(bench, segment + 512, 100, stream)?;
        bench.fill(segment + 512, 100, stream)?;
        release(bench, segment + 512, stream)?;
        lend(bench, segment + 512, 100, stream)?;
        if bench.fixed {
            bench.fill(segment + 512, 100, stream)?;
        }
        bench.sync(stream)?;
        bench.download(segment + 512, 100)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 0..100 of m2, 100 in all")
    .check()
}

#[test]
fn neighbours_and_former_owners_do_not_race() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let segment = bench.alloc_async(SEGMENT, first)?;
        bench.order(first, second)?;
        lend(bench, segment, 512, first)?;
        lend(bench, segment + 512, 512, second)?;
        bench.fill(segment, 512, first)?;
        bench.fill(segment + 512, 512, second)?;
        release(bench, segment, first)?;
        lend(bench, segment, 256, first)?;
        bench.fill(segment, 256, first)?;
        release(bench, segment, first)?;
        release(bench, segment + 512, second)?;
        bench.order(second, first)?;
        lend(bench, segment, 2048, first)?;
        bench.fill(segment, 2048, first)?;
        release(bench, segment, first)?;
        bench.free_async(segment, first)?;
        Ok(())
    })
}

#[test]
fn blocks_that_overlap_or_do_not_exist_are_refused() -> TestResult {
    let bench = failing(Mode::Threads)?;
    let stream = bench.stream()?;
    let segment = bench.alloc_async(SEGMENT, stream)?;
    let annotations = annotations(&bench)?;
    let lend = |address, bytes| {
        // SAFETY: the bench keeps the stream alive.
        unsafe { annotations.lend(address, bytes, stream.raw()) }.map_err(code)
    };
    // SAFETY: as above.
    let release = |address| unsafe { annotations.release(address, stream.raw()) }.map_err(code);
    let invalid = Err(Some(CUresult::CUDA_ERROR_INVALID_VALUE));
    assert_eq!(lend(segment, 512), Ok(()));
    assert_eq!(
        [lend(segment + 511, 1), lend(segment + 4000, 97), lend(segment + 600, 0), lend(0x1000, 1)],
        [invalid; 4]
    );
    assert_eq!([release(segment + 8), release(segment + 512), release(0x1000)], [invalid; 3]);
    assert_eq!([release(segment), release(segment)], [Ok(()), invalid]);
    bench.free_async(segment, stream)?;
    bench.clean_up()
}

fn code(error: Error) -> Option<CUresult> {
    error.code()
}

#[test]
fn a_machine_that_checks_nothing_has_no_annotations() -> TestResult {
    let machine = Machine::builder().start()?;
    assert!(warploom_testkit::driver::Driver::open(&machine)?.memory_annotations().is_none());
    Ok(())
}
