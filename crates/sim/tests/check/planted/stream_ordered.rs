//! Memory that comes and goes in the order of streams.

use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, call};

use super::bench::DEFAULT;
use super::program::{innocent, planted};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

#[test]
fn another_stream_uses_memory_before_it_is_there() -> TestResult {
    planted(|bench| {
        let (maker, user) = bench.two_streams()?;
        let memory = bench.alloc_async(64, maker)?;
        if bench.fixed {
            bench.order(maker, user)?;
        }
        bench.fill(memory, 64, user)?;
        Ok(())
    })
    .finds("use before allocation: cuMemsetD8Async on B writes 0..64 of m0 of cuMemAllocAsync on A; B after A")
    .says("and nothing orders that behind the allocation")
    .says("record an event on stream")
    .check()
}

#[test]
fn another_stream_frees_memory_before_it_is_there() -> TestResult {
    planted(|bench| {
        let (maker, other) = bench.two_streams()?;
        let memory = bench.alloc_async(64, maker)?;
        if bench.fixed {
            bench.order(maker, other)?;
        }
        bench.free_async(memory, other)?;
        Ok(())
    })
    .finds("use before allocation: cuMemFreeAsync on B frees 0..64 of m0 of cuMemAllocAsync on A; B after A")
    .check()
}

#[test]
fn another_stream_frees_memory_that_is_in_use() -> TestResult {
    planted(|bench| {
        let (user, other) = bench.two_streams()?;
        let memory = bench.alloc_async(64, user)?;
        bench.fill(memory, 48, user)?;
        if bench.fixed {
            bench.order(user, other)?;
        }
        bench.free_async(memory, other)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async on A writes 0..48 of m0, cuMemFreeAsync on B frees; B after A")
    .says("nothing orders that before cuMemFreeAsync")
    .check()
}

#[test]
fn memory_is_freed_where_it_was_made_while_another_stream_uses_it() -> TestResult {
    planted(|bench| {
        let (maker, user) = bench.two_streams()?;
        let memory = bench.alloc_async(64, maker)?;
        bench.order(maker, user)?;
        bench.fill(memory, 64, user)?;
        if bench.fixed {
            bench.order(user, maker)?;
        }
        bench.free_async(memory, maker)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async on B writes 0..64 of m0, cuMemFreeAsync on A frees; A after B")
    .check()
}

#[test]
fn pool_memory_is_freed_at_once_while_it_is_in_use() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let memory = bench.alloc_async(64, stream)?;
        bench.fill(memory, 64, stream)?;
        if bench.fixed {
            bench.sync(stream)?;
        }
        // cuMemFree does not wait for memory of a pool.
        bench.free(memory)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async on A writes 0..64 of m0, cuMemFree_v2 frees; host after A")
    .says("on the host (cuStreamSynchronize")
    .check()
}

#[test]
fn plain_memory_is_freed_in_a_stream_while_another_uses_it() -> TestResult {
    planted(|bench| {
        let (user, other) = bench.two_streams()?;
        let memory = bench.alloc(64)?;
        bench.fill(memory, 64, user)?;
        bench.free_async(memory, if bench.fixed { user } else { other })?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async on A writes 0..64 of m0, cuMemFreeAsync on B frees; B after A")
    .check()
}

#[test]
fn memory_is_used_behind_its_free_in_the_same_stream() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let memory = bench.alloc_async(64, stream)?;
        if !bench.fixed {
            bench.free_async(memory, stream)?;
        }
        bench.fill(memory, 64, stream)?;
        Ok(())
    })
    .finds("use after free: cuMemsetD8Async writes 0..64 of m0, cuMemFreeAsync frees; too late")
    .refused(INVALID)
    .check()
}

#[test]
fn reused_memory_does_not_inherit_its_past() -> TestResult {
    innocent(|bench| {
        let (first, second) = bench.two_streams()?;
        for _ in 0..4 {
            let memory = bench.alloc_async(64, first)?;
            bench.fill(memory, 64, first)?;
            bench.free_async(memory, first)?;
            bench.order(first, second)?;
            let memory = bench.alloc_async(64, second)?;
            bench.fill(memory, 64, second)?;
            bench.free_async(memory, second)?;
        }
        Ok(())
    })
}

#[test]
fn reused_memory_holds_nothing_that_was_written() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let memory = bench.alloc_async(64, stream)?;
        bench.fill(memory, 64, stream)?;
        bench.free_async(memory, stream)?;
        let again = bench.alloc_async(64, stream)?;
        if bench.fixed {
            bench.fill(again, 64, stream)?;
        }
        let (to, driver) = ([0_u8; 64], &bench.driver);
        call!(driver.cuMemcpyDtoHAsync_v2(to.as_ptr().cast_mut().cast(), again, 64, stream.raw()))?;
        Ok(())
    })
    .finds("uninitialised: cuMemcpyDtoHAsync_v2 on A reads 0..64 of m1, 64 in all")
    .check()
}

#[test]
fn waiting_on_the_host_orders_an_allocation_too() -> TestResult {
    innocent(|bench| {
        let (maker, user) = bench.two_streams()?;
        let memory = bench.alloc_async(64, maker)?;
        bench.sync(maker)?;
        bench.fill(memory, 64, user)?;
        bench.sync(user)?;
        bench.free_async(memory, maker)?;
        Ok(())
    })
}

#[test]
fn the_default_stream_orders_allocations_and_frees_too() -> TestResult {
    innocent(|bench| {
        let (first, second) = (bench.stream()?, bench.stream()?);
        let memory = bench.alloc_async(64, first)?;
        bench.fill(memory, 64, DEFAULT)?;
        bench.free_async(memory, second)?;
        let memory = bench.alloc_async(64, DEFAULT)?;
        bench.fill(memory, 64, first)?;
        bench.free_async(memory, DEFAULT)?;
        // Once more, where each has work behind the other's newest.
        let memory = bench.alloc_async(64, first)?;
        bench.fill(memory, 64, DEFAULT)?;
        bench.fill(memory, 64, second)?;
        let later = bench.alloc_async(64, DEFAULT)?;
        bench.fill(later, 64, second)?;
        bench.free_async(memory, DEFAULT)?;
        bench.free_async(later, second)?;
        Ok(())
    })
}

#[test]
fn a_free_that_fails_leaves_the_memory_as_it_was() -> TestResult {
    use super::program::failing;
    use warploom_testkit::sim::{Mode, Order};

    let bench = failing(Mode::Deterministic(Order::Lazy))?;
    let (user, other) = bench.two_streams()?;
    let memory = bench.alloc_async(64, user)?;
    bench.fill(memory, 64, user)?;
    assert_eq!(warploom_testkit::code_of(bench.free_async(memory, other)), CUresult::CUDA_ERROR_ILLEGAL_STATE);
    bench.copy(memory + 32, memory, 32, user)?;
    bench.sync(user)?;
    assert_eq!(bench.download(memory, 64)?, [7; 64]);
    bench.free_async(memory, user)?;
    assert_eq!(bench.machine.findings().len(), 1);
    Ok(())
}
