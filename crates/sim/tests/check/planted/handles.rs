//! Handles that are not what a call needs.

use std::ptr::without_provenance_mut;

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::Machine;
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{Primary, TestResult, call};

use super::bench::{Event, Stream};
use super::program::planted;

const INVALID_HANDLE: CUresult = CUresult::CUDA_ERROR_INVALID_HANDLE;
const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;
const DESTROYED: CUresult = CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED;

#[test]
fn a_destroyed_stream_is_used() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.alloc(64)?);
        if !bench.fixed {
            bench.destroy_stream(stream)?;
        }
        bench.fill(memory, 64, stream)?;
        Ok(())
    })
    .finds("handle misuse: cuMemsetD8Async wants Stream, Destroyed by cuStreamDestroy_v2")
    .says("needs a stream;")
    .says("has been destroyed by cuStreamDestroy_v2")
    .refused(INVALID_HANDLE)
    .check()
}

#[test]
fn an_event_is_destroyed_twice() -> TestResult {
    planted(|bench| {
        let event = bench.event()?;
        bench.destroy_event(event)?;
        if !bench.fixed {
            bench.destroy_event(event)?;
        }
        Ok(())
    })
    .finds("handle misuse: cuEventDestroy_v2 wants Event, Destroyed by cuEventDestroy_v2")
    .refused(DESTROYED)
    .check()
}

#[test]
fn an_event_is_taken_for_a_stream() -> TestResult {
    planted(|bench| {
        let (stream, event) = (bench.stream()?, bench.event()?);
        bench.sync(if bench.fixed { stream } else { Stream(event.0) })?;
        Ok(())
    })
    .finds("handle misuse: cuStreamSynchronize wants Stream, OtherKind(Event)")
    .says("is an event")
    .refused(DESTROYED)
    .check()
}

#[test]
fn a_null_event_is_recorded() -> TestResult {
    planted(|bench| {
        let (stream, event) = (bench.stream()?, bench.event()?);
        bench.record(if bench.fixed { event } else { Event(0) }, stream)?;
        Ok(())
    })
    .finds("handle misuse: cuEventRecord wants Event, Null")
    .says("is null")
    .refused(INVALID_HANDLE)
    .check()
}

#[test]
fn a_number_is_taken_for_a_stream() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        bench.sync(if bench.fixed { stream } else { Stream(0x1234) })?;
        Ok(())
    })
    .finds("handle misuse: cuStreamSynchronize wants Stream, Foreign")
    .says("is no handle of this driver")
    .refused(INVALID_HANDLE)
    .check()
}

#[test]
fn a_handle_that_was_never_returned_is_used() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        // The index is in the lowest bits.
        bench.sync(if bench.fixed { stream } else { Stream(stream.0 + 1000) })?;
        Ok(())
    })
    .finds("handle misuse: cuStreamSynchronize wants Stream, Unknown")
    .says("was never handed out")
    .refused(INVALID_HANDLE)
    .check()
}

#[test]
fn a_stream_of_another_machine_is_used() -> TestResult {
    planted(|bench| {
        let stream = bench.stream()?;
        let other = Machine::preset("h200")?;
        let driver = Driver::open(&other)?;
        driver.initialize()?;
        let _primary = Primary::of(&driver, 0)?;
        let mut foreign = std::ptr::null_mut();
        call!(driver.cuStreamCreate(&mut foreign, 0))?;
        bench.enter()?;
        bench.sync(if bench.fixed { stream } else { Stream(foreign.addr()) })?;
        Ok(())
    })
    .finds("handle misuse: cuStreamSynchronize wants Stream, OtherMachine")
    .says("belongs to another machine")
    .refused(INVALID_HANDLE)
    .check()
}

#[test]
fn a_stream_outlives_its_context() -> TestResult {
    planted(|bench| {
        let (driver, mut context, mut stream) = (&bench.driver, std::ptr::null_mut(), std::ptr::null_mut());
        call!(driver.cuCtxCreate_v4(&mut context, std::ptr::null_mut(), 0, 0))?;
        call!(driver.cuStreamCreate(&mut stream, 0))?;
        if bench.fixed {
            call!(driver.cuStreamDestroy_v2(stream))?;
        }
        call!(driver.cuCtxDestroy_v2(context))?;
        bench.enter()?;
        if !bench.fixed {
            call!(driver.cuStreamSynchronize(stream))?;
        }
        Ok(())
    })
    .finds("leak: Stream of cuStreamCreate, Context")
    .finds("handle misuse: cuStreamSynchronize wants Stream, Orphaned by cuCtxDestroy_v2")
    .says("was not destroyed when its context was destroyed")
    .says("went with its context, which has been destroyed by cuCtxDestroy_v2")
    .refused(CUresult::CUDA_ERROR_INVALID_CONTEXT)
    .check()
}

#[test]
fn a_context_is_destroyed_twice() -> TestResult {
    planted(|bench| {
        let (driver, mut context) = (&bench.driver, std::ptr::null_mut());
        call!(driver.cuCtxCreate_v4(&mut context, std::ptr::null_mut(), 0, 0))?;
        call!(driver.cuCtxDestroy_v2(context))?;
        if !bench.fixed {
            call!(driver.cuCtxDestroy_v2(context))?;
        }
        Ok(bench.enter()?)
    })
    .finds("handle misuse: cuCtxDestroy_v2 wants Context, Destroyed by cuCtxDestroy_v2")
    .refused(DESTROYED)
    .check()
}

#[test]
fn a_destroyed_pool_is_allocated_from() -> TestResult {
    planted(|bench| {
        let (driver, stream) = (&bench.driver, bench.non_blocking()?);
        let (mut address, mut pool) = (0, std::ptr::null_mut());
        call!(driver.cuMemPoolCreate(&mut pool, &super::leaks::ordinary_pool()))?;
        call!(driver.cuMemAllocFromPoolAsync(&mut address, 64, pool, stream.raw()))?;
        if !bench.fixed {
            // The pool lives on, for the memory that is still out; its handle does not.
            call!(driver.cuMemPoolDestroy(pool))?;
        }
        let mut another = 0;
        call!(driver.cuMemAllocFromPoolAsync(&mut another, 64, pool, stream.raw()))?;
        call!(driver.cuMemFreeAsync(address, stream.raw()))?;
        call!(driver.cuMemFreeAsync(another, stream.raw()))?;
        call!(driver.cuMemPoolDestroy(pool))?;
        Ok(())
    })
    .finds("handle misuse: cuMemAllocFromPoolAsync wants Pool, Destroyed by cuMemPoolDestroy")
    .refused(INVALID_VALUE)
    .check()
}

#[test]
fn a_graph_releases_a_user_object_more_often_than_it_retains_it() -> TestResult {
    planted(|bench| {
        let (driver, mut graph, mut object) = (&bench.driver, std::ptr::null_mut(), std::ptr::null_mut());
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuUserObjectCreate(&mut object, std::ptr::null_mut(), Some(super::leaks::destroy), 1, 1))?;
        call!(driver.cuGraphRetainUserObject(graph, object, 1, 0))?;
        call!(driver.cuGraphReleaseUserObject(graph, object, if bench.fixed { 1 } else { 2 }))?;
        call!(driver.cuGraphDestroy(graph))?;
        call!(driver.cuUserObjectRelease(object, 1))?;
        Ok(())
    })
    .finds("handle misuse: cuGraphReleaseUserObject wants UserObject, NotRetained")
    .says("is released more often than it is retained")
    .check()
}

#[test]
fn a_user_object_is_released_more_often_than_the_program_retains_it() -> TestResult {
    planted(|bench| {
        let (driver, mut object) = (&bench.driver, std::ptr::null_mut());
        call!(driver.cuUserObjectCreate(&mut object, std::ptr::null_mut(), Some(super::leaks::destroy), 1, 1))?;
        call!(driver.cuUserObjectRelease(object, if bench.fixed { 1 } else { 2 }))?;
        Ok(())
    })
    .finds("handle misuse: cuUserObjectRelease wants UserObject, NotRetained")
    .says("is released more often than it is retained")
    .check()
}

#[test]
fn more_references_to_a_user_object_are_moved_than_the_program_has() -> TestResult {
    planted(|bench| {
        let (driver, mut graph, mut object) = (&bench.driver, std::ptr::null_mut(), std::ptr::null_mut());
        call!(driver.cuGraphCreate(&mut graph, 0))?;
        call!(driver.cuUserObjectCreate(&mut object, std::ptr::null_mut(), Some(super::leaks::destroy), 1, 1))?;
        call!(driver.cuGraphRetainUserObject(graph, object, if bench.fixed { 1 } else { 2 }, 1))?;
        call!(driver.cuGraphDestroy(graph))?;
        Ok(())
    })
    .finds("handle misuse: cuGraphRetainUserObject wants UserObject, NotRetained")
    .says("is released more often than it is retained")
    .check()
}

#[test]
fn a_physical_allocation_is_released_twice() -> TestResult {
    planted(|bench| {
        let (driver, handle) = (&bench.driver, super::virtual_memory::create(bench)?);
        call!(driver.cuMemRelease(handle))?;
        if !bench.fixed {
            call!(driver.cuMemRelease(handle))?;
        }
        Ok(())
    })
    .finds("handle misuse: cuMemRelease wants Physical, Destroyed by cuMemRelease")
    .refused(INVALID_VALUE)
    .check()
}

#[test]
fn a_mapped_allocation_is_released_twice() -> TestResult {
    planted(|bench| {
        let (driver, mapped) = (&bench.driver, super::virtual_memory::Mapped::new(bench)?);
        call!(driver.cuMemRelease(mapped.handle))?;
        if !bench.fixed {
            call!(driver.cuMemRelease(mapped.handle))?;
        }
        mapped.unmap(bench)
    })
    .finds("handle misuse: cuMemRelease wants Physical, Destroyed by cuMemRelease")
    .refused(INVALID_VALUE)
    .check()
}

#[test]
fn an_invented_handle_is_not_followed() -> TestResult {
    planted(|bench| {
        let (driver, event) = (&bench.driver, bench.event()?);
        let event = if bench.fixed { event.raw() } else { without_provenance_mut(usize::MAX) };
        call!(driver.cuEventQuery(event))?;
        Ok(())
    })
    .finds("handle misuse: cuEventQuery wants Event, Foreign")
    .refused(INVALID_HANDLE)
    .check()
}
