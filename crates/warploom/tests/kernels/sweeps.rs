//! Kernels with each of their driver calls failing.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::{DevicePool, Driver, KernelAttribute, LaunchConfig, Library, Result};
use warploom_sim::fault::Calls;
use warploom_sim::topology::Topology;
use warploom_sim::{Mode, Order};
use warploom_testkit::TestResult;
use warploom_testkit::events::sweep_panics;
use warploom_testkit::sweep::Sweep;

use super::{MEMORY, VECTOR, readable};

/// Sweeps a scenario in several modes. A library that goes waits for its contexts, and asks again if that
/// fails. No call fails after its effect: asking what a kernel takes ends in one that fails by itself. Then
/// with subscribers that panic at the event of each call.
fn everywhere(modes: &[Mode], scenario: fn(&Driver) -> Result<()>) -> TestResult {
    for mode in modes {
        let mut sweep = Sweep::new(Topology::preset("h200")?).mode(*mode);
        for name in ["cuCtxSetCurrent", "cuCtxGetCurrent", "cuCtxSynchronize"] {
            sweep = sweep.tolerates(Calls::named(name)?);
        }
        sweep.run(|_, driver| scenario(driver));
    }
    sweep_panics(&Topology::preset("h200")?, Mode::Deterministic(Order::Eager), |_, driver| scenario(driver));
    Ok(())
}

#[test]
fn libraries_leave_nothing_behind() -> TestResult {
    everywhere(&[Mode::Deterministic(Order::Eager), Mode::Deterministic(Order::Lazy), Mode::Threads], |driver| {
        let context = driver.device(0)?.context()?;
        let library = Library::from_ptx(driver, &readable(MEMORY))?;
        library.load_in(&context)?;
        library.kernels()?;
        let kernel = library.kernel("reverse_dynamic")?;
        assert_eq!(library.kernel_from_raw(kernel.as_raw())?, kernel);
        kernel.parameters()?;
        kernel.attribute(KernelAttribute::Registers, context.device())?;
        kernel.set_attribute(KernelAttribute::MaxDynamicShared, 64 << 10, context.device())?;
        kernel.function(&context)?;
        // SAFETY: nobody uses it.
        drop(unsafe { library.global::<i32>("numbers", &context) }?);
        drop(kernel);
        library.close()
    })
}

#[test]
fn launches_leave_nothing_behind() -> TestResult {
    // Kernels run at once: a simulated machine looks memory up when they do.
    everywhere(&[Mode::Sync, Mode::Deterministic(Order::Eager)], |driver| {
        let context = driver.device(0)?.context()?;
        let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
        let kernel = Library::from_ptx(driver, &readable(VECTOR))?.kernel("saxpy")?;
        let x = pool.upload(&[1.0_f32; 32], &stream)?;
        let mut y = pool.upload(&[2.0_f32; 32], &stream)?;
        let shape = LaunchConfig::new(1, 32);
        kernel.check(&shape.cooperative(), &context)?;
        // SAFETY: 32 values each.
        unsafe { kernel.launch(&stream, &shape, (1.0_f32, &x, &mut y, 32_u32)) }?;
        assert_eq!(y.download(&stream)?, [3.0; 32]);
        Ok(())
    })
}
