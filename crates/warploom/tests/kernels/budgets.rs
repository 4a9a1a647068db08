//! Driver calls of launches.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::driver::Function;
use warploom::{LaunchConfig, Library, Mesh, Topology};
use warploom_testkit::{budget, driver_tests};

use super::{Bench, VECTOR, readable};

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

    fn the_first_launch_of_a_checked_configuration_is_one_call_even_if_it_is_cooperative(driver) {
        let bench = Bench::new(driver)?;
        let saxpy = bench.saxpy()?;
        let shape = saxpy.check(&LaunchConfig::cover(64, 32).cooperative(), &bench.context)?;
        let (x, mut y) = (bench.pool.zeroed::<f32>(64, &bench.stream)?, bench.pool.zeroed::<f32>(64, &bench.stream)?);
        // SAFETY: 64 values each.
        budget(driver, LAUNCH, || unsafe { saxpy.launch(&bench.stream, &shape, (1.0, &x, &mut y, 64)) })?;
    }

    fn memory_is_met_by_the_stream_of_a_kernel_and_freed_after_it(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, other, shape) = (bench.saxpy()?, bench.context.stream()?, LaunchConfig::cover(64, 32));
        let (x, mut y) = (bench.pool.zeroed::<f32>(64, &bench.stream)?, bench.pool.zeroed::<f32>(64, &other)?);
        let mut first = bench.pool.zeroed::<f32>(64, &other)?;
        // SAFETY: 64 values each.
        unsafe { saxpy.launch(&other, &shape, (1.0, &y, &mut first, 64)) }?;
        other.wait_for(&bench.stream)?; // an event is there for the next
        let wait = [(Function::cuEventRecord, 1), (Function::cuStreamWaitEvent, 1)];
        let meets = [wait[0], wait[1], LAUNCH[0]];
        // SAFETY: as above.
        budget(driver, &meets, || unsafe { saxpy.launch(&other, &shape, (1.0, &x, &mut y, 64)) })?;
        other.synchronize()?;
        budget(driver, &[wait[0], wait[1], (Function::cuMemFreeAsync, 1)], || drop(x));
        budget(driver, &[(Function::cuMemFreeAsync, 1)], || drop(y));
    }

    fn ordered_copies_come_after_writes_of_a_kernel(driver) {
        let bench = Bench::new(driver)?;
        let topology = Topology::probe(&driver.devices()?)?;
        let (mesh, _) = Mesh::enable(&topology, std::slice::from_ref(&bench.context))?;
        let (saxpy, other) = (bench.saxpy()?, bench.context.stream()?);
        let x = bench.pool.upload(&[1.0; 64], &bench.stream)?;
        let (mut y, mut copy) =
            (bench.pool.zeroed::<f32>(64, &bench.stream)?, bench.pool.zeroed::<f32>(64, &bench.stream)?);
        for round in 1..4_u8 {
            other.wait_for(&bench.stream)?;
            // SAFETY: 64 values each.
            unsafe { saxpy.launch(&other, &LaunchConfig::cover(64, 32), (1.0, &x, &mut y, 64)) }?;
            mesh.copy(&y, &mut copy, &bench.stream)?;
            assert_eq!(copy.download(&bench.stream)?, [f32::from(round); 64]);
        }
    }

    fn a_library_that_ran_somewhere_is_unloaded_after_a_wait_and_one_that_did_not_at_once(driver) {
        let bench = Bench::new(driver)?;
        let kernel = Library::from_ptx(driver, &readable(VECTOR))?.kernel("saxpy")?;
        let (x, mut y) = (bench.pool.zeroed::<f32>(4, &bench.stream)?, bench.pool.zeroed::<f32>(4, &bench.stream)?);
        // SAFETY: 4 values each.
        unsafe { kernel.launch(&bench.stream, &LaunchConfig::new(1, 32), (1.0_f32, &x, &mut y, 4_u32)) }?;
        let unload = (Function::cuLibraryUnload, 1);
        bench.context.scope(|| {
            let waits = [(Function::cuCtxGetCurrent, 1), (Function::cuCtxSynchronize, 1), unload];
            budget(driver, &waits, || drop(kernel));
        })?;
        let unused = Library::from_ptx(driver, &readable(VECTOR))?;
        budget(driver, &[unload], || unused.close())?;
    }
}
