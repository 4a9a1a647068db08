//! Calls do not allocate.
#![expect(unsafe_code, reason = "an allocator that counts")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use warploom_driver::sys::types::CUresult;
use warploom_driver::{Result, ResultExt};

use crate::fake;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: everything is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        LIVE.set(LIVE.get() + 1);
        // SAFETY: the caller's promise is the system allocator's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - 1);
        // SAFETY: the caller's promise is the system allocator's, which gave `pointer`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce() -> Result<()>) -> Result<usize> {
    let before = ALLOCATIONS.get();
    work()?;
    Ok(ALLOCATIONS.get() - before)
}

#[test]
fn the_allocator_counts() -> Result<()> {
    let work = || {
        std::hint::black_box(vec![1, 2, 3]);
        Ok(())
    };
    assert_eq!(allocations(work)?, 1);
    Ok(())
}

#[test]
fn neither_success_nor_failure_allocates() -> Result<()> {
    let driver = fake::driver()?;
    let work = || {
        for _ in 0..10_000 {
            fake::STATUS.set(CUresult::CUDA_SUCCESS);
            fake::allocate(&driver, 1)?;
            fake::STATUS.set(CUresult::CUDA_ERROR_NOT_READY);
            assert!(!fake::query(&driver).ready()?);
        }
        Ok(())
    };
    assert_eq!(allocations(work)?, 0);
    Ok(())
}

#[test]
fn a_counted_call_does_not_allocate_either() -> Result<()> {
    let driver = fake::driver()?;
    let counter = driver.count_calls();
    assert_eq!(allocations(|| (0..10_000).try_for_each(|_| fake::query(&driver)))?, 0);
    assert_eq!(counter.total(), 10_000);
    Ok(())
}

#[test]
fn a_dropped_counter_leaves_nothing_behind() -> Result<()> {
    let driver = fake::driver()?;
    // The first one makes room in this thread's list, which is kept.
    drop(driver.count_calls());
    let before = LIVE.get();
    drop(driver.count_calls());
    drop(driver.record_calls());
    assert_eq!(LIVE.get(), before);
    Ok(())
}
