//! Devices that go away.

use std::ptr::null_mut;

use warploom_sim::fault::{Action, Calls, Plan, Rule};
use warploom_sim::{Mode, Order};
use warploom_sys::types::CUresult;
use warploom_testkit::{ASYNCHRONOUS, TestResult, answers, call};

use crate::{context, machine, named, stream};

#[test]
fn a_lost_device_answers_its_code_for_good_and_others_go_on() -> TestResult {
    for mode in ASYNCHRONOUS {
        let (machine, driver) = machine("pcie-pair", *mode)?;
        let kept = context(&driver, 0)?;
        let (on_kept, mut at_kept) = (stream(&driver)?, 0);
        call!(driver.cuMemAlloc_v2(&mut at_kept, 64))?;
        let lost = context(&driver, 1)?;
        let (on_lost, mut at_lost, mut event) = (stream(&driver)?, 0, null_mut());
        call!(driver.cuMemAlloc_v2(&mut at_lost, 64))?;
        call!(driver.cuEventCreate(&mut event, 0))?;
        call!(driver.cuMemsetD8Async(at_lost, 1, 64, on_lost))?;
        let scope = machine.inject(Plan::new().rule(Rule::on(named("cuMemsetD8Async")?).nth(2).lose_device(1)))?;
        call!(driver.cuMemsetD8Async(at_lost, 1, 64, on_lost))?;
        answers!(driver.cuMemsetD8Async(at_lost, 1, 64, on_lost), CUDA_ERROR_DEVICE_UNAVAILABLE);
        drop(scope);

        let (mut total, mut count, mut context) = (0, 0, null_mut());
        answers!(driver.cuStreamSynchronize(on_lost), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuEventRecord(event, on_lost), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuEventDestroy_v2(event), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuCtxSynchronize(), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuMemFree_v2(at_lost), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuDeviceTotalMem_v2(&mut total, 1), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuDevicePrimaryCtxRetain(&mut context, 1), CUDA_ERROR_DEVICE_UNAVAILABLE);
        answers!(driver.cuCtxSetCurrent(lost), CUDA_ERROR_DEVICE_UNAVAILABLE);

        // Ordinals do not move, and a thread can turn away.
        call!(driver.cuDeviceGetCount(&mut count))?;
        assert_eq!(count, 2);
        call!(driver.cuCtxSetCurrent(kept))?;
        call!(driver.cuDeviceTotalMem_v2(&mut total, 0))?;
        call!(driver.cuMemsetD8Async(at_kept, 1, 64, on_kept))?;
        call!(driver.cuStreamSynchronize(on_kept))?;
        call!(driver.cuCtxSynchronize())?;
        answers!(driver.cuMemcpyPeer(at_kept, kept, at_lost, lost, 64), CUDA_ERROR_DEVICE_UNAVAILABLE);
    }
    Ok(())
}

#[test]
fn a_device_can_be_lost_by_a_call_that_has_nothing_to_do_with_it() -> TestResult {
    let (machine, driver) = machine("pcie-pair", Mode::Sync)?;
    let code = CUresult::CUDA_ERROR_UNKNOWN;
    let plan = Plan::new().rule(Rule::on(Calls::all()).nth(1).act(Action::LoseDevice { device: 0, code }));
    let _scope = machine.inject(plan)?;
    call!(driver.cuInit(0))?;
    answers!(driver.cuCtxCreate_v2(&mut null_mut(), 0, 0), CUDA_ERROR_UNKNOWN);
    context(&driver, 1)?;
    Ok(())
}

#[test]
fn pending_work_of_a_lost_device_is_not_done_and_blocks_no_thread() -> TestResult {
    let (machine, driver) = machine("pcie-pair", Mode::Deterministic(Order::Lazy))?;
    let kept = context(&driver, 0)?;
    let (on_kept, mut bytes) = (stream(&driver)?, null_mut());
    call!(driver.cuMemHostAlloc(&mut bytes, 4, 1))?;
    context(&driver, 1)?;
    let (on_lost, mut memory, mut event) = (stream(&driver)?, 0, null_mut());
    call!(driver.cuMemAlloc_v2(&mut memory, 4))?;
    call!(driver.cuMemsetD8Async(memory, 7, 4, on_lost))?;
    call!(driver.cuEventCreate(&mut event, 2))?;
    call!(driver.cuMemcpyDtoHAsync_v2(bytes, memory, 4, on_lost))?;
    call!(driver.cuEventRecord(event, on_lost))?;
    call!(driver.cuStreamWaitEvent(on_kept, event, 0))?;
    let scope = machine.inject(Plan::new().rule(Rule::on(Calls::all()).nth(1).lose_device(1)))?;
    call!(driver.cuInit(0))?;
    drop(scope);
    call!(driver.cuCtxSetCurrent(kept))?;
    call!(driver.cuStreamSynchronize(on_kept))?;
    let mut seen = [1_u8; 4];
    let source = bytes.addr() as u64;
    call!(driver.cuMemcpyDtoH_v2(seen.as_mut_ptr().cast(), source, 4))?;
    assert_eq!(seen, [0; 4]);
    Ok(())
}
