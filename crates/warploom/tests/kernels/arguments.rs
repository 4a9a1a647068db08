//! What is passed.
#![expect(unsafe_code, reason = "launches kernels")]

use warploom::{DeviceCopy, Error, LaunchConfig, LaunchError};
use warploom_testkit::{budget, driver_tests};

use super::{Bench, CALLS};

/// The struct of the same name that kernels take.
#[derive(Clone, Copy, DeviceCopy)]
#[repr(C)]
struct Sample {
    tag: i8,
    weight: f64,
    counts: [i16; 3],
    position: Position,
}

#[derive(Clone, Copy, DeviceCopy)]
#[repr(C, align(8))]
struct Position {
    x: f32,
    y: f32,
}

driver_tests! {
    fn a_struct_is_passed_by_value(driver) {
        let bench = Bench::with(driver, CALLS)?;
        let kernel = bench.kernel("struct_by_value")?.typed::<(Sample, f64, &mut [f64])>()?;
        let sample =
            Sample { tag: -2, weight: 1.5, counts: [100, 200, -50], position: Position { x: 0.25, y: 0.5 } };
        let mut y = bench.pool.zeroed::<f64>(4, &bench.stream)?;
        // SAFETY: it writes one value for each thread.
        unsafe { kernel.launch(&bench.stream, &LaunchConfig::new(1, 4), (sample, 2.0, &mut y)) }?;
        let sum = -3.0 + 250.0 + 0.75;
        assert_eq!(y.download(&bench.stream)?, [0.0, sum * 2.0, sum * 4.0, sum * 6.0]);
    }

    fn too_few_too_many_and_too_large_arguments_are_refused(driver) {
        let bench = Bench::new(driver)?;
        let (saxpy, shape) = (bench.kernel("saxpy")?, LaunchConfig::new(1, 32));
        let (x, mut y) = (bench.pool.zeroed::<f32>(4, &bench.stream)?, bench.pool.zeroed::<f32>(4, &bench.stream)?);
        saxpy.parameters()?;
        budget(driver, &[], || {
            // SAFETY: all are refused.
            let refused = unsafe {
                [
                    saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y)),
                    saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y, 4_u32, true)),
                    saxpy.launch(&bench.stream, &shape, (1.0_f32, &x, &mut y, 4_u64)),
                    saxpy.launch(&bench.stream, &shape, ()),
                ]
            };
            let expected = [
                LaunchError::ArgumentCount { given: 3, takes: 4 },
                LaunchError::ArgumentCount { given: 5, takes: 4 },
                LaunchError::ArgumentSize { index: 3, given: 8, takes: 4 },
                LaunchError::ArgumentCount { given: 0, takes: 4 },
            ];
            assert_eq!(refused, expected.map(|error| Err(Error::Launch(error))));
        });
    }
}
