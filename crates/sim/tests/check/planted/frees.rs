//! Frees of what cannot be freed, or not like that.

use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, call};

use super::bench::pointer;
use super::program::planted;

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

#[test]
fn memory_is_freed_twice() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(64)?;
        bench.free(memory)?;
        if !bench.fixed {
            bench.free(memory)?;
        }
        Ok(())
    })
    .finds("double free: cuMemFree_v2 of m0, cuMemFree_v2")
    .says("which cuMemFree_v2")
    .says("has freed already")
    .refused(INVALID)
    .check()
}

#[test]
fn page_locked_memory_is_freed_twice() -> TestResult {
    planted(|bench| {
        let memory = bench.pinned(64)?;
        bench.free_host(memory)?;
        if !bench.fixed {
            bench.free_host(memory)?;
        }
        Ok(())
    })
    .finds("double free: cuMemFreeHost of m0, cuMemFreeHost")
    .refused(INVALID)
    .check()
}

#[test]
fn pool_memory_is_freed_in_two_streams() -> TestResult {
    planted(|bench| {
        let (first, second) = bench.two_streams()?;
        let memory = bench.alloc_async(64, first)?;
        bench.free_async(memory, first)?;
        if !bench.fixed {
            bench.free_async(memory, second)?;
        }
        Ok(())
    })
    .finds("double free: cuMemFreeAsync of m0, cuMemFreeAsync")
    .refused(INVALID)
    .check()
}

#[test]
fn memory_is_freed_in_a_stream_and_once_more_at_once() -> TestResult {
    planted(|bench| {
        let stream = bench.non_blocking()?;
        let memory = bench.alloc(64)?;
        bench.free_async(memory, stream)?;
        if !bench.fixed {
            bench.free(memory)?;
        }
        Ok(())
    })
    .finds("double free: cuMemFree_v2 of m0, cuMemFreeAsync")
    .refused(INVALID)
    .check()
}

#[test]
fn page_locked_memory_is_freed_as_if_it_were_the_device_s() -> TestResult {
    planted(|bench| {
        let memory = bench.pinned(64)?;
        if bench.fixed {
            bench.free_host(memory)?;
        } else {
            bench.free(memory)?;
        }
        Ok(())
    })
    .finds("wrong free: cuMemFree_v2 of m0, not cuMemFreeHost")
    .says("cuMemFreeHost frees")
    .refused(INVALID)
    .check()
}

#[test]
fn device_memory_is_freed_as_if_it_were_the_host_s() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(64)?;
        if bench.fixed {
            bench.free(memory)?;
        } else {
            bench.free_host(memory)?;
        }
        Ok(())
    })
    .finds("wrong free: cuMemFreeHost of m0, not cuMemFree_v2")
    .refused(INVALID)
    .check()
}

#[test]
fn managed_memory_is_freed_in_a_stream() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.managed(64)?);
        if bench.fixed {
            bench.free(memory)?;
        } else {
            bench.free_async(memory, stream)?;
        }
        Ok(())
    })
    .finds("wrong free: cuMemFreeAsync of m0, not cuMemFree_v2")
    .refused(CUresult::CUDA_ERROR_NOT_SUPPORTED)
    .check()
}

#[test]
fn page_locked_memory_is_freed_in_a_stream() -> TestResult {
    planted(|bench| {
        let (stream, memory) = (bench.non_blocking()?, bench.pinned(64)?);
        if bench.fixed {
            bench.free_host(memory)?;
        } else {
            bench.free_async(memory, stream)?;
        }
        Ok(())
    })
    .finds("wrong free: cuMemFreeAsync of m0, not cuMemFreeHost")
    .refused(INVALID)
    .check()
}

#[test]
fn registered_memory_is_freed_instead_of_unregistered() -> TestResult {
    planted(|bench| {
        // Registered it stays, where it is not unregistered; nothing else may come to be there.
        let (driver, memory) = (&bench.driver, vec![0_u8; 64].leak().as_mut_ptr());
        call!(driver.cuMemHostRegister_v2(memory.cast(), 64, 0))?;
        bench.name(memory.expose_provenance() as u64);
        if !bench.fixed {
            call!(driver.cuMemFreeHost(memory.cast()))?;
        }
        call!(driver.cuMemHostUnregister(memory.cast()))?;
        Ok(())
    })
    .finds("wrong free: cuMemFreeHost of m0, not cuMemHostUnregister")
    .refused(INVALID)
    .check()
}

#[test]
fn allocated_memory_is_unregistered() -> TestResult {
    planted(|bench| {
        let (driver, memory) = (&bench.driver, bench.pinned(64)?);
        if !bench.fixed {
            call!(driver.cuMemHostUnregister(pointer(memory)))?;
        }
        Ok(())
    })
    .finds("wrong free: cuMemHostUnregister of m0, not cuMemFreeHost")
    .refused(INVALID)
    .check()
}

#[test]
fn memory_is_unregistered_twice() -> TestResult {
    planted(|bench| {
        let (driver, mut bytes) = (&bench.driver, vec![0_u8; 64]);
        let memory = bytes.as_mut_ptr();
        call!(driver.cuMemHostRegister_v2(memory.cast(), 64, 0))?;
        bench.name(memory.expose_provenance() as u64);
        call!(driver.cuMemHostUnregister(memory.cast()))?;
        if !bench.fixed {
            call!(driver.cuMemHostUnregister(memory.cast()))?;
        }
        Ok(())
    })
    .finds("double free: cuMemHostUnregister of m0, cuMemHostUnregister")
    .refused(CUresult::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    .check()
}

#[test]
fn a_pointer_into_memory_is_freed() -> TestResult {
    planted(|bench| {
        let memory = bench.alloc(64)?;
        if !bench.fixed {
            bench.free(memory + 16)?;
        }
        Ok(())
    })
    .finds("invalid free: cuMemFree_v2 of m0 + 16")
    .says("which is 16 bytes into the 64 bytes at")
    .refused(INVALID)
    .check()
}

#[test]
fn a_pointer_to_nothing_is_freed() -> TestResult {
    planted(|bench| {
        if !bench.fixed {
            bench.free(0xdead_0000)?;
        }
        Ok(())
    })
    .finds("invalid free: cuMemFree_v2 of nothing")
    .says("0xdead0000, where nothing is allocated")
    .refused(INVALID)
    .check()
}
