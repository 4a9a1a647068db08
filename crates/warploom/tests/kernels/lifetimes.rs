//! Lifetimes of memory and code while a kernel runs.
#![expect(unsafe_code, reason = "launches kernels")]

#[path = "../gate/mod.rs"]
mod gate;

use gate::Gate;
use warploom::{DevicePool, Driver, LaunchConfig, Library};
use warploom_testkit::{TestResult, driver_tests};

use super::{Bench, VECTOR, readable};

driver_tests! {
    fn memory_stays_until_a_kernel_on_another_stream_is_done(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, other) = (bench.saxpy()?, bench.context.stream()?);
        let mut results = Vec::new();
        for round in 0..8_u8 {
            // The memory of one round is what the next one gets: freed too early, it would be filled too
            // early.
            let x = bench.pool.upload(&vec![f32::from(round); 1 << 16], &bench.stream)?;
            let mut y = bench.pool.zeroed::<f32>(1 << 16, &other)?;
            // SAFETY: as many values each.
            unsafe { saxpy.launch(&other, &LaunchConfig::cover(1 << 16, 256), (1.0, &x, &mut y, 1 << 16)) }?;
            drop(x);
            results.push(y);
        }
        for (round, result) in results.iter().enumerate() {
            assert!(result.download(&other)?.iter().all(|value| *value == round as f32), "round {round}");
        }
    }

    threads fn a_library_stays_until_its_kernels_are_done(driver) {
        unloaded_while_a_kernel_waits(driver)?;
    }
}

/// A kernel behind a gate, whose library is dropped meanwhile: unloading waits for the kernel, so another
/// thread does it.
fn unloaded_while_a_kernel_waits(driver: &Driver) -> TestResult {
    let context = driver.device(0)?.context()?;
    let (stream, pool) = (context.stream()?, DevicePool::new(&context)?);
    let kernel = Library::from_ptx(driver, &readable(VECTOR))?.kernel("saxpy")?;
    let (x, mut y) = (pool.upload(&[1.0_f32; 32], &stream)?, pool.zeroed::<f32>(32, &stream)?);
    // Everything a launch needs is loaded before the gate is closed.
    kernel.function(&context)?;
    kernel.check(&LaunchConfig::new(1, 32), &context)?;
    kernel.parameters()?;
    let gate = Gate::close(&stream)?;
    // SAFETY: 32 values each.
    unsafe { kernel.launch(&stream, &LaunchConfig::new(1, 32), (1.0_f32, &x, &mut y, 32_u32)) }?;
    let dropping = std::thread::spawn(move || drop(kernel));
    gate.open();
    dropping.join().expect("the thread does not panic");
    assert_eq!(y.download(&stream)?, [1.0; 32]);
    Ok(())
}
