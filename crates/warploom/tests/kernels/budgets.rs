//! What launches cost.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::LaunchConfig;
use warploom::driver::Function;
use warploom_testkit::{budget, driver_tests};

use super::Bench;

const LAUNCH: &[(Function, u64)] = &[(Function::cuLaunchKernelEx, 1)];

driver_tests! {
    fn a_launch_is_one_call(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, shape) = (bench.kernel("saxpy")?, LaunchConfig::cover(64, 32).overlap_previous());
        let (x, mut y) = (bench.pool.zeroed::<f32>(64, &bench.stream)?, bench.pool.zeroed::<f32>(64, &bench.stream)?);
        // SAFETY: 64 values each.
        unsafe { saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y, 64_u32)) }?;
        // SAFETY: as above.
        budget(driver, LAUNCH, || unsafe { saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y, 64_u32)) })?;
        let other = bench.context.stream()?;
        other.wait_for(&bench.stream)?;
        // SAFETY: as above, and in order.
        unsafe { saxpy.launch(&other, &shape, (1.0_f32, &x, &mut y, 64_u32)) }?;
        // SAFETY: as above.
        budget(driver, LAUNCH, || unsafe { saxpy.launch(&other, &shape, (1.0_f32, &x, &mut y, 64_u32)) })?;
        bench.stream.wait_for(&other)?;
    }

    fn the_first_launch_of_what_was_checked_is_one_call_even_if_it_is_cooperative(driver) {
        let bench = Bench::new(driver)?;
        let saxpy = bench.saxpy()?;
        let shape = saxpy.check(&LaunchConfig::cover(64, 32).cooperative(), &bench.context)?;
        let (x, mut y) = (bench.pool.zeroed::<f32>(64, &bench.stream)?, bench.pool.zeroed::<f32>(64, &bench.stream)?);
        // SAFETY: 64 values each.
        budget(driver, LAUNCH, || unsafe { saxpy.launch(&bench.stream, &shape, (1.0, &x, &mut y, 64)) })?;
    }
}
