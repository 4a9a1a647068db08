//! Freeing after a given stream (S4.6).

use warploom::{
    Counted, DeviceError, DeviceMemory, Driver, Error, Function, MemoryError, PinnedMemory, Stream,
    SynchronousResource, VirtualMemory,
};
use warploom_sim::fault::{Calls, Plan, Rule};
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::sys::types::CUresult;
use warploom_testkit::{TestResult, assert_sound, budget, call, driver_tests, open};

use crate::sweeps::everywhere;

fn setup(driver: &Driver) -> TestResult<(DeviceMemory, PinnedMemory, Stream)> {
    let context = driver.device(0)?.context()?;
    Ok((DeviceMemory::new(&context), PinnedMemory::new(&context), context.stream()?))
}

driver_tests! {
    /// S4.6.
    fn a_stream_is_waited_for_before_the_free(driver) {
        let (plain, pinned, stream) = setup(driver)?;
        let (device, host) = (plain.zeroed::<u8>(1 << 20, &stream)?, pinned.zeroed::<u8>(1 << 20, &stream)?);
        for address in [device.as_raw(), host.as_raw()] {
            call!(driver.cuMemsetD8Async(address, 7, 1 << 20, stream.as_raw()))?;
        }
        let frees = |free| [(Function::cuStreamSynchronize, 1), (free, 1)];
        budget(driver, &frees(Function::cuMemFree_v2), || plain.free_after(device, &stream))?;
        assert!(stream.is_idle()?);
        budget(driver, &frees(Function::cuMemFreeHost), || pinned.free_after(host, &stream))?;
    }

    fn a_buffer_of_another_resource_comes_back_before_the_driver_is_asked(driver) {
        let (plain, pinned, stream) = setup(driver)?;
        let counted = Counted::synchronous(&plain);
        let buffers = [pinned.allocate::<u8>(8)?, counted.allocate(8)?, VirtualMemory::new(plain.context())?.allocate(8)?];
        for buffer in buffers {
            let address = buffer.as_raw();
            let refused = budget(driver, &[], || plain.free_after(buffer, &stream).expect_err("not its own"));
            assert_eq!(refused.error, Error::Memory(MemoryError::OtherResource));
            assert_eq!(refused.buffer.map(|buffer| buffer.as_raw()), Some(address));
        }
    }
}

/// Only `free_after` waits for work that used the memory by its address in another context.
#[test]
fn a_stream_of_another_device_is_waited_for() -> TestResult {
    let (machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Deterministic(Order::Lazy))?;
    let (_, pinned, stream) = setup(&driver)?;
    let there = driver.device(1)?.context()?;
    let far = there.stream()?;
    let buffer = pinned.zeroed::<u8>(64, &stream)?;
    stream.synchronize()?;
    call!(driver.cuMemsetD8Async(buffer.as_raw(), 7, 64, far.as_raw()))?;
    pinned.free_after(buffer, &far)?;
    assert_sound(&machine);
    Ok(())
}

#[test]
fn a_buffer_whose_stream_cannot_be_waited_for_comes_back_and_is_freed_later() -> TestResult {
    let (machine, driver) = open(Topology::preset("pcie-pair")?, Mode::Deterministic(Order::Lazy))?;
    let (plain, _, stream) = setup(&driver)?;
    let there = driver.device(1)?.context()?;
    let far = there.stream()?;
    let nothing = machine.census();
    let buffer = plain.zeroed::<u8>(64, &stream)?;
    let before = machine.census();
    let plan = Plan::new().rule(Rule::on(Calls::named("cuStreamSynchronize")?).fail(CUresult::CUDA_ERROR_UNKNOWN));
    let scope = machine.inject(plan)?;
    let failed = plain.free_after(buffer, &far).expect_err("nobody can wait");
    assert_eq!(failed.error.code(), Some(CUresult::CUDA_ERROR_UNKNOWN));
    assert_eq!(machine.census(), before);
    drop(scope);
    let calls = driver.record_calls();
    drop(failed);
    let made: Vec<Function> = calls.take().iter().map(|(function, _)| *function).collect();
    assert_eq!(made, [Function::cuStreamSynchronize, Function::cuMemFree_v2], "also then after that stream");
    assert_eq!(machine.census(), nothing);
    Ok(())
}

#[test]
fn a_free_that_fails_is_told() -> TestResult {
    let (machine, driver) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (plain, _, stream) = setup(&driver)?;
    let buffer = plain.allocate::<u8>(64)?;
    let plan = Plan::new().rule(Rule::on(Calls::named("cuMemFree")?).fail_after(CUresult::CUDA_ERROR_UNKNOWN));
    let _scope = machine.inject(plan)?;
    let failed = plain.free_after(buffer, &stream).expect_err("it cannot be freed");
    assert!(failed.buffer.is_none() && failed.error.code() == Some(CUresult::CUDA_ERROR_UNKNOWN), "{failed}");
    let (_other, stranger) = open(Topology::preset("h200")?, Mode::Threads)?;
    let (.., foreign) = setup(&stranger)?;
    let failed = plain.free_after(plain.allocate::<u8>(64)?, &foreign).expect_err("another driver");
    assert!(
        failed.buffer.is_some() && matches!(failed.error, Error::Device(DeviceError::DriverMismatch { .. })),
        "{failed}"
    );
    Ok(())
}

#[test]
fn freeing_after_a_stream_leaves_nothing_behind() -> TestResult {
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, other) = (context.stream()?, context.stream()?);
        let (plain, pinned) = (DeviceMemory::new(&context), PinnedMemory::new(&context));
        plain.free_after(plain.zeroed::<u8>(64, &stream)?, &stream)?;
        pinned.free_after(pinned.zeroed::<u8>(64, &stream)?, &other)?;
        Ok(())
    })
}
