//! Host accesses to memory that enqueued work uses, too.

use warploom_testkit::driver::Error;
use warploom_testkit::{TestResult, call};

use super::bench::{Bench, Stream, pointer};
use super::program::{innocent, planted};

/// A copy from page-locked memory.
fn copy_in(bench: &Bench, to: u64, from: u64, bytes: usize, stream: Stream) -> Result<(), Error> {
    let driver = &bench.driver;
    call!(driver.cuMemcpyHtoDAsync_v2(to, pointer(from), bytes, stream.raw()))
}

#[test]
fn the_host_reads_a_result_before_it_is_there() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let (memory, shared) = (bench.filled(64)?, bench.pinned(64)?);
        bench.copy_out(shared, memory, 64, stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        drop(bench.machine.host_access(shared + 16, 8, false)?);
        Ok(())
    })
    .finds("race: cuMemcpyDtoHAsync_v2 on A writes, the host reads 16..24 of m1; host after A")
    .says("on the host (cuStreamSynchronize")
    .unstoppable()
    .check()
}

#[test]
fn the_host_overwrites_what_a_copy_still_reads() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let (memory, shared) = (bench.alloc(64)?, bench.pinned(64)?);
        drop(bench.machine.host_access(shared, 64, true)?);
        copy_in(bench, memory, shared, 64, stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        drop(bench.machine.host_access(shared, 64, true)?);
        Ok(())
    })
    .finds("race: cuMemcpyHtoDAsync_v2 on A reads, the host writes 0..64 of m1; host after A")
    .unstoppable()
    .check()
}

#[test]
fn a_copy_is_enqueued_while_the_host_still_writes_its_source() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let (memory, shared) = (bench.alloc(64)?, bench.pinned(64)?);
        let writing = bench.machine.host_access(shared, 64, true)?;
        if bench.fixed {
            drop(writing);
            copy_in(bench, memory, shared, 64, stream)?;
        } else {
            copy_in(bench, memory, shared, 64, stream)?;
            drop(writing);
        }
        Ok(())
    })
    .finds("race: the host writes, cuMemcpyHtoDAsync_v2 on A reads 0..64 of m1; A after host")
    .says("end the host's access before cuMemcpyHtoDAsync_v2")
    .check()
}

#[test]
fn memory_is_freed_while_the_host_still_reads_it() -> TestResult {
    planted(|bench| {
        let shared = bench.pinned(64)?;
        let reading = bench.machine.host_access(shared, 16, false)?;
        if bench.fixed {
            drop(reading);
            bench.free_host(shared)?;
        } else {
            bench.free_host(shared)?;
            drop(reading);
        }
        Ok(())
    })
    .finds("use after free: the host reads 0..16 of m0, cuMemFreeHost frees; host after host")
    .says("let the host's own access be over before cuMemFreeHost")
    .check()
}

#[test]
fn the_host_may_read_and_write_the_same_bytes_at_once() -> TestResult {
    innocent(|bench| {
        let shared = bench.pinned(64)?;
        let reading = bench.machine.host_access(shared, 64, false)?;
        let writing = bench.machine.host_access(shared, 64, true)?;
        drop(reading);
        drop(writing);
        Ok(())
    })
}

#[test]
fn the_host_reads_what_it_saw_being_written() -> TestResult {
    innocent(|bench| {
        let (stream, driver) = (bench.non_blocking()?, &bench.driver);
        let (memory, shared, done) = (bench.filled(64)?, bench.pinned(64)?, bench.event()?);
        bench.copy_out(shared, memory, 64, stream)?;
        bench.record(done, stream)?;
        // More work, on other bytes, need not be over.
        bench.fill(memory, 64, stream)?;
        call!(driver.cuEventSynchronize(done.raw()))?;
        drop(bench.machine.host_access(shared, 64, false)?);
        Ok(())
    })
}

#[test]
fn managed_memory_is_read_while_the_device_writes_it() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.managed(64)?);
        bench.fill(memory, 64, stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        drop(bench.machine.host_access(memory, 64, false)?);
        Ok(())
    })
    .finds("race: cuMemsetD8Async on A writes, the host reads 0..64 of m0; host after A")
    .unstoppable()
    .check()
}

#[test]
fn registered_memory_is_read_while_the_device_writes_it() -> TestResult {
    planted(|bench| {
        let (stream, driver, memory) = (bench.non_blocking()?, &bench.driver, bench.filled(64)?);
        let shared = vec![0_u8; 64].leak().as_mut_ptr();
        call!(driver.cuMemHostRegister_v2(shared.cast(), 64, 0))?;
        let address = bench.name(shared.expose_provenance() as u64);
        bench.copy_out(address, memory, 64, stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        drop(bench.machine.host_access(address, 64, false)?);
        call!(driver.cuMemHostUnregister(shared.cast()))?;
        Ok(())
    })
    .finds("race: cuMemcpyDtoHAsync_v2 on A writes, the host reads 0..64 of m1; host after A")
    .unstoppable()
    .check()
}

#[test]
fn the_host_may_read_what_the_device_reads() -> TestResult {
    innocent(|bench| {
        let stream = bench.non_blocking()?;
        let (memory, shared) = (bench.alloc(64)?, bench.pinned(64)?);
        copy_in(bench, memory, shared, 64, stream)?;
        drop(bench.machine.host_access(shared, 64, false)?);
        Ok(())
    })
}

#[test]
fn only_memory_that_both_can_reach_can_be_guarded() -> TestResult {
    innocent(|bench| {
        let (memory, shared) = (bench.alloc(64)?, bench.pinned(64)?);
        assert!(bench.machine.host_access(memory, 64, false).is_err());
        assert!(bench.machine.host_access(shared, 64, false).is_ok());
        assert!(bench.machine.host_access(shared, 65, false).is_err());
        assert!(bench.machine.host_access(shared, u64::MAX, false).is_err());
        Ok(())
    })
}
