//! Resources with each of their driver calls failing.

use warploom::{
    DevicePool, Driver, ManagedMemory, ManagedPool, OrderedResource, PinnedMemory, PinnedPool, PoolOptions, Result,
    Reuse,
};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Machine, Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::events::sweep_panics;
use warploom_testkit::sweep::Sweep;

/// Sweeps a scenario in several modes, also with calls that fail after their effect. Putting back the current
/// context is done in a `drop`, which can tell nobody; `more` names what else is. Then with subscribers that
/// panic at the event of each call.
pub(crate) fn everywhere(more: &[&str], scenario: impl Fn(&Driver) -> Result<()>) -> TestResult {
    for mode in [Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads] {
        let mut sweep = Sweep::new(Topology::preset("h200")?).mode(mode).after_effect(true);
        for name in ["cuCtxSetCurrent"].iter().chain(more) {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_: &Machine, driver: &Driver| scenario(driver));
    }
    sweep_panics(&Topology::preset("h200")?, Mode::Deterministic(Order::Eager), |_, driver| scenario(driver));
    Ok(())
}

/// Driver calls that a pool of page-locked memory makes before it is destroyed.
pub(crate) const PINNED_POOL_END: &[&str] = &["cuCtxGetCurrent", "cuCtxSynchronize", "cuMemPoolSetAccess"];

#[test]
fn pools_of_every_kind_leave_nothing_behind() -> TestResult {
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let reuse = Reuse { opportunistic: false, ..Reuse::default() };
        let device = DevicePool::with(&context, PoolOptions::new().max_size(1 << 20).reuse(reuse))?;
        device.set_reuse(Reuse::default())?;
        device.set_release_threshold(device.release_threshold()? / 2)?;
        device.reset_high_marks()?;
        ManagedPool::new(&context)?.zeroed::<u8>(64, &stream)?;
        ManagedMemory::new(&context)?.zeroed::<u8>(64, &stream)?;
        Ok(())
    })?;
    everywhere(PINNED_POOL_END, |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let pool = PinnedPool::new(&context)?;
        let mut buffer = pool.upload(b"there", &stream)?;
        buffer.fill(7, &stream)?;
        let mut device = DevicePool::new(&context)?.allocate(5, &stream)?;
        buffer.copy_to(&mut device, &stream)?;
        device.as_slice().copy_to_pinned(buffer.into_pinned()?, &stream)?.wait()?;
        pool.upload(b"there", &stream)?.download(&stream)?;
        Ok(())
    })
}

#[test]
fn copies_of_page_locked_memory_leave_nothing_behind() -> TestResult {
    everywhere(&[], |driver| {
        let context = driver.device(0)?.context()?;
        let stream = context.stream()?;
        let memory = PinnedMemory::new(&context);
        let mut device = DevicePool::new(&context)?.allocate(5, &stream)?;
        let sending = device.as_slice_mut().copy_from_pinned(memory.buffer_of(b"there")?, &stream)?;
        let receiving = device.as_slice().copy_to_pinned(memory.buffer(5)?, &stream)?;
        receiving.wait()?.into_buffer().into_pinned()?;
        sending.is_done()?;
        sending.wait()?;
        Ok(())
    })
}
