//! Blocks of one kernel on several threads.

use std::num::NonZero;
use std::ptr::null_mut;

use warploom_sim::Machine;
use warploom_testkit::driver::Driver;
use warploom_testkit::{Primary, TestResult, answers, call};

use crate::arguments;
use crate::support::{Module, cooperative, download, launch, reduce, upload, vector};

/// A machine that checks nothing, and so many threads for its blocks.
fn machine(workers: usize) -> TestResult<(Machine, Driver)> {
    let machine = Machine::builder().workers(NonZero::new(workers).ok_or("none")?).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

#[test]
fn blocks_on_several_threads_add_up() -> TestResult {
    for workers in [1, 4] {
        let (_machine, driver) = machine(workers)?;
        let driver = &driver;
        let _primary = Primary::of(driver, 0)?;
        let module = Module::load(driver, &reduce())?;
        let n = 1_u32 << 16;
        let (x, sum) = (upload(driver, &(0..n).collect::<Vec<_>>())?, upload(driver, &[0])?);
        launch(driver, module.function("reduce_shuffle")?, (128, 64), null_mut(), &mut arguments!(x, sum, n))?;
        let expected = (0..n).fold(0_u32, u32::wrapping_add);
        assert_eq!(download(driver, sum, 1)?, [expected], "{workers} workers");
        call!(driver.cuMemFree_v2(x))?;
        call!(driver.cuMemFree_v2(sum))?;
    }
    Ok(())
}

#[test]
fn blocks_that_wait_for_each_other_may_be_more_than_the_threads() -> TestResult {
    let (_machine, driver) = machine(3)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &cooperative())?;
    let (n, rounds) = (24 * 64, 6_u32);
    let (x, y) = (upload(driver, &(0..n).collect::<Vec<_>>())?, upload(driver, &vec![0; n as usize])?);
    let (rotate, mut arguments) = (module.function("grid_rotate_add")?, arguments!(x, y, rounds));
    call!(driver.cuLaunchCooperativeKernel(rotate, 24, 1, 1, 64, 1, 1, 0, null_mut(), arguments.as_mut_ptr()))?;
    let mut expected: Vec<u32> = (0..n).collect();
    for _ in 0..rounds {
        expected = (0..n as usize).map(|i| expected[i] + expected[(i + 1) % n as usize]).collect();
    }
    assert_eq!(download(driver, x, n as usize)?, expected);
    call!(driver.cuMemFree_v2(x))?;
    call!(driver.cuMemFree_v2(y))?;
    Ok(())
}

#[test]
fn a_fault_in_one_of_many_blocks_ends_the_kernel_and_names_it() -> TestResult {
    let (machine, driver) = machine(4)?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    let module = Module::load(driver, &vector())?;
    // Blocks from 512 on, of 1000, leave their memory, which ends with its mapping.
    let (n, inside) = (1000 * 1024_u32, 512 * 1024);
    let a = upload(driver, &vec![1; inside])?;
    launch(driver, module.function("add_u32")?, (1000, 1024), null_mut(), &mut arguments!(a, a, a, n))?;
    answers!(driver.cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    let log = machine.log();
    let reason = &log.iter().find(|entry| entry.reason.contains("add_u32")).ok_or("nothing is said")?.reason;
    let block = reason.split("block [").nth(1).and_then(|rest| rest.split(',').next()?.parse::<usize>().ok());
    assert!(block.is_some_and(|block| (512..1000).contains(&block)), "{reason}");
    Ok(())
}
