//! Resources that are created and never destroyed.

use std::ptr::null_mut;
use std::sync::{Arc, Mutex};

use warploom_testkit::driver::Driver;
use warploom_testkit::sim::{Backtraces, Checks, Finding, Machine};
use warploom_testkit::sys::types::*;
use warploom_testkit::{TestResult, call, pool_properties};

use super::bench::Bench;
use super::program::planted;
use super::virtual_memory::{self, SIZE};
use super::words::{essentials, line};

/// Properties of an ordinary pool on device 0.
pub(crate) fn ordinary_pool() -> CUmemPoolProps {
    pool_properties(CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0))
}

/// Runs `body` in a context of its own, which is then destroyed.
fn in_context(bench: &Bench, body: impl FnOnce(&Driver) -> TestResult) -> TestResult {
    let (driver, mut context) = (&bench.driver, null_mut());
    call!(driver.cuCtxCreate_v4(&mut context, null_mut(), 0, 0))?;
    body(driver)?;
    call!(driver.cuCtxDestroy_v2(context))?;
    Ok(bench.enter()?)
}

#[test]
fn a_context_goes_with_memory_in_it() -> TestResult {
    planted(|bench| {
        in_context(bench, |_| {
            let memory = bench.alloc(64)?;
            if bench.fixed {
                bench.free(memory)?;
            }
            bench.forget(memory);
            Ok(())
        })
    })
    .finds("leak: 64 bytes, m0 of cuMemAlloc_v2, Context")
    .says("were not freed when their context was destroyed")
    .unstoppable()
    .check()
}

#[test]
fn a_context_goes_with_a_stream_in_it() -> TestResult {
    planted(|bench| {
        in_context(bench, |driver| {
            let mut stream = null_mut();
            call!(driver.cuStreamCreate(&mut stream, 0))?;
            if bench.fixed {
                call!(driver.cuStreamDestroy_v2(stream))?;
            }
            Ok(())
        })
    })
    .finds("leak: Stream of cuStreamCreate, Context")
    .says("was not destroyed when its context was destroyed")
    .unstoppable()
    .check()
}

#[test]
fn a_context_goes_with_an_event_in_it() -> TestResult {
    planted(|bench| {
        in_context(bench, |driver| {
            let mut event = null_mut();
            call!(driver.cuEventCreate(&mut event, 0))?;
            if bench.fixed {
                call!(driver.cuEventDestroy_v2(event))?;
            }
            Ok(())
        })
    })
    .finds("leak: Event of cuEventCreate, Context")
    .unstoppable()
    .check()
}

#[test]
fn a_context_goes_with_page_locked_memory_in_it() -> TestResult {
    planted(|bench| {
        in_context(bench, |driver| {
            let mut memory = null_mut();
            call!(driver.cuMemAllocHost_v2(&mut memory, 64))?;
            bench.name(memory.addr() as u64);
            if bench.fixed {
                call!(driver.cuMemFreeHost(memory))?;
            }
            Ok(())
        })
    })
    .finds("leak: 64 bytes, m0 of cuMemAllocHost_v2, Context")
    .says("on the host")
    .unstoppable()
    .check()
}

/// Runs a program on a machine that then ends, and compares what it says of it before and at the end.
fn lost_with_the_machine(program: fn(&Bench) -> TestResult, expected: &[&str]) -> TestResult {
    let told: Arc<Mutex<Vec<Finding>>> = Arc::default();
    let sink = Arc::clone(&told);
    let checks = Checks::report()
        .backtraces(Backtraces::Off)
        .on_finding(move |finding| sink.lock().expect("nobody panics with it").push(finding.clone()));
    let machine = Machine::builder().checks(checks).start()?;
    let bench = Bench::new(&machine, false)?;
    program(&bench)?;
    let leaks = machine.leaks();
    let lines: Vec<String> = leaks.iter().map(|leak| line(&bench, &leak.kind)).collect();
    let primary = "leak: Context of cuDevicePrimaryCtxRetain, Machine";
    let mut wanted = expected.to_vec();
    wanted.push(primary);
    wanted.sort_unstable();
    let mut found: Vec<&str> = lines.iter().map(String::as_str).collect();
    found.sort_unstable();
    assert_eq!(found, wanted);
    for leak in &leaks {
        assert_eq!(leak.call, None);
        let text = leak.to_string();
        assert!(text.contains("when the machine ended"), "{text}");
        assert!(essentials(&leak.kind).iter().all(|words| text.contains(words)), "{text}");
    }
    assert_eq!(machine.findings(), [], "nothing is lost before the end");
    drop(bench);
    let left = machine.leaks();
    assert_eq!(left.len(), expected.len(), "the bench has released its primary context");
    drop(machine);
    assert_eq!(*told.lock().expect("nobody panics with it"), left);
    Ok(())
}

#[test]
fn a_machine_ends_with_a_context() -> TestResult {
    lost_with_the_machine(
        |bench| {
            let (driver, mut context) = (&bench.driver, null_mut());
            call!(driver.cuCtxCreate_v4(&mut context, null_mut(), 0, 0))?;
            Ok(())
        },
        &["leak: Context of cuCtxCreate_v4, Machine"],
    )
}

#[test]
fn a_machine_ends_with_a_pool_and_what_came_from_it() -> TestResult {
    lost_with_the_machine(
        |bench| {
            let (driver, mut pool, mut address) = (&bench.driver, null_mut(), 0);
            call!(driver.cuMemPoolCreate(&mut pool, &ordinary_pool()))?;
            call!(driver.cuMemAllocFromPoolAsync(&mut address, 100, pool, null_mut()))?;
            bench.name(address);
            Ok(())
        },
        &[
            "leak: Pool of cuMemPoolCreate, Machine",
            "leak: 100 bytes, m0 of cuMemAllocFromPoolAsync on default 0, Machine",
        ],
    )
}

#[expect(unsafe_code, reason = "destructors have C's type")]
pub(super) unsafe extern "C" fn destroy(_: *mut std::ffi::c_void) {}

#[test]
fn a_machine_ends_with_graphs_and_user_objects() -> TestResult {
    lost_with_the_machine(
        |bench| {
            let (driver, mut graph, mut inner, mut node) = (&bench.driver, null_mut(), null_mut(), null_mut());
            let (mut executable, mut object, mut moved) = (null_mut(), null_mut(), null_mut());
            call!(driver.cuGraphCreate(&mut graph, 0))?;
            call!(driver.cuGraphCreate(&mut inner, 0))?;
            // A child graph goes with its node, and a moved reference with its graph.
            call!(driver.cuGraphAddChildGraphNode(&mut node, graph, null_mut(), 0, inner))?;
            call!(driver.cuGraphDestroy(inner))?;
            call!(driver.cuGraphInstantiateWithFlags(&mut executable, graph, 0))?;
            call!(driver.cuUserObjectCreate(&mut object, null_mut(), Some(destroy), 1, 1))?;
            call!(driver.cuUserObjectCreate(&mut moved, null_mut(), Some(destroy), 1, 1))?;
            call!(driver.cuGraphRetainUserObject(graph, moved, 1, 1))?;
            Ok(())
        },
        &[
            "leak: Graph of cuGraphCreate, Machine",
            "leak: Executable of cuGraphInstantiateWithFlags, Machine",
            "leak: UserObject of cuUserObjectCreate, Machine",
        ],
    )
}

#[test]
fn a_machine_ends_with_physical_memory() -> TestResult {
    lost_with_the_machine(|bench| virtual_memory::create(bench).map(drop), &["leak: Physical of cuMemCreate, Machine"])
}

#[test]
fn a_machine_ends_with_reserved_addresses() -> TestResult {
    lost_with_the_machine(
        |bench| {
            let (driver, mut address) = (&bench.driver, 0);
            call!(driver.cuMemAddressReserve(&mut address, SIZE, 0, 0, 0))?;
            Ok(())
        },
        &["leak: reservation of 2097152 bytes of cuMemAddressReserve, Machine"],
    )
}

#[test]
fn a_machine_ends_with_a_mapping() -> TestResult {
    lost_with_the_machine(
        |bench| {
            let (driver, mapped) = (&bench.driver, virtual_memory::Mapped::new(bench)?);
            call!(driver.cuMemRelease(mapped.handle))?;
            Ok(())
        },
        &[
            "leak: 2097152 bytes, m0 of cuMemMap, Machine",
            "leak: Physical of cuMemCreate, Machine",
            "leak: reservation of 2097152 bytes of cuMemAddressReserve, Machine",
        ],
    )
}

#[test]
fn a_machine_that_is_left_tidy_says_nothing() -> TestResult {
    lost_with_the_machine(|_| Ok(()), &[])
}
