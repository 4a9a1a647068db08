//! Pointers to memory that is not there, on a machine that checks pointers.

use std::ptr::{null_mut, without_provenance_mut as wild};

use warploom_driver::Driver;
use warploom_sim::topology::Topology;
use warploom_sim::{Checks, Machine, Mode, Order};
use warploom_sys::types::{CUmemPoolProps, CUresult};
use warploom_testkit::{Primary, TestResult, answers, call};

fn start() -> TestResult<(Machine, Driver)> {
    let topology = Topology::preset("h200")?;
    let mode = Mode::Deterministic(Order::Eager);
    let machine = Machine::builder().topology(topology).mode(mode).checks(Checks::off().pointers(true)).start()?;
    let driver = Driver::open(&machine)?;
    driver.initialize()?;
    Ok((machine, driver))
}

fn last_line(machine: &Machine) -> String {
    machine.log().last().map(ToString::to_string).unwrap_or_default()
}

/// Nothing is ever mapped there: it is not an address.
const NOWHERE: usize = 0xdead_0000_0000_0000;

#[test]
fn a_wild_out_pointer_is_refused_and_the_log_says_what_the_driver_would_do() -> TestResult {
    let (machine, driver) = start()?;
    let driver = &driver;
    let _primary = Primary::of(driver, 0)?;
    for address in [NOWHERE, 4096, usize::MAX & !15] {
        answers!(driver.cuDeviceGetCount(wild(address)), CUDA_ERROR_INVALID_VALUE);
        let line = last_line(&machine);
        assert!(line.contains(&format!("{address:#x}")) && line.contains("the real driver would crash here"), "{line}");
        answers!(driver.cuDeviceGetName(wild(address), 100, 0), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuMemGetInfo_v2(wild(address), null_mut()), CUDA_ERROR_INVALID_VALUE);
        answers!(driver.cuCtxGetStreamPriorityRange(null_mut(), wild(address)), CUDA_ERROR_INVALID_VALUE);
    }
    Ok(())
}

#[test]
fn a_call_with_a_wild_out_pointer_changes_nothing() -> TestResult {
    let (_machine, driver) = start()?;
    let driver = &driver;
    let primary = Primary::of(driver, 0)?;
    let free = || -> TestResult<usize> {
        let mut free = 0;
        call!(driver.cuMemGetInfo_v2(&mut free, null_mut()))?;
        Ok(free)
    };
    let before = free()?;
    answers!(driver.cuMemAlloc_v2(wild(NOWHERE), 1 << 30), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuMemAllocAsync(wild(NOWHERE), 1 << 30, null_mut()), CUDA_ERROR_INVALID_VALUE);
    assert_eq!(free()?, before);
    answers!(driver.cuStreamCreate(wild(NOWHERE), 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuEventCreate(wild(NOWHERE), 0), CUDA_ERROR_INVALID_VALUE);
    answers!(driver.cuCtxPopCurrent_v2(wild(NOWHERE)), CUDA_ERROR_INVALID_VALUE);
    let mut current = null_mut();
    call!(driver.cuCtxGetCurrent(&mut current))?;
    assert_eq!(current, primary.context, "nothing was popped");
    Ok(())
}

#[test]
fn memory_that_cannot_be_written_is_refused_for_answers_and_accepted_for_questions() -> TestResult {
    static NUMBER: i32 = 7;
    let (machine, driver) = start()?;
    let driver = &driver;
    let constant = (&raw const NUMBER).cast_mut();
    answers!(driver.cuDeviceGetCount(constant), CUDA_ERROR_INVALID_VALUE);
    assert!(last_line(&machine).contains("can be written"));
    let mut device = 0;
    call!(driver.cuDeviceGetByPCIBusId(&mut device, c"0000:1b:00.0".as_ptr())).map_or_else(
        |error| assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_INVALID_DEVICE), "the text was read"),
        |()| assert_eq!(device, 0),
    );
    Ok(())
}

#[test]
fn wild_questions_are_refused_too() -> TestResult {
    let (machine, driver) = start()?;
    let driver = &driver;
    let (mut device, mut pool) = (0, null_mut());
    answers!(driver.cuDeviceGetByPCIBusId(&mut device, wild(NOWHERE)), CUDA_ERROR_INVALID_VALUE);
    let properties: *mut CUmemPoolProps = wild(NOWHERE);
    answers!(driver.cuMemPoolCreate(&mut pool, properties), CUDA_ERROR_INVALID_VALUE);
    assert!(last_line(&machine).contains("can be read"), "{}", last_line(&machine));
    Ok(())
}

#[test]
fn a_misaligned_out_pointer_is_written_as_by_the_real_driver() -> TestResult {
    let mut bytes = [0_u8; 16];
    let odd = bytes.as_mut_ptr().map_addr(|address| (address & !7) + 9).cast::<i32>();
    let (_machine, driver) = start()?;
    call!(driver.cuDeviceGetCount(odd))?;
    assert_eq!(bytes.iter().filter(|byte| **byte == 1).count(), 1, "{bytes:?}");
    Ok(())
}
