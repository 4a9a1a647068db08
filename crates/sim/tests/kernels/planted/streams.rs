//! Kernels in conflict with work on another stream.

use std::ptr::null_mut;

use warploom_sim::topology::Topology;
use warploom_sim::{FindingKind, Mode};
use warploom_testkit::driver::Driver;
use warploom_testkit::{Primary, TestResult, call, open};

use super::{kinds, words};
use crate::support::{Module, planted};

/// A kernel that waits for the host before it touches memory, on a stream of its own.
fn late(fixed: bool, meanwhile: impl Fn(&Driver, u64, [u64; 2]) -> TestResult) -> TestResult<Vec<FindingKind>> {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &planted())?;
    let function = module.function("planted_late")?;
    let (mut busy, mut other, mut latch, mut x) = (null_mut(), null_mut(), null_mut(), 0);
    call!(driver.cuStreamCreate(&mut busy, 1))?;
    call!(driver.cuStreamCreate(&mut other, 1))?;
    call!(driver.cuMemHostAlloc(&mut latch, 4, 0))?;
    call!(driver.cuMemAllocAsync(&mut x, 128, busy))?;
    call!(driver.cuMemsetD32Async(x, 3, 32, busy))?;
    let y = words(driver, 32)?;
    call!(driver.cuCtxSynchronize())?;
    let latch: *mut u32 = latch.cast();
    #[expect(unsafe_code, reason = "writes page-locked memory")]
    // SAFETY: page-locked memory of four bytes, which nobody else uses yet.
    let word = unsafe { std::sync::atomic::AtomicU32::from_ptr(latch) };
    word.store(0, std::sync::atomic::Ordering::SeqCst);
    let at = latch.addr() as u64;
    let places = &mut crate::arguments!(at, x, y);
    call!(driver.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, busy, places.as_mut_ptr(), null_mut()))?;
    if !fixed {
        meanwhile(driver, other.addr() as u64, [x, y])?;
    }
    word.store(1, std::sync::atomic::Ordering::SeqCst);
    call!(driver.cuStreamSynchronize(busy))?;
    if fixed {
        meanwhile(driver, other.addr() as u64, [x, y])?;
    }
    call!(driver.cuStreamSynchronize(other))?;
    Ok(kinds(&machine))
}

fn stream(number: u64) -> warploom_testkit::sys::types::CUstream {
    std::ptr::with_exposed_provenance_mut(number as usize)
}

#[test]
fn memory_is_freed_while_a_kernel_runs() -> TestResult {
    let free = |driver: &Driver, other, [x, _]: [u64; 2]| Ok(call!(driver.cuMemFreeAsync(x, stream(other)))?);
    let found = late(false, free)?;
    let [kind @ FindingKind::UseAfterFree { bytes, missing, user, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!((bytes, missing.is_some()), (&(0..128), true), "{kind}");
    assert_eq!(user.function.map(|function| function.name()), Some("cuLaunchKernel"), "{kind}");
    assert!(kind.to_string().contains("and nothing orders that before cuMemFreeAsync"), "{kind}");
    assert_eq!(late(true, free)?, []);
    Ok(())
}

#[test]
fn another_stream_writes_what_a_kernel_reads() -> TestResult {
    let fill = |driver: &Driver, other, [x, _]: [u64; 2]| Ok(call!(driver.cuMemsetD32Async(x, 9, 32, stream(other)))?);
    let found = late(false, fill)?;
    let [kind @ FindingKind::Race { bytes, .. }] = &found[..] else { panic!("{found:#?}") };
    assert_eq!(bytes, &(0..128), "{kind}");
    assert_eq!(late(true, fill)?, []);
    Ok(())
}
