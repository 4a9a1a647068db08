//! Running out of memory early.

use std::ptr::null_mut;

use warploom_driver::Driver;
use warploom_sim::Mode;
use warploom_sim::fault::{Budget, FaultError, Plan};
use warploom_sys::Function;
use warploom_sys::types::{CUmemAllocationProp, CUmemAllocationType, CUmemLocation, CUmemLocationType};
use warploom_testkit::{Primary, TestResult, answers, call};

use crate::{context, injected, machine};

const MIB: usize = 1 << 20;

#[test]
fn allocations_beyond_a_devices_budget_fail_and_frees_give_it_back() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let (mut first, mut second) = (0, 0);
    call!(driver.cuMemAlloc_v2(&mut first, MIB))?;
    let scope = machine.inject(Plan::new().budget(Budget::Device { device: 0, bytes: 2 * MIB as u64 }))?;
    answers!(driver.cuMemAlloc_v2(&mut second, MIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemAlloc_v2(&mut second, MIB))?;
    answers!(driver.cuMemAllocManaged(&mut 0, 1, 1), CUDA_ERROR_OUT_OF_MEMORY);
    answers!(driver.cuMemAllocAsync(&mut 0, 1, null_mut()), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemFree_v2(first))?;
    call!(driver.cuMemAllocAsync(&mut first, MIB, null_mut()))?;
    answers!(driver.cuMemAlloc_v2(&mut 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemFreeAsync(first, null_mut()))?;
    call!(driver.cuMemAlloc_v2(&mut first, MIB))?;
    let fired = scope.fired();
    assert_eq!(fired.len(), 4);
    assert_eq!((fired[0].function, fired[0].rule), (Function::cuMemAlloc_v2, None));
    assert!(injected(&machine)[0].reason.contains("2097152 bytes on device 0"), "{}", injected(&machine)[0]);
    drop(scope);
    call!(driver.cuMemAlloc_v2(&mut second, 64 * MIB))?;
    Ok(())
}

fn create(driver: &Driver, bytes: usize) -> TestResult<Option<warploom_sys::types::CUresult>> {
    // SAFETY: all of its fields are numbers and pointers that may be zero.
    #[expect(unsafe_code, reason = "a C structure of zeros")]
    let mut properties: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    properties.type_ = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = CUmemLocation::new(CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, 0);
    Ok(call!(driver.cuMemCreate(&mut 0, bytes, &properties, 0)).err().and_then(|error| error.code()))
}

#[test]
fn physical_allocations_count() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let _primary = Primary::of(&driver, 0)?;
    let _scope = machine.inject(Plan::new().budget(Budget::Device { device: 0, bytes: 4 * MIB as u64 }))?;
    assert_eq!(create(&driver, 2 * MIB)?, None);
    assert_eq!(create(&driver, 4 * MIB)?, Some(warploom_sys::types::CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    answers!(driver.cuMemAlloc_v2(&mut 0, 2 * MIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemAlloc_v2(&mut 0, 2 * MIB))?;
    Ok(())
}

#[test]
fn host_memory_has_a_budget_of_its_own_and_everything_may_have_one() -> TestResult {
    let (machine, driver) = machine("pcie-pair", Mode::Sync)?;
    context(&driver, 1)?;
    let mut memory = null_mut();
    let scope = machine.inject(Plan::new().budget(Budget::Host { bytes: MIB as u64 }))?;
    call!(driver.cuMemAlloc_v2(&mut 0, 2 * MIB))?;
    answers!(driver.cuMemHostAlloc(&mut memory, MIB + 1, 0), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemHostAlloc(&mut memory, MIB, 0))?;
    call!(driver.cuMemFreeHost(memory))?;
    call!(driver.cuMemHostAlloc(&mut memory, MIB, 0))?;
    drop(scope);
    let _scope = machine.inject(Plan::new().budget(Budget::All { bytes: 4 * MIB as u64 }))?;
    answers!(driver.cuMemAlloc_v2(&mut 0, MIB + 1), CUDA_ERROR_OUT_OF_MEMORY);
    call!(driver.cuMemAlloc_v2(&mut 0, MIB))?;
    Ok(())
}

#[test]
fn a_budget_for_this_thread_does_not_bind_others() -> TestResult {
    let (machine, driver) = machine("h200", Mode::Sync)?;
    let primary = Primary::of(&driver, 0)?;
    let _scope = machine.inject_on_this_thread(Plan::new().budget(Budget::All { bytes: 0 }))?;
    answers!(driver.cuMemAlloc_v2(&mut 0, 1), CUDA_ERROR_OUT_OF_MEMORY);
    let context = primary.context.addr();
    let elsewhere = std::thread::scope(|threads| {
        let allocate = || {
            call!(driver.cuCtxSetCurrent(std::ptr::with_exposed_provenance_mut(context)))
                .and_then(|()| call!(driver.cuMemAlloc_v2(&mut 0, 1)))
        };
        threads.spawn(allocate).join()
    });
    assert!(elsewhere.is_ok_and(|result| result.is_ok()));
    Ok(())
}

#[test]
fn a_budget_of_no_device_is_refused() -> TestResult {
    let (machine, _driver) = machine("h200", Mode::Sync)?;
    let refused = machine.inject(Plan::new().budget(Budget::Device { device: 3, bytes: 0 })).map(|_| ());
    assert_eq!(refused, Err(FaultError::NoSuchDevice { device: 3, count: 1 }));
    Ok(())
}
