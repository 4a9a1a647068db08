//! Uninitialised bytes that are read by the host, a kernel or a wait.

use warploom_testkit::{TestResult, call};

use super::program::{innocent, planted};

#[test]
fn fresh_memory_is_copied_to_the_host() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(64)?;
        if bench.fixed {
            bench.upload(memory, 64)?;
        }
        bench.download(memory, 64)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 0..64 of m0, 64 in all")
    .says("which are uninitialised")
    .check()
}

#[test]
fn the_gap_between_two_writes_is_copied_to_the_host() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(64)?;
        bench.upload(memory, 20)?;
        bench.upload(memory + 21, if bench.fixed { 43 } else { 40 })?;
        if bench.fixed {
            bench.upload(memory + 20, 1)?;
        }
        bench.download(memory, 64)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 20..21 of m0, 4 in all")
    .check()
}

#[test]
fn uninitialised_bytes_are_copied_along_until_the_host_reads_them() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let (from, to) = (bench.alloc(64)?, bench.alloc(64)?);
        bench.upload(from, if bench.fixed { 64 } else { 50 })?;
        bench.copy(to, from, 64, stream)?;
        // The first bytes of the copy are fine.
        bench.download(to, 50)?;
        bench.download(to, 64)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 50..64 of m1, 14 in all")
    .check()
}

#[test]
fn a_copy_of_unwritten_bytes_takes_the_place_of_written_ones() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let (from, to) = (bench.alloc(16)?, bench.filled(64)?);
        if bench.fixed {
            bench.fill(from, 16, stream)?;
        }
        bench.copy(to + 8, from, 16, stream)?;
        bench.download(to, 64)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoH_v2 on default 0 reads 8..24 of m1, 16 in all")
    .check()
}

#[test]
fn a_stream_waits_for_an_uninitialised_word() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        if bench.fixed {
            bench.upload(memory, 4)?;
        }
        let driver = &bench.driver;
        // At least 0: whatever is there will do, so that nobody hangs.
        call!(driver.cuStreamWaitValue32_v2(stream.raw(), memory, 0, 0))?;
        Ok(())
    })
    .finds("uninitialised: cuStreamWaitValue32_v2 on A waits for a value in 0..4 of m0, 4 in all")
    .check()
}

#[test]
fn unwritten_bytes_reach_page_locked_memory() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let (memory, shared) = (bench.alloc(64)?, bench.pinned(64)?);
        if bench.fixed {
            bench.fill(memory, 64, stream)?;
        }
        bench.copy_out(shared, memory, 64, stream)?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoHAsync_v2 on A reads 0..64 of m0, 64 in all")
    .check()
}

#[test]
fn unwritten_bytes_may_be_moved_about() -> TestResult {
    innocent(|bench| {
        let stream = bench.non_blocking()?;
        let (from, to) = (bench.alloc(64)?, bench.alloc(64)?);
        bench.copy(to, from, 64, stream)?;
        bench.fill(to, 64, stream)?;
        bench.sync(stream)?;
        bench.download(to, 64)?;
        Ok(())
    })
}

#[test]
fn the_host_writes_its_own_memory_without_being_seen() -> TestResult {
    innocent(|bench| {
        let stream = bench.non_blocking()?;
        let (shared, memory) = (bench.pinned(64)?, bench.alloc(64)?);
        let driver = &bench.driver;
        call!(driver.cuMemcpyAsync(memory, shared, 64, stream.raw()))?;
        bench.sync(stream)?;
        bench.download(memory, 64)?;
        Ok(())
    })
}
