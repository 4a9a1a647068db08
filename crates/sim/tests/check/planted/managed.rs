//! Managed pages that are moved or given up while someone uses them.
#![expect(unsafe_code, reason = "writes managed memory as the host does, and from a host function")]

use std::ffi::c_void;
use std::ptr::null_mut;

use warploom_testkit::driver::Error;
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, pool_properties};

use super::bench::{Bench, Stream, pointer};
use super::program::{innocent, planted};

const DEVICE: CUmemLocation = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
const SIZE: usize = 8192;

fn prefetch(bench: &Bench, address: u64, stream: Stream) -> Result<(), Error> {
    let driver = &bench.driver;
    call!(driver.cuMemPrefetchAsync_v2(address, SIZE, DEVICE, 0, stream.raw()))
}

fn discard<const N: usize>(bench: &Bench, mut addresses: [u64; N], stream: Stream) -> Result<(), Error> {
    let (driver, mut sizes) = (&bench.driver, [SIZE; N]);
    call!(driver.cuMemDiscardBatchAsync(addresses.as_mut_ptr(), sizes.as_mut_ptr(), N, 0, stream.raw()))
}

fn discard_and_prefetch<const N: usize>(bench: &Bench, addresses: [u64; N], stream: Stream) -> Result<(), Error> {
    let (driver, mut addresses, mut sizes) = (&bench.driver, addresses, [SIZE; N]);
    let (mut location, mut start) = (DEVICE, 0);
    let (addresses, sizes, stream) = (addresses.as_mut_ptr(), sizes.as_mut_ptr(), stream.raw());
    call!(driver.cuMemDiscardAndPrefetchBatchAsync(addresses, sizes, N, &mut location, &mut start, 1, 0, stream))
}

/// The host writes without telling anyone.
fn scribble(address: u64, bytes: usize) {
    // SAFETY: the tests pass managed memory of that size, which nothing uses at the time.
    unsafe { pointer(address).cast::<u8>().write_bytes(3, bytes) };
}

#[test]
fn memory_is_discarded_while_another_stream_writes_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.managed(SIZE)?;
        bench.fill(memory + 100, 8, first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        Ok(discard(bench, [memory], second)?)
    })
    .finds("race: cuMemsetD8Async on A writes, cuMemDiscardBatchAsync on B discards 100..108 of m0; B after A")
    .says("discards bytes 100..108")
    .check()
}

#[test]
fn memory_is_used_while_another_stream_discards_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.managed(SIZE)?;
        discard(bench, [memory], first)?;
        if bench.fixed {
            bench.order(first, second)?;
        }
        Ok(bench.fill(memory, 64, second)?)
    })
    .finds("race: cuMemDiscardBatchAsync on A discards, cuMemsetD8Async on B writes 0..64 of m0; B after A")
    .check()
}

#[test]
fn memory_is_discarded_while_another_stream_prefetches_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.managed(SIZE)?;
        prefetch(bench, memory, first)?;
        // A later write does not make up for it.
        bench.fill(memory, SIZE, first)?;
        bench.order(first, second)?;
        discard(bench, [memory], second)?;
        bench.fill(memory, SIZE, second)?;
        if bench.fixed {
            bench.order(second, first)?;
        }
        Ok(prefetch(bench, memory, first)?)
    })
    .finds("race: cuMemDiscardBatchAsync on B discards, cuMemPrefetchAsync_v2 on A prefetches 0..8192 of m0; A after B")
    .check()
}

#[test]
fn the_host_reads_what_a_stream_is_about_to_discard() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let memory = bench.managed(SIZE)?;
        let reading = bench.machine.host_access(memory, 16, false)?;
        if bench.fixed {
            drop(reading);
            discard(bench, [memory], stream)?;
        } else {
            discard(bench, [memory], stream)?;
            drop(reading);
        }
        Ok(())
    })
    .finds("race: the host reads, cuMemDiscardBatchAsync on A discards 0..16 of m0; A after host")
    .check()
}

#[test]
fn a_range_is_discarded_and_prefetched_twice_in_one_batch() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let memory = bench.managed(2 * SIZE)?;
        let second = if bench.fixed { memory + SIZE as u64 } else { memory + 4096 };
        Ok(discard_and_prefetch(bench, [memory, second], stream)?)
    })
    .finds(
        "race: cuMemDiscardAndPrefetchBatchAsync on A prefetches, cuMemDiscardAndPrefetchBatchAsync on A discards \
         4096..8192 of m0; separate calls",
    )
    .says("the ranges of a batch have no order")
    .check()
}

#[test]
fn discarded_bytes_are_copied_to_the_host() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let memory = bench.managed(SIZE)?;
        bench.fill(memory, SIZE, stream)?;
        discard(bench, [memory], stream)?;
        bench.fill(memory, if bench.fixed { SIZE } else { 100 }, stream)?;
        bench.download(memory, 200)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 100..200 of m0, 100 in all")
    .says("which were discarded and not written since (100 bytes in all)")
    .check()
}

#[test]
fn a_prefetch_does_not_bring_back_what_was_discarded() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let (memory, to) = (bench.managed(SIZE)?, bench.pinned(SIZE)?);
        discard_and_prefetch(bench, [memory], stream)?;
        prefetch(bench, memory, stream)?;
        bench.sync(stream)?;
        if bench.fixed {
            scribble(memory, SIZE);
        }
        Ok(bench.copy_out(to, memory, SIZE, stream)?)
    })
    .finds("uninitialised: cuMemcpyDtoHAsync_v2 on A reads 0..8192 of m0, 8192 in all")
    .check()
}

#[test]
fn the_host_reads_what_was_discarded() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let memory = bench.managed(SIZE)?;
        discard(bench, [memory], stream)?;
        bench.sync(stream)?;
        if bench.fixed {
            drop(bench.machine.host_access(memory, 64, true)?);
        }
        drop(bench.machine.host_access(memory, 64, false)?);
        Ok(())
    })
    .finds("uninitialised: the host reads 0..64 of m0, 64 in all")
    .unstoppable()
    .check()
}

#[test]
fn discarded_bytes_are_carried_along_by_copies() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let (memory, to) = (bench.managed(SIZE)?, bench.alloc(SIZE)?);
        discard(bench, [memory], stream)?;
        bench.copy(to, memory, SIZE, stream)?;
        bench.download(to, if bench.fixed { 0 } else { 16 })?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 0..16 of m1, 16 in all")
    .check()
}

#[test]
fn memory_is_used_while_it_is_prefetched() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.managed(SIZE)?;
        bench.fill(memory, SIZE, first)?;
        prefetch(bench, memory, second)?;
        prefetch(bench, memory, first)?;
        bench.sync(first)?;
        drop(bench.machine.host_access(memory, SIZE as u64, true)?);
        Ok(())
    })
}

#[test]
fn two_streams_discard_the_same_memory() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.managed(SIZE)?;
        discard(bench, [memory, memory], first)?;
        Ok(discard(bench, [memory], second)?)
    })
}

#[test]
fn the_host_writes_unseen_what_was_discarded() -> TestResult {
    innocent(|bench| {
        let stream = bench.stream()?;
        let memory = bench.managed(SIZE)?;
        discard(bench, [memory], stream)?;
        bench.sync(stream)?;
        scribble(memory, SIZE);
        assert_eq!(bench.download(memory, SIZE)?, vec![3; SIZE]);
        Ok(())
    })
}

#[test]
fn a_host_function_writes_unseen_what_was_discarded() -> TestResult {
    unsafe extern "C" fn write(memory: *mut c_void) {
        scribble(memory.expose_provenance() as u64, SIZE);
    }
    innocent(|bench| {
        let (driver, stream) = (&bench.driver, bench.stream()?);
        let memory = bench.managed(SIZE)?;
        discard(bench, [memory], stream)?;
        call!(driver.cuLaunchHostFunc(stream.raw(), Some(write), pointer(memory)))?;
        assert_eq!(bench.download(memory, SIZE)?, vec![3; SIZE]);
        Ok(())
    })
}

/// Memory of a new managed pool, which goes with it.
fn pooled(bench: &Bench, stream: Stream) -> TestResult<u64> {
    let properties = CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_MANAGED,
        ..pool_properties(CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_NONE, 0))
    };
    let (driver, mut pool, mut address) = (&bench.driver, null_mut(), 0);
    call!(driver.cuMemPoolCreate(&mut pool, &properties))?;
    call!(driver.cuMemAllocFromPoolAsync(&mut address, SIZE, pool, stream.raw()))?;
    call!(driver.cuMemPoolDestroy(pool))?;
    Ok(bench.name(address))
}

#[test]
fn memory_is_freed_while_another_stream_prefetches_it() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = pooled(bench, first)?;
        bench.order(first, second)?;
        prefetch(bench, memory, second)?;
        if bench.fixed {
            bench.order(second, first)?;
        }
        Ok(bench.free_async(memory, first)?)
    })
    .finds("use after free: cuMemPrefetchAsync_v2 on B prefetches 0..8192 of m0, cuMemFreeAsync on A frees; A after B")
    .check()
}
